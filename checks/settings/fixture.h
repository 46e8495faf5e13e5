// For tests of the checks over settings: runs made of settings as a reader would give them, and the verdict of one
// check over them.
#ifndef PARITECT_CHECKS_SETTINGS_FIXTURE_H_
#define PARITECT_CHECKS_SETTINGS_FIXTURE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "checks/runner.h"
#include "paritect/v1/evidence.pb.h"
#include "rules/rules.h"

namespace paritect {

using KeysAndTexts = std::vector<std::pair<std::string, std::string>>;

// One document; every value is a text as written, the origin is "FORMAT:LINE".
inline v1::SettingsDocument SettingsOf(const std::string& format, const std::string& kind, const KeysAndTexts& values) {
  v1::SettingsDocument document;
  document.set_format(format);
  document.set_kind(kind);
  int line = 0;
  for (const auto& [key, text] : values) {
    v1::Setting& setting = *document.add_settings();
    setting.set_raw_key(key);
    setting.set_raw_value(text);
    setting.mutable_value()->set_text(text);
    setting.set_origin(absl::StrCat(format, ":", ++line));
  }
  return document;
}
inline v1::SettingsDocument Arguments(const std::string& format, const KeysAndTexts& values) {
  return SettingsOf(format, "arguments", values);
}
inline v1::SettingsDocument Environment(const KeysAndTexts& values) {
  return SettingsOf("environment", "environment", values);
}
inline v1::SettingsDocument PackagesOf(const KeysAndTexts& values) {
  return SettingsOf("packages", "packages", values);
}

// One node of a run. `platform` and `framework` as a plan states them; "" for not stated.
inline v1::Bundle NodeOf(const std::string& run, const std::string& node, const std::string& platform,
                         const std::string& framework, std::vector<v1::SettingsDocument> documents) {
  v1::Bundle bundle;
  bundle.mutable_plan()->set_run(run);
  bundle.mutable_plan()->set_node(node);
  bundle.mutable_plan()->set_role(v1::ROLE_RUN);
  bundle.mutable_plan()->set_platform(platform);
  bundle.mutable_plan()->set_framework(framework);
  bundle.mutable_plan()->set_plan_file("plan.yaml");
  for (v1::SettingsDocument& document : documents) {
    v1::Evidence& evidence = *bundle.add_evidence();
    evidence.set_kind(v1::EVIDENCE_KIND_SETTINGS);
    evidence.set_outcome(v1::OUTCOME_COLLECTED);
    evidence.set_source(document.format());
    *evidence.mutable_settings() = std::move(document);
  }
  return bundle;
}
inline v1::Bundle Gpu(std::vector<v1::SettingsDocument> documents, const std::string& framework = "pytorch") {
  return NodeOf("gpu", "gpu-1", "nvidia", framework, std::move(documents));
}
inline v1::Bundle Npu(std::vector<v1::SettingsDocument> documents, const std::string& framework = "pytorch",
                      const std::string& platform = "atlas-a2") {
  return NodeOf("npu", "npu-1", platform, framework, std::move(documents));
}

// Settings that could not be read.
inline v1::Bundle WithUnreadable(v1::Bundle bundle) {
  v1::Evidence& evidence = *bundle.add_evidence();
  evidence.set_kind(v1::EVIDENCE_KIND_SETTINGS);
  evidence.set_outcome(v1::OUTCOME_FAILED);
  evidence.set_source("lost.yaml");
  evidence.mutable_problem()->set_id("source_unreadable");
  (*evidence.mutable_problem()->mutable_args())["source"] = "lost.yaml";
  return bundle;
}

// A script that the plan names and this version does not read.
inline v1::Bundle WithUnreadScript(v1::Bundle bundle) {
  v1::Evidence& evidence = *bundle.add_evidence();
  evidence.set_kind(v1::EVIDENCE_KIND_SCRIPTS);
  evidence.set_outcome(v1::OUTCOME_ABSENT);
  evidence.set_source("train.py");
  evidence.mutable_problem()->set_id("not_supported");
  return bundle;
}

// A log without a training step.
inline v1::Bundle WithEmptyLog(v1::Bundle bundle) {
  v1::Evidence& evidence = *bundle.add_evidence();
  evidence.set_kind(v1::EVIDENCE_KIND_RUN_LOG);
  evidence.set_outcome(v1::OUTCOME_COLLECTED);
  evidence.set_source("head.log");
  evidence.mutable_run_log();
  return bundle;
}

// A log that says how the run ended.
inline v1::Bundle WithEnd(v1::Bundle bundle, v1::RunEnd::State state) {
  v1::Evidence& evidence = *bundle.add_evidence();
  evidence.set_kind(v1::EVIDENCE_KIND_RUN_LOG);
  evidence.set_outcome(v1::OUTCOME_COLLECTED);
  evidence.set_source("train.log");
  for (int step = 1; step <= 10; ++step) {
    v1::StepRecord& record = *evidence.mutable_run_log()->add_records();
    record.set_step(step);
    record.set_loss(1);
    record.set_line(step);
  }
  evidence.mutable_run_log()->mutable_end()->set_state(state);
  return bundle;
}

inline v1::CheckResult ResultOf(absl::string_view id, std::vector<v1::Bundle> baseline,
                                std::vector<v1::Bundle> migrated) {
  const EvidenceSet evidence(std::move(baseline), std::move(migrated));
  AuditOptions options;
  options.today = "2026-06-01";
  const v1::Report report = RunAudit(evidence, BuiltInRules().profile, BuiltInRules(), options);
  for (const v1::ItemResult& item : report.items()) {
    for (const v1::CheckResult& check : item.checks()) {
      if (check.id() == id) return check;
    }
  }
  return {};
}

// "fail: value_differs weight_decay, !missing-from npu": the verdict, then errors and warnings ("~") by kind and
// subject, then from where something is missing.
inline std::string Told(const v1::CheckResult& result) {
  std::vector<std::string> parts;
  for (const v1::Finding& finding : result.findings()) {
    if (finding.severity() == v1::SEVERITY_NOTE) continue;
    parts.push_back(
        absl::StrCat(finding.severity() == v1::SEVERITY_WARNING ? "~" : "", finding.kind(), " ", finding.subject()));
  }
  for (const v1::Missing& missing : result.missing()) parts.push_back(absl::StrCat("!", missing.from()));
  std::string verdict = "?";
  if (result.verdict() == v1::VERDICT_PASS) verdict = "pass";
  if (result.verdict() == v1::VERDICT_FAIL) verdict = "fail";
  if (result.verdict() == v1::VERDICT_NOT_PERFORMED) verdict = "not_performed";
  return parts.empty() ? verdict : absl::StrCat(verdict, ": ", absl::StrJoin(parts, ", "));
}
inline std::string Verdict(absl::string_view id, std::vector<v1::Bundle> baseline, std::vector<v1::Bundle> migrated) {
  return Told(ResultOf(id, std::move(baseline), std::move(migrated)));
}

inline bool HasKind(const v1::CheckResult& result, v1::Severity severity, absl::string_view kind) {
  for (const v1::Finding& finding : result.findings()) {
    if (finding.severity() == severity && finding.kind() == kind) return true;
  }
  return false;
}

}  // namespace paritect

#endif  // PARITECT_CHECKS_SETTINGS_FIXTURE_H_
