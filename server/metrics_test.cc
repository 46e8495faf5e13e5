// What promtool would look at: https://prometheus.io/docs/instrumenting/exposition_formats/
#include "server/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "re2/re2.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;

ServerMetrics Filled() {
  ServerMetrics metrics;
  metrics.version = "0.1.0";
  AuditFigure figure;
  figure.audit = "resnet\"50\\";
  figure.verdict = v1::VERDICT_FAIL;
  figure.ended_unix_ms = 1'700'000'000'000;
  figure.failed_checks = 2;
  metrics.audits.push_back(figure);
  metrics.runs_by_verdict[v1::VERDICT_FAIL] = 3;
  for (const int ms : {1, 3, 3, 900, 200'000}) metrics.writer.commit_latency.Add(absl::Milliseconds(ms));
  return metrics;
}

TEST(Metrics, EveryLineIsOneSampleOfADeclaredFamily) {
  const std::string text = FormatMetrics(Filled());
  std::map<std::string, std::string> types;
  std::set<std::string> helped;
  std::set<std::string> samples;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::string one(line);
    std::string name, rest, labels;
    if (RE2::FullMatch(one, R"(# HELP ([a-z_]+) (.+))", &name, &rest)) {
      EXPECT_TRUE(helped.insert(name).second) << one;
      continue;
    }
    if (RE2::FullMatch(one, R"(# TYPE ([a-z_]+) (counter|gauge|histogram))", &name, &rest)) {
      EXPECT_TRUE(types.emplace(name, rest).second) << one;
      continue;
    }
    ASSERT_TRUE(RE2::FullMatch(
        one, R"re((paritect_[a-z_0-9]+)(\{[a-z_]+="(?:[^"\\]|\\.)*"(?:,[a-z_]+="(?:[^"\\]|\\.)*")*\})? (\S+))re", &name,
        &labels, &rest))
        << one;
    double value = 0;
    EXPECT_TRUE(absl::SimpleAtod(rest, &value)) << one;
    EXPECT_TRUE(samples.insert(name + labels).second) << "twice: " << one;
    std::string family = name;
    if (types.count(family) == 0) RE2::Replace(&family, "_(bucket|sum|count)$", "");
    ASSERT_EQ(types.count(family), 1u) << one;
    EXPECT_EQ(types[family] == "counter", absl::EndsWith(name, "_total")) << one;
    EXPECT_EQ(types[family] == "histogram", family != name) << one;
  }
  EXPECT_EQ(helped.size(), types.size());
}

TEST(Metrics, HistogramsAreCumulative) {
  const std::string text = FormatMetrics(Filled());
  EXPECT_THAT(text, HasSubstr("paritect_commit_seconds_bucket{le=\"0.004096\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("paritect_commit_seconds_bucket{le=\"1.048576\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("paritect_commit_seconds_bucket{le=\"67.108864\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("paritect_commit_seconds_bucket{le=\"+Inf\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("paritect_commit_seconds_sum 200.907\n"));
  EXPECT_THAT(text, HasSubstr("paritect_commit_seconds_count 5\n"));
}

TEST(Metrics, AuditsByVerdict) {
  const std::string text = FormatMetrics(Filled());
  EXPECT_THAT(text, HasSubstr(R"(paritect_audit_verdict{audit="resnet\"50\\",verdict="fail"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(paritect_audit_verdict{audit="resnet\"50\\",verdict="pass"} 0)"));
  EXPECT_THAT(text, HasSubstr(R"(paritect_audit_runs_total{verdict="fail"} 3)"));
  EXPECT_THAT(text, HasSubstr(R"(paritect_audit_failed_checks{audit="resnet\"50\\"} 2)"));
}

TEST(AuditFigures, CountsChecksOfTheNewestRun) {
  v1::AuditRun run;
  run.set_audit("a");
  run.set_verdict(v1::VERDICT_FAIL);
  v1::Report report;
  v1::ItemResult& item = *report.add_items();
  item.add_checks()->set_verdict(v1::VERDICT_FAIL);
  item.add_checks()->set_verdict(v1::VERDICT_PASS);
  item.add_checks()->set_verdict(v1::VERDICT_NOT_PERFORMED);
  item.mutable_checks(2)->set_required(true);
  item.add_checks()->set_verdict(v1::VERDICT_NOT_PERFORMED);
  AuditFigures figures;
  figures.Put(FigureOf(run, report), true);
  ASSERT_EQ(figures.All().size(), 1u);
  EXPECT_EQ(figures.All()[0].failed_checks, 1);
  EXPECT_EQ(figures.All()[0].open_checks, 1);
  EXPECT_EQ(figures.RunsByVerdict()[v1::VERDICT_FAIL], 1);
  figures.KeepOnly({"b"});
  EXPECT_TRUE(figures.All().empty());
}

}  // namespace
}  // namespace paritect
