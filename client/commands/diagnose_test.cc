// paritect diagnose, and reports read back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/command.h"
#include "client/report/json.h"
#include "client/report/read.h"
#include "common/memory_file_system.h"
#include "common/utf8.h"

namespace paritect {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Log(double from_100) {
  std::string text;
  for (int step = 1; step <= 200; ++step) {
    const double loss = (2 + 5 * std::exp(-step / 50.0) + 0.1 * std::sin(step * 1.7)) * (step > 100 ? from_100 : 1);
    absl::StrAppend(&text, "{\"step\": ", step, ", \"loss\": ", loss, "}\n");
  }
  return text;
}

class DiagnoseTest : public testing::Test {
 protected:
  DiagnoseTest() {
    fs_.AddFile("/audit/baseline/plan.yaml", "run: gpu\nnode: g1\nlogs: [train.log]\n");
    fs_.AddFile("/audit/baseline/train.log", Log(1));
    fs_.AddFile("/audit/migrated/plan.yaml", "run: npu\nnode: n1\nlogs: [train.log]\n");
    fs_.AddFile("/audit/migrated/train.log", Log(1.2));
    fs_.AddFile("/same/plan.yaml", "run: npu\nnode: n1\nlogs: [train.log]\n");
    fs_.AddFile("/same/train.log", Log(1));
  }

  ExitCode Call(std::vector<std::string> args, int columns = 100, bool utf8 = true) {
    out_.str("");
    err_.str("");
    CommandEnv env = {.fs = fs_,
                      .out = out_,
                      .err = err_,
                      .rules = BuiltInRules(),
                      .terminal_columns = columns,
                      .host_name = "here",
                      .today = "2026-06-15",
                      .getenv = utf8 ? [](absl::string_view n) { return std::string(n == "LANG" ? "C.UTF-8" : ""); }
                                     : [](absl::string_view) { return std::string(); }};
    return RunCommandLine(env, args);
  }

  MemoryFileSystem fs_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(DiagnoseTest, AFolderOfPlansIsWalked) {
  EXPECT_EQ(Call({"diagnose", "/audit"}), kExitFailed) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("scenario 2"));
  EXPECT_THAT(out_.str(), HasSubstr("├─"));
  EXPECT_THAT(out_.str(), HasSubstr("go on here"));
  EXPECT_THAT(out_.str(), HasSubstr("Next:"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("Scenario 3")));
  EXPECT_EQ(Call({"diagnose", "/audit", "--lang", "zh"}), kExitFailed);
  EXPECT_THAT(out_.str(), HasSubstr("场景 2"));
}

TEST_F(DiagnoseTest, AReportGivesTheSameDiagnosisAsItsPlans) {
  ASSERT_EQ(Call({"check", "--baseline", "/audit/baseline", "--migrated", "/audit/migrated", "-o", "json"}),
            kExitFailed);
  fs_.AddFile("/report.json", out_.str());
  ASSERT_EQ(Call({"diagnose", "/report.json", "-o", "json"}), kExitFailed) << err_.str();
  const std::string of_report = out_.str();
  ASSERT_EQ(Call({"diagnose", "--baseline", "/audit/baseline", "--migrated", "/audit/migrated", "-o", "json"}),
            kExitFailed);
  const auto json = nlohmann::json::parse(of_report, nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["schema"], "paritect.diagnosis/1");
  EXPECT_EQ(json["scenario"], 2);
  const auto of_plans = nlohmann::json::parse(out_.str(), nullptr, false);
  EXPECT_EQ(json["next"], of_plans["next"]);
  ASSERT_EQ(json["stages"].size(), of_plans["stages"].size());
  for (std::size_t i = 0; i < json["stages"].size(); ++i) {
    EXPECT_EQ(json["stages"][i]["verdict"], of_plans["stages"][i]["verdict"]);
  }
}

TEST_F(DiagnoseTest, NothingThatFailsEndsWithZero) {
  EXPECT_EQ(Call({"diagnose", "--baseline", "/audit/baseline", "--migrated", "/same"}), kExitOk) << out_.str();
}

TEST_F(DiagnoseTest, NarrowTerminalsAndAscii) {
  for (const char* lang : {"en", "zh"}) {
    Call({"diagnose", "/audit", "--lang", lang}, 60);
    for (absl::string_view line : absl::StrSplit(out_.str(), '\n')) EXPECT_LE(DisplayWidth(line), 60u) << line;
  }
  Call({"diagnose", "/audit"}, 80, false);
  EXPECT_THAT(out_.str(), HasSubstr("|- "));
  EXPECT_THAT(out_.str(), Not(HasSubstr("├")));
}

TEST_F(DiagnoseTest, MistakesEndWithTwo) {
  EXPECT_EQ(Call({"diagnose"}), kExitUsage);
  EXPECT_EQ(Call({"diagnose", "/nowhere.json"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("not there"));
  fs_.AddFile("/bad.json", "{\"schema\": \"other\"}");
  EXPECT_EQ(Call({"diagnose", "/bad.json"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("paritect.report/1"));
  fs_.AddFile("/torn.json", "{\"schema\": ");
  EXPECT_EQ(Call({"diagnose", "/torn.json"}), kExitUsage);
  fs_.AddFile("/folder/readme", "x");
  EXPECT_EQ(Call({"diagnose", "/folder"}), kExitUsage);
  EXPECT_EQ(Call({"diagnose", "/audit", "--audit", "x"}), kExitUsage);
}

TEST(ReportRead, WhatAReaderOfFindingsNeedsComesBack) {
  v1::Report report;
  report.set_profile("pre-tuning/1");
  v1::ItemResult& item = *report.add_items();
  item.set_id("convergence");
  v1::CheckResult& check = *item.add_checks();
  check.set_id("convergence.scenario");
  check.set_verdict(v1::VERDICT_FAIL);
  v1::Finding& finding = *check.add_findings();
  finding.set_severity(v1::SEVERITY_ERROR);
  finding.set_kind("scenario_curve");
  finding.mutable_message()->set_en("a \"quoted\" text");
  (*finding.mutable_facts()->mutable_fields())["scenario"].set_number_value(2);
  (*finding.mutable_facts()->mutable_fields())["mode"].set_string_value("paired");
  check.add_missing()->mutable_how()->set_zh("补充日志");
  const auto read = ReportFromJson(DumpJson(ReportToJson(report)));
  ASSERT_TRUE(read.ok()) << read.status();
  const v1::CheckResult& back = read->items(0).checks(0);
  EXPECT_EQ(back.verdict(), v1::VERDICT_FAIL);
  EXPECT_EQ(back.findings(0).message().en(), "a \"quoted\" text");
  EXPECT_EQ(back.findings(0).facts().fields().at("scenario").number_value(), 2);
  EXPECT_FALSE(back.findings(0).has_waived());
  EXPECT_EQ(back.missing(0).how().zh(), "补充日志");
}

}  // namespace
}  // namespace paritect
