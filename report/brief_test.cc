// What a cause is called: a few words with both values, from findings as checks make them.
#include "report/brief.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/utf8.h"

namespace paritect {
namespace {

struct Case {
  std::string subject;
  std::string message;
  std::string baseline;
  std::string migrated;
};

Brief Tell(const Case& one, Language language = Language::kEnglish) {
  v1::Report report;
  v1::ReportRun& run = *report.mutable_migrated()->add_runs();
  run.set_name("npu");
  run.add_nodes("npu-01");
  v1::CheckResult check;
  check.mutable_title()->set_en("Final accuracy");
  check.mutable_title()->set_zh("最终精度");
  v1::Finding finding;
  finding.set_subject(one.subject);
  finding.mutable_message()->set_en(one.message);
  finding.mutable_message()->set_zh(one.message);
  finding.set_baseline(one.baseline);
  finding.set_migrated(one.migrated);
  return BriefOf(BuiltInRules(), language, report, check, finding);
}

TEST(Brief, SettingsByTheirNameWithBothValues) {
  const std::string both = "lr_base: baseline 1e-3, migrated 2e-3";
  EXPECT_EQ(Tell({"lr_base", both, "1e-3 (run.sh:2)", "2e-3 (run.sh:2)"}).text, "base learning rate 1e-3 → 2e-3");
  EXPECT_EQ(Tell({"lr_base", both, "1e-3 (run.sh:2)", "2e-3 (run.sh:2)"}, Language::kChinese).text,
            "基础学习率 1e-3 → 2e-3");
  EXPECT_EQ(Tell({"lr_style", "x", "'cosine'", "'linear'"}).text, "learning-rate schedule cosine → linear");
  EXPECT_EQ(Tell({"global_batch_size", "x", "32 x 1 x 1 = 32", "64 x 1 x 1 = 64"}).text, "global batch size 32 → 64");
  EXPECT_EQ(Tell({"some.key_of_theirs", "x", "1", "2"}).text, "some.key_of_theirs 1 → 2");
  EXPECT_EQ(Tell({"npu", "x", "0.6966", "0.2497"}).text, "Final accuracy 0.6966 → 0.2497") << "a run says not what";
}

TEST(Brief, AFileWithWhatIsWrongWithIt) {
  const Brief cut =
      Tell({"a/7.bin", "cut off at byte 733 of 949: equal to the beginning of the baseline's file (data set x)",
            "md5 1, 949 bytes", "md5 2, 733 bytes"});
  EXPECT_EQ(cut.text, "a/7.bin: cut off at byte 733 of 949");
  EXPECT_FALSE(cut.whole);
  // Two names that may look alike are told in words.
  EXPECT_EQ(Tell({"é.txt", "the same name in another Unicode form (NFC/NFD): 'é.txt'", "é.txt", "e\u0301.txt"}).text,
            "é.txt: the same name in another Unicode form");
  EXPECT_EQ(Tell({"b (2).bin", "b (2).bin is gone (since when?)", "", ""}).text, "b (2).bin is gone")
      << "parentheses of a name are no remark";
}

// What stands before a colon is kept alone only where it says something.
TEST(Brief, ANameIsNoStatement) {
  EXPECT_EQ(Tell({"batchnorm_momentum",
                  "batchnorm_momentum: migrated 0.1 (n.py:9) does not mean what the baseline's 0.1 "
                  "(g.py:9) means (the frameworks' conventions differ)",
                  "0.1 (g.py:9)", "0.1 (n.py:9)"})
                .text,
            "BatchNorm momentum: migrated 0.1 does not mean what the baseline's 0.1 means");
  EXPECT_EQ(Tell({"migrated: lr_base", "lr_base: two sources of one side disagree: 1 (a:1); 2 (b:1)", "", ""}).text,
            "migrated: base learning rate: two sources of one side disagree");
  EXPECT_EQ(
      Tell({"matmul", "reduced precision of fp32 operands (TF32, HF32) in matmul: baseline off, migrated on", "", ""})
          .text,
      "reduced precision of fp32 operands in matmul: baseline off, migrated on");
  EXPECT_EQ(Tell({"npu", "the run computes in float32: no mixed precision (dtype=float32)", "", ""}).text,
            "npu: the run computes in float32");
}

TEST(Brief, WhatIsTooLongEndsAtAComma) {
  const std::string statement = "npu against gpu: the gradient norm is 0.125 times the baseline's at every step";
  EXPECT_EQ(
      Tell({"npu", absl::StrCat(statement, ", which is the data-parallel size 8 of npu or something else"), "", ""})
          .text,
      statement);
  const std::string steps = "RandomCropDecodeResize(interpolation=cubic, size=224)";
  const Brief lists = Tell({"transform_steps",
                            absl::StrCat("conversion, transform_steps: baseline [", steps,
                                         ", Flip(prob=0.5)], migrated [", steps, ", Normalize(mean=0.5)]"),
                            absl::StrCat("[", steps, ", Flip(prob=0.5)] (a:1)"),
                            absl::StrCat("[", steps, ", Normalize(mean=0.5)] (b:1)")});
  EXPECT_EQ(lists.text, "conversion steps …Flip(prob=0.5)] → …Normalize(mean=0.5)]");
  const Brief endless = Tell({"x", std::string(1000, 'a'), "", ""});
  EXPECT_LE(DisplayWidth(endless.text), 84u);
  EXPECT_FALSE(endless.whole);
}

// Where the title tells all that the message does, the message is not said again.
TEST(Brief, ItKnowsWhetherItTellsAll) {
  EXPECT_TRUE(Tell({"lr_base", "lr_base: baseline 1e-3 (a:1), migrated 2e-3 (b:1)", "1e-3 (a:1)", "2e-3 (b:1)"}).whole);
  EXPECT_FALSE(Tell({"lr_base", "lr_base: baseline 1, migrated 2; every group has it", "1", "2"}).whole);
  EXPECT_TRUE(Tell({"npu", "npu: the loss is nan at step 40", "", ""}).whole);
}

TEST(Brief, HostileTextsStayHarmless) {
  EXPECT_EQ(Tell({"a\x1b[2Jb", "gone", "", ""}).text.find('\x1b'), std::string::npos);
  EXPECT_EQ(Tell({"a\nb", "gone", "", ""}).text.find('\n'), std::string::npos);
  const std::string endless(1 << 20, '(');
  EXPECT_LE(DisplayWidth(Tell({endless, absl::StrCat(endless, " ("), "", ""}).text), 140u);
}

}  // namespace
}  // namespace paritect
