#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "client/command.h"
#include "common/memory_file_system.h"
#include "formats/weights/weights_fixture.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class InspectWeightsTest : public ::testing::Test {
 protected:
  std::string Inspect(std::vector<std::string> args) {
    out_.str("");
    CommandEnv env = {.fs = fs_, .out = out_, .err = out_, .rules = BuiltInRules(), .getenv = [](absl::string_view) {
                        return std::string();
                      }};
    args.insert(args.begin(), "inspect");
    code_ = RunCommandLine(env, args);
    return out_.str();
  }
  MemoryFileSystem fs_;
  std::ostringstream out_;
  int code_ = 0;
};

TEST_F(InspectWeightsTest, WhatWasNotReadHasNoShapeAndAReason) {
  fs_.AddFile("/q.pt", TorchZip(PickleDict({PickleText("q"), PickleCall("torch._utils", "_rebuild_qtensor", {})}), {}));
  EXPECT_THAT(Inspect({"/q.pt"}), HasSubstr("\"shape\": null"));
  const std::string table = Inspect({"-o", "table", "/q.pt"});
  EXPECT_THAT(table, HasSubstr("q     unknown  -  "));
  EXPECT_THAT(table, HasSubstr("note: q: the tensor was not read"));
}

TEST_F(InspectWeightsTest, TensorsWithDigestsStatisticsAndFacts) {
  fs_.AddFile("/m.pt", SampleTorchZip());
  const std::string text = Inspect({"--as", "weights", "--digest", "sha256", "/m.pt"});
  EXPECT_EQ(code_, 0) << text;
  EXPECT_THAT(text, HasSubstr("\"format\": \"torch-zip\""));
  EXPECT_THAT(text, HasSubstr("\"name\": \"model.w\",\n   \"dtype\": \"F32\",\n   \"shape\": [\n    2,\n    3\n   ]"));
  EXPECT_THAT(text, HasSubstr("\"digest\": \"sha256:"));
  EXPECT_THAT(text, HasSubstr("\"min\": 1,\n   \"max\": 6,\n   \"mean\": 3.5"));
  EXPECT_THAT(text, HasSubstr("\"optimizer.lr\": 0.125"));
  EXPECT_THAT(text, HasSubstr("\"alias_of\": \"model.w\""));
  EXPECT_THAT(Inspect({"/m.pt"}), HasSubstr("\"digest\": \"xxh3:")) << "recognised without --as";
  EXPECT_THAT(Inspect({"--as", "weights", "--summary", "/m.pt"}), Not(HasSubstr("\"tensors\"")));
}

// Neither the order of tensors nor the file's form counts for the digest of the whole.
TEST_F(InspectWeightsTest, OneDigestForOneSetOfTensors) {
  fs_.AddFile("/a", SafetensorsFile(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                                    R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                                    Floats({1, 2})));
  fs_.AddFile("/b", SafetensorsFile(R"({"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                                    R"("a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                                    Floats({2, 1})));
  const auto digest = [&](const std::string& path) {
    const std::string text = Inspect({"--as", "weights", "--summary", path});
    return text.substr(text.find("\"digest\""), 60);
  };
  EXPECT_EQ(digest("/a"), digest("/b"));
}

TEST_F(InspectWeightsTest, ATableForPeople) {
  fs_.AddFile("/m", SampleSafetensors());
  const std::string text = Inspect({"--as", "weights", "-o", "table", "/m"});
  EXPECT_EQ(code_, 0) << text;
  EXPECT_THAT(text, HasSubstr("name  dtype  shape"));
  EXPECT_THAT(text, HasSubstr("w     F32    2x2    1    4    2.5"));
  fs_.AddFile("/log", "step 1 loss 2\n");
  Inspect({"--as", "log", "-o", "table", "/log"});
  EXPECT_EQ(code_, 2);
}

TEST_F(InspectWeightsTest, RefusalsUnknownFormsAndSlips) {
  fs_.AddFile("/hostile", TorchZip(PickleCall("os", "system", {PickleText("x")}), {}));
  EXPECT_THAT(Inspect({"--as", "weights", "/hostile"}), HasSubstr("loading this file would run it"));
  EXPECT_EQ(code_, 1);
  fs_.AddFile("/text", "hello\n");
  EXPECT_THAT(Inspect({"--as", "weights", "/text"}), HasSubstr("\"format\": \"unknown\""));
  EXPECT_EQ(code_, 0);
  EXPECT_THAT(Inspect({"--as", "weights", "--digest", "crc", "/text"}), HasSubstr("xxh3 or sha256 is wanted"));
  EXPECT_EQ(code_, 2);
  Inspect({"--as", "weights", "/nothing"});
  EXPECT_EQ(code_, 2);
}

TEST_F(InspectWeightsTest, ATensorThatWasNotReadSaysWhy) {
  fs_.AddFile("/m",
              TorchZip(PickleDict({PickleText("s"), PickleCall("torch._utils", "_rebuild_sparse_tensor", {})}), {}));
  const std::string text = Inspect({"--as", "weights", "/m"});
  EXPECT_EQ(code_, 0) << text;
  EXPECT_THAT(text, HasSubstr("the tensor was not read: a tensor that torch._utils._rebuild_sparse_tensor makes"));
}

}  // namespace
}  // namespace paritect
