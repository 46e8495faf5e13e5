// paritect diff curve.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/command.h"
#include "client/diff/sparkline.h"
#include "common/memory_file_system.h"
#include "common/utf8.h"
#include "report/terminal.h"

namespace paritect {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Log(const std::function<double(int)>& loss, int steps = 200, double lr = 1e-4) {
  std::string text;
  for (int step = 1; step <= steps; ++step) {
    absl::StrAppend(&text, "{\"step\": ", step, ", \"loss\": ", loss(step), ", \"learning_rate\": ", lr,
                    ", \"our_metric\": ", step, "}\n");
  }
  return text;
}

double Course(int step) {
  return 2 + 5 * std::exp(-step / 50.0) + 0.1 * std::sin(step * 1.7);
}

class DiffCurveTest : public testing::Test {
 protected:
  DiffCurveTest() {
    fs_.AddFile("/a.log", Log(Course));
    fs_.AddFile("/same.log", Log([](int step) { return Course(step) * 1.001; }));
    fs_.AddFile("/leaves.log", Log([](int step) { return Course(step) * (step > 100 ? 1.1 : 1); }));
    fs_.AddFile("/plan/plan.yaml", "run: npu\nnode: n1\nlogs: [train.log]\n");
    fs_.AddFile("/plan/train.log", Log(Course, 200, 2e-4));
  }

  ExitCode Diff(std::vector<std::string> args, int columns = 100) {
    out_.str("");
    err_.str("");
    CommandEnv env = {.fs = fs_,
                      .out = out_,
                      .err = err_,
                      .rules = BuiltInRules(),
                      .terminal_columns = columns,
                      .host_name = "here",
                      .today = "2026-06-15",
                      .getenv = [](absl::string_view name) { return std::string(name == "LANG" ? "C.UTF-8" : ""); }};
    args.insert(args.begin(), {"diff", "curve"});
    return RunCommandLine(env, args);
  }

  MemoryFileSystem fs_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(DiffCurveTest, CurvesThatAgreeEndWithZeroAndShowTheirFigures) {
  EXPECT_EQ(Diff({"/a.log", "/same.log"}), kExitOk) << err_.str() << out_.str();
  EXPECT_THAT(out_.str(), HasSubstr("mean relative difference: 0.1 %"));
  EXPECT_THAT(out_.str(), HasSubstr("never for good"));
  EXPECT_THAT(out_.str(), HasSubstr("█"));
}

TEST_F(DiffCurveTest, NoNumberOnOneSideIsADifferenceWhicheverItIs) {
  const auto nan = [](int step) { return step == 150 ? std::nan("") : Course(step); };
  fs_.AddFile("/nan.log", absl::StrReplaceAll(Log(nan), {{"nan", "NaN"}}));
  for (const bool first : {true, false}) {
    const std::vector<std::string> sides = first ? std::vector<std::string>{"/nan.log", "/a.log", "-o", "json"}
                                                 : std::vector<std::string>{"/a.log", "/nan.log", "-o", "json"};
    EXPECT_EQ(Diff(sides), kExitFailed) << err_.str() << out_.str();
    const auto json = nlohmann::json::parse(out_.str(), nullptr, false);
    ASSERT_TRUE(json.is_object()) << out_.str();
    const auto& one_sided = json["curves"][0]["nonfinite_on_one_side"];
    EXPECT_EQ(one_sided["first_step"], 150);
    EXPECT_EQ(one_sided["a"], first ? 1 : 0);
    EXPECT_EQ(one_sided["b"], first ? 0 : 1);
  }
  // Steps that both lack are no difference.
  EXPECT_EQ(Diff({"/nan.log", "/nan.log"}), kExitOk) << err_.str() << out_.str();
}

TEST_F(DiffCurveTest, CurvesThatPartEndWithOneAndSayWhere) {
  EXPECT_EQ(Diff({"/a.log", "/leaves.log"}), kExitFailed) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("apart since: step 101"));
  EXPECT_THAT(out_.str(), HasSubstr("^"));
  EXPECT_EQ(Diff({"/a.log", "/leaves.log", "-o", "json"}), kExitFailed);
  const auto json = nlohmann::json::parse(out_.str(), nullptr, false);
  ASSERT_TRUE(json.is_object()) << out_.str();
  EXPECT_EQ(json["kind"], "curve");
  EXPECT_EQ(json["equal"], false);
  const auto& curve = json["curves"][0];
  EXPECT_EQ(curve["common_steps"], 200);
  EXPECT_EQ(curve["first_divergent_step"], 101);
  EXPECT_NEAR(curve["mean_relative_error"].get<double>(), 0.05, 1e-6);
  ASSERT_EQ(curve["bias_interval"].size(), 2u);
  EXPECT_FALSE(curve.contains("steps"));
  EXPECT_EQ(Diff({"/a.log", "/leaves.log", "-o", "json", "--all"}), kExitFailed);
  EXPECT_EQ(nlohmann::json::parse(out_.str(), nullptr, false)["curves"][0]["steps"].size(), 200u);
}

TEST_F(DiffCurveTest, NoLineIsWiderThanTheTerminal) {
  for (const int columns : {60, 80, 140}) {
    for (const char* lang : {"en", "zh"}) {
      Diff({"/a.log", "/leaves.log", "--lang", lang}, columns);
      for (absl::string_view line : absl::StrSplit(out_.str(), '\n')) {
        EXPECT_LE(DisplayWidth(line), static_cast<std::size_t>(columns)) << line;
      }
    }
  }
}

TEST_F(DiffCurveTest, OtherMetricsAndPlans) {
  EXPECT_EQ(Diff({"/a.log", "/plan", "--metric", "lr"}), kExitFailed) << err_.str();
  EXPECT_EQ(Diff({"/a.log", "/plan", "--metric", "loss"}), kExitOk) << err_.str() << out_.str();
  EXPECT_EQ(Diff({"/a.log", "/plan", "--metric", "nothing"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("they print"));
  EXPECT_THAT(err_.str(), HasSubstr("loss"));
}

TEST_F(DiffCurveTest, StepsFromZeroAndFromOneAreTheSame) {
  std::string text;
  for (int step = 1; step <= 200; ++step) {
    absl::StrAppend(&text, "{\"step\": ", step - 1, ", \"loss\": ", Course(step), "}\n");
  }
  fs_.AddFile("/zero.log", text);
  EXPECT_EQ(Diff({"/zero.log", "/a.log", "-o", "json"}), kExitOk) << err_.str();
  const auto json = nlohmann::json::parse(out_.str(), nullptr, false);
  EXPECT_EQ(json["curves"][0]["shift"], -1);
  EXPECT_EQ(json["curves"][0]["common_steps"], 200);
}

TEST_F(DiffCurveTest, WhatCannotBeToldEndsWithTwo) {
  fs_.AddFile("/short.log", Log(Course, 10));
  EXPECT_EQ(Diff({"/a.log", "/short.log"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("cannot be told"));
  EXPECT_EQ(Diff({"/a.log", "/nowhere.log"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("not there"));
  fs_.AddFile("/empty.log", "");
  EXPECT_EQ(Diff({"/a.log", "/empty.log"}), kExitUsage);
}

TEST(Sparkline, OneScaleForBoth) {
  const SparklinePair pair = DrawPair({0, 1, 2, 3}, {3, 3, 3, 3}, 10, false);
  EXPECT_EQ(pair.columns, 4u);
  EXPECT_EQ(pair.a, "▁▃▆█");
  EXPECT_EQ(pair.b, "████");
  EXPECT_EQ(DrawPair({0, 3}, {0, 3}, 10, true).a, "_#");
  EXPECT_TRUE(DrawPair({1, 1000}, {1, 1000}, 10, true).logarithmic);
  EXPECT_EQ(DrawPair({2, 2}, {2, 2}, 10, true).a, "__");
  EXPECT_EQ(DrawPair({}, {}, 10, true).columns, 0u);
  const std::vector<double> many(1000, 1.0);
  EXPECT_EQ(DrawPair(many, many, 40, true).a.size(), 40u);
}

}  // namespace
}  // namespace paritect
