#include <gtest/gtest.h>

#include "formats/settings/settings_format.h"
#include "rules/settings_rules.h"

namespace paritect {
namespace {

std::string Read(absl::string_view text) {
  auto documents = ReadSettings(text, "f", "");
  if (!documents.ok()) return documents.status().ToString();
  std::string out = (*documents)[0].kind() + ":";
  for (const v1::Setting& one : (*documents)[0].settings()) out += " " + one.raw_key() + "=" + one.raw_value() + ";";
  return out;
}

TEST(ModeFiles, OperatorsBySectionAndWithout) {
  EXPECT_EQ(Read("# chosen\n[ByOpType]\nConv2D = high_precision\n[ByNodeName]\nAdd_1=keep_fp16\n"),
            "op-precision: op_precision.ByOpType.Conv2D=high_precision; op_precision.ByNodeName.Add_1=keep_fp16;");
  EXPECT_EQ(Read("Sqrt=high_performance\r\n"), "op-precision: op_precision.ByOpType.Sqrt=high_performance;");
  // A misspelt mode is kept as written: the check judges it.
  EXPECT_EQ(Read("[ByOpType]\nConv2D=hi_precision\nNoMode\n"),
            "op-precision: op_precision.ByOpType.Conv2D=hi_precision; op_precision.ByOpType.NoMode=;");
}

TEST(ModeFiles, CustomTypes) {
  EXPECT_EQ(Read("OpType::Conv2D:InputDtype:FLOAT32,float32,OutputDtype:float32\nadd_1::OutputDtype:float16\n"),
            "custom-dtypes: custom_dtypes.OpType::Conv2D=inputdtype:float32,float32,outputdtype:float32; "
            "custom_dtypes.add_1=outputdtype:float16;");
}

TEST(ModeFiles, AnEnvironmentIsNoModeFile) {
  EXPECT_EQ(Read("A=1\nB=high\nMODE=high_precision\nC=3\n").substr(0, 12), "environment:");
}

}  // namespace
}  // namespace paritect
