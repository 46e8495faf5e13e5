// Runs for tests of the log checks: bundles with one log, record by record, and one check evaluated on them.
#ifndef PARITECT_CHECKS_SERIES_FIXTURE_H_
#define PARITECT_CHECKS_SERIES_FIXTURE_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "checks/check.h"
#include "checks/runner.h"

namespace paritect {

class RunFixture {
 public:
  explicit RunFixture(const std::string& name, const std::string& format = "text") {
    bundle_.mutable_plan()->set_run(name);
    bundle_.mutable_plan()->set_role(v1::ROLE_RUN);
    AddLog(format);
  }

  // Another log of the same run; what follows goes there.
  RunFixture& AddLog(const std::string& format = "text") {
    v1::Evidence& evidence = *bundle_.add_evidence();
    evidence.set_kind(v1::EVIDENCE_KIND_RUN_LOG);
    evidence.set_outcome(v1::OUTCOME_COLLECTED);
    evidence.set_source(bundle_.plan().run() + "/train" + std::to_string(bundle_.evidence_size()) + ".log");
    evidence.mutable_run_log()->set_format(format);
    return *this;
  }

  v1::RunLog& log() { return *bundle_.mutable_evidence(bundle_.evidence_size() - 1)->mutable_run_log(); }
  v1::Bundle& bundle() { return bundle_; }

  v1::StepRecord& Record(std::int64_t step) {
    v1::StepRecord& record = *log().add_records();
    record.set_step(step);
    record.set_line(log().records_size());
    return record;
  }

  // Losses of the steps first ... first + count - 1.
  RunFixture& Losses(std::int64_t first, std::int64_t count, const std::function<double(std::int64_t)>& loss) {
    for (std::int64_t step = first; step < first + count; ++step) Record(step).set_loss(loss(step));
    return *this;
  }

  RunFixture& End(v1::RunEnd::State state, std::int64_t last = 0, std::int64_t total = 0) {
    log().mutable_end()->set_state(state);
    if (last > 0) log().mutable_end()->set_last_step(last);
    if (total > 0) log().mutable_end()->set_total_steps(total);
    return *this;
  }

  RunFixture& Note(const std::string& kind) {
    log().add_notes()->set_kind(kind);
    return *this;
  }

  RunFixture& Setting(const std::string& raw_key, v1::Value value) {
    v1::SettingsDocument* document = log().settings_size() > 0 ? log().mutable_settings(0) : log().add_settings();
    document->set_format("megatron-args");
    v1::Setting& setting = *document->add_settings();
    setting.set_raw_key(raw_key);
    *setting.mutable_value() = std::move(value);
    setting.set_origin("train.log:1");
    return *this;
  }
  RunFixture& Flag(const std::string& raw_key, bool value) {
    v1::Value typed;
    typed.set_boolean(value);
    return Setting(raw_key, typed);
  }
  RunFixture& Number(const std::string& raw_key, double value) {
    v1::Value typed;
    typed.set_number(value);
    return Setting(raw_key, typed);
  }

 private:
  v1::Bundle bundle_;
};

inline std::vector<v1::Bundle> Bundles(std::vector<RunFixture> runs) {
  std::vector<v1::Bundle> bundles;
  for (RunFixture& run : runs) bundles.push_back(std::move(run.bundle()));
  return bundles;
}

// The result of one check, verdict included.
inline v1::CheckResult RunOne(const std::string& id, std::vector<RunFixture> baseline, std::vector<RunFixture> migrated,
                              const Profile& profile = BuiltInRules().profile) {
  const EvidenceSet evidence(Bundles(std::move(baseline)), Bundles(std::move(migrated)));
  AuditOptions options;
  options.today = "2026-01-01";
  const v1::Report report = RunAudit(evidence, profile, BuiltInRules(), options);
  for (const v1::ItemResult& item : report.items()) {
    for (const v1::CheckResult& check : item.checks()) {
      if (check.id() == id) return check;
    }
  }
  return {};
}

inline std::vector<std::string> Kinds(const v1::CheckResult& result, v1::Severity severity = v1::SEVERITY_ERROR) {
  std::vector<std::string> kinds;
  for (const v1::Finding& finding : result.findings()) {
    if (finding.severity() == severity) kinds.push_back(finding.kind());
  }
  return kinds;
}

inline double Fact(const v1::CheckResult& result, const std::string& kind, const std::string& name) {
  for (const v1::Finding& finding : result.findings()) {
    if (finding.kind() != kind) continue;
    auto it = finding.facts().fields().find(name);
    if (it != finding.facts().fields().end()) return it->second.number_value();
  }
  return -1e300;
}

// A reproducible uniform number in [-1, 1), one a (seed, step).
inline double Jitter(std::uint64_t seed, std::int64_t step) {
  std::uint64_t x = seed * 0x9E3779B97F4A7C15u + static_cast<std::uint64_t>(step) * 0xBF58476D1CE4E5B9u;
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9u;
  x ^= x >> 27;
  x *= 0x94D049BB133111EBu;
  x ^= x >> 31;
  return static_cast<double>(x >> 11) / 4503599627370496.0 - 1;
}

}  // namespace paritect

#endif  // PARITECT_CHECKS_SERIES_FIXTURE_H_
