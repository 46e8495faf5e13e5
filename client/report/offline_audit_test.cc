#include "client/report/offline_audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

#include "agent/collect.h"
#include "checks/runner.h"
#include "client/report/json.h"
#include "common/memory_file_system.h"
#include "formats/bundle.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;

class OfflineAuditTest : public ::testing::Test {
 protected:
  OfflineAuditTest() {
    fs_.AddFile("/gpu/plan.yaml",
                "run: gpu\ndatasets: [{name: train, root: data}]\nshards: [{list: \"r{rank}.txt\"}]\n");
    fs_.AddFile("/gpu/data/a.bin", "abc");
    fs_.AddFile("/gpu/data/caf\xe9.bin", "x");
    fs_.AddFile("/npu/plan.yaml",
                "run: npu\ndatasets: [{name: train, root: data}, {name: n, manifest: \"lost*.md5\"}]\n");
    fs_.AddFile("/npu/data/a.bin", "abd");
  }

  CommandEnv Env() {
    return {.fs = fs_,
            .out = out_,
            .err = out_,
            .rules = BuiltInRules(),
            .host_name = "here",
            .today = "2026-01-01",
            .getenv = [](absl::string_view) { return std::string(); }};
  }

  void Pack(const std::string& plan, const std::string& file) {
    CommandEnv env = Env();
    auto bundle = LoadSidePlan(env, plan);
    ASSERT_TRUE(bundle.ok()) << bundle.status();
    auto bytes = SerializeBundle(*bundle);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    fs_.AddFile(file, *bytes);
  }

  std::string Report(const std::string& baseline, const std::string& migrated) {
    CommandEnv env = Env();
    auto evidence = LoadAuditInput(env, {.baseline = {baseline}, .migrated = {migrated}, .lang = "en"});
    if (!evidence.ok()) return std::string(evidence.status().message());
    AuditOptions options;
    options.today = env.today;
    return DumpJson(ReportToJson(RunAudit(*evidence->evidence, env.rules.profile, env.rules, options)));
  }

  // What the report decides: each check's verdict and the errors behind it. Of a bundle nobody can ask further, so it
  // explains a difference less closely.
  std::string Decided(const std::string& baseline, const std::string& migrated) {
    CommandEnv env = Env();
    auto evidence = LoadAuditInput(env, {.baseline = {baseline}, .migrated = {migrated}, .lang = "en"});
    if (!evidence.ok()) return std::string(evidence.status().message());
    AuditOptions options;
    options.today = env.today;
    std::string text;
    const v1::Report report = RunAudit(*evidence->evidence, env.rules.profile, env.rules, options);
    for (const v1::ItemResult& item : report.items()) {
      for (const v1::CheckResult& check : item.checks()) {
        absl::StrAppend(&text, check.id(), " ", v1::Verdict_Name(check.verdict()));
        for (const v1::Finding& finding : check.findings()) {
          if (finding.severity() != v1::SEVERITY_ERROR) continue;
          absl::StrAppend(&text, " ", finding.kind(), " ", finding.subject());
        }
        text += "\n";
      }
    }
    return text;
  }

  MemoryFileSystem fs_;
  std::ostringstream out_;
};

TEST_F(OfflineAuditTest, ABundleGivesTheVerdictsOfItsPlan) {
  const std::string direct = Decided("/gpu", "/npu/plan.yaml");
  ASSERT_THAT(direct, HasSubstr("content_differs"));
  Pack("/gpu", "/packed/gpu.pbundle");
  Pack("/npu", "/packed/any-name");  // recognised by content
  EXPECT_EQ(Decided("/packed/gpu.pbundle", "/packed/any-name"), direct);
  EXPECT_EQ(Decided("/packed/gpu.pbundle", "/npu"), direct);
}

TEST_F(OfflineAuditTest, ADamagedBundleIsNamedWithItsPlace) {
  Pack("/gpu", "/packed/gpu.pbundle");
  std::string bytes = *ReadWholeFile(fs_, "/packed/gpu.pbundle", 1 << 20);
  fs_.AddFile("/packed/cut.pbundle", bytes.substr(0, bytes.size() - 1));
  EXPECT_THAT(Report("/packed/cut.pbundle", "/npu"), HasSubstr("/packed/cut.pbundle: byte "));
  fs_.AddFile("/packed/text.pbundle", "run: gpu\n");
  EXPECT_THAT(Report("/packed/text.pbundle", "/npu"), HasSubstr("not an evidence bundle"));
  fs_.AddFile("/packed/empty.pbundle", "");
  EXPECT_THAT(Report("/packed/empty.pbundle", "/npu"), HasSubstr("not an evidence bundle"));
}

}  // namespace
}  // namespace paritect
