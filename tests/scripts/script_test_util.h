// Two sides of an audit made of scripts in memory.
#ifndef PARITECT_TESTS_SCRIPTS_SCRIPT_TEST_UTIL_H_
#define PARITECT_TESTS_SCRIPTS_SCRIPT_TEST_UTIL_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "agent/collect.h"
#include "checks/runner.h"
#include "common/file_system.h"
#include "common/memory_file_system.h"
#include "formats/plan.h"
#include "gtest/gtest.h"
#include "rules/rules.h"

namespace paritect {

inline std::string ReadSample(const std::string& name) {
  const std::string path = absl::StrCat(PARITECT_SOURCE_DIR, "/tests/scripts/", name);
  auto text = ReadWholeFile(PosixFileSystem(), path, 1 << 20);
  EXPECT_TRUE(text.ok()) << path;
  return text.ok() ? *text : "";
}

inline v1::Bundle BundleOf(const std::string& run, const std::string& framework, const std::string& platform,
                           const std::string& script, const std::string& launch) {
  MemoryFileSystem fs;
  fs.AddFile(absl::StrCat("/", run, "/train.py"), script);
  if (!launch.empty()) fs.AddFile(absl::StrCat("/", run, "/run.sh"), launch);
  fs.AddFile("/plan.yaml", absl::StrCat("run: ", run, "\nnode: n-", run, "\nplatform: ", platform, "\nframework: ", framework, "\nscripts: [", run,
                                        "]\n", launch.empty() ? "" : absl::StrCat("settings: [", run, "/run.sh]\n")));
  auto plan = LoadPlan(fs, "/plan.yaml", "host");
  EXPECT_TRUE(plan.ok()) << plan.status();
  return CollectPlan({fs, BuiltInRules()}, *plan);
}

inline v1::Report Audit(v1::Bundle baseline, v1::Bundle migrated) {
  std::vector<v1::Bundle> a;
  std::vector<v1::Bundle> b;
  a.push_back(std::move(baseline));
  b.push_back(std::move(migrated));
  const EvidenceSet evidence(std::move(a), std::move(b));
  return RunAudit(evidence, BuiltInRules().profile, BuiltInRules(), AuditOptions());
}

// "CHECK KIND SUBJECT" of every finding that is an error or a warning.
inline std::vector<std::string> Alarms(const v1::Report& report) {
  std::vector<std::string> alarms;
  for (const v1::ItemResult& item : report.items()) {
    for (const v1::CheckResult& check : item.checks()) {
      for (const v1::Finding& finding : check.findings()) {
        if (finding.severity() == v1::SEVERITY_NOTE) continue;
        alarms.push_back(absl::StrCat(check.id(), " ", finding.kind(), " ", finding.subject()));
      }
    }
  }
  return alarms;
}

inline v1::Verdict VerdictOf(const v1::Report& report, absl::string_view id) {
  for (const v1::ItemResult& item : report.items()) {
    for (const v1::CheckResult& check : item.checks()) {
      if (check.id() == id) return check.verdict();
    }
  }
  ADD_FAILURE() << id << " is no check";
  return v1::VERDICT_UNSPECIFIED;
}

}  // namespace paritect

#endif  // PARITECT_TESTS_SCRIPTS_SCRIPT_TEST_UTIL_H_
