#include "checks/runner.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "checks/contradictions.h"
#include "checks/coverage.h"
#include "checks/explaining/causes.h"
#include "checks/waivers.h"

namespace paritect {
namespace {

void RequireNeeds(const CheckContext& context, const Check& check, v1::CheckResult& result) {
  for (const EvidenceNeed& need : check.needs) {
    if (need.of != EvidenceNeed::Of::kMigrated) RequireEvidence(context, result, Side::kBaseline, need.kind);
    if (need.of != EvidenceNeed::Of::kBaseline) RequireEvidence(context, result, Side::kMigrated, need.kind);
  }
}

v1::Verdict CheckVerdict(const v1::CheckResult& result) {
  for (const v1::Finding& finding : result.findings()) {
    if (finding.severity() == v1::SEVERITY_ERROR && !finding.has_waived()) return v1::VERDICT_FAIL;
  }
  return result.missing_size() > 0 ? v1::VERDICT_NOT_PERFORMED : v1::VERDICT_PASS;
}

// Moves the first finding of each severity and kind among the first `findings_max`, in the order that stands: what is
// rare must not vanish behind what is frequent. More kinds than places: the first ones.
void KeepOneOfEachKind(int findings_max, google::protobuf::RepeatedPtrField<v1::Finding>& findings) {
  std::vector<int> first;  // of each severity and kind
  std::vector<int> rest;
  std::set<std::pair<int, std::string>> seen;
  for (int i = 0; i < findings.size(); ++i) {
    const bool is_first = seen.emplace(findings[i].severity(), findings[i].kind()).second;
    (is_first ? first : rest).push_back(i);
  }
  std::vector<int> kept(first.begin(), first.begin() + std::min<std::ptrdiff_t>(findings_max, std::ssize(first)));
  for (std::size_t i = 0; i < rest.size() && std::ssize(kept) < findings_max; ++i) kept.push_back(rest[i]);
  std::sort(kept.begin(), kept.end());
  // Ascending, and never before its new place: a swap brings nothing that is kept behind the end.
  for (int i = 0; i < std::ssize(kept); ++i) findings.SwapElements(i, kept[static_cast<std::size_t>(i)]);
}

void SortAndCap(int findings_max, v1::CheckResult& result) {
  auto& findings = *result.mutable_findings();
  std::stable_sort(findings.begin(), findings.end(), [](const v1::Finding& a, const v1::Finding& b) {
    // A waived error is shown after the ones that count.
    if (a.severity() != b.severity()) return a.severity() < b.severity();
    if (a.has_waived() != b.has_waived()) return b.has_waived();
    if (a.subject() != b.subject()) return a.subject() < b.subject();
    return a.kind() < b.kind();
  });
  // A check that only counted the rest has set the true number already.
  const std::int64_t counted_only = std::max<std::int64_t>(0, result.findings_total() - findings.size());
  result.set_findings_total(findings.size() + counted_only);
  if (findings.size() <= findings_max) return;
  // Of the severity that stands first: notes of how something was measured are no differences.
  const std::int64_t total =
      counted_only + std::count_if(findings.begin(), findings.end(), [&](const v1::Finding& finding) {
        return finding.severity() == findings[0].severity();
      });
  KeepOneOfEachKind(findings_max, findings);
  findings.DeleteSubrange(findings_max, findings.size() - findings_max);
  SetFact(*findings.Mutable(0), "total", total);
}

void RemoveRepeatedMissing(v1::CheckResult& result) {
  std::set<std::string> seen;
  auto& missing = *result.mutable_missing();
  int kept = 0;
  for (int i = 0; i < missing.size(); ++i) {
    if (!seen.insert(absl::StrCat(missing[i].what().en(), "\n", missing[i].from())).second) continue;
    if (kept != i) missing.SwapElements(kept, i);
    ++kept;
  }
  missing.DeleteSubrange(kept, missing.size() - kept);
}

v1::CheckResult RunCheck(const CheckContext& context, const CatalogueCheck& entry, const AuditOptions& options,
                         PersonsAnswers& answers) {
  v1::CheckResult result;
  result.set_id(entry.id);
  *result.mutable_title() = entry.title;
  result.set_required(entry.required);
  const Check* check = nullptr;
  for (const Check* known : AllChecks()) {
    if (known->id == entry.id) check = known;
  }
  if (check == nullptr) {
    AddMissing(context, result, "check_not_supported", "");
  } else if (options.time_is_over && options.time_is_over()) {
    AddMissing(context, result, "judging_time_over", "");
  } else {
    check->evaluate(context, result);
    RequireNeeds(context, *check, result);
    RequireAgreement(context, entry.id, result);
  }
  RemoveRepeatedMissing(result);
  answers.Waive(result);
  result.set_verdict(CheckVerdict(result));
  answers.Attest(result);
  SortAndCap(options.findings_max, result);
  return result;
}

v1::Coverage CountCoverage(const EvidenceSet& evidence) {
  v1::Coverage coverage;
  for (Side side : kBothSides) {
    std::set<std::string> nodes;
    for (const v1::Bundle& bundle : evidence.bundles(side)) {
      // What somebody published ran on nobody's node here.
      if (RoleOf(bundle) != v1::ROLE_PUBLISHED) nodes.insert(bundle.plan().node());
    }
    std::set<std::string> expected = nodes;
    if (evidence.fleet() != nullptr) {
      for (const FleetFacts::Node& node : evidence.fleet()->nodes) {
        if (node.side != side) continue;
        expected.insert(node.name);
        if (!node.reported) nodes.erase(node.name);
      }
    }
    coverage.set_nodes_expected(coverage.nodes_expected() + static_cast<int>(expected.size()));
    coverage.set_nodes_reported(coverage.nodes_reported() + static_cast<int>(nodes.size()));
    for (const RunView& run : evidence.Runs(side)) {
      const RankCoverage ranks = CoverRanks(run);
      const int reported = static_cast<int>(ranks.reported.size());
      coverage.set_ranks_reported(coverage.ranks_reported() + reported);
      coverage.set_ranks_expected(coverage.ranks_expected() + std::max(ranks.world_size, reported));
    }
  }
  return coverage;
}

void DescribeSide(const EvidenceSet& evidence, Side side, v1::ReportSide& out) {
  for (v1::Role role : {v1::ROLE_RUN, v1::ROLE_FP32_REFERENCE, v1::ROLE_PUBLISHED}) {
    for (const RunView& run : evidence.Runs(side, role)) {
      v1::ReportRun& one = *out.add_runs();
      one.set_name(run.name);
      one.set_role(role == v1::ROLE_RUN ? "run" : role == v1::ROLE_PUBLISHED ? "published" : "fp32-reference");
      std::set<std::string> nodes;
      for (const v1::Bundle* bundle : run.nodes) nodes.insert(bundle->plan().node());
      for (const std::string& node : nodes) one.add_nodes(node);
    }
  }
}

v1::Verdict ReportVerdict(const v1::Report& report) {
  bool not_performed = false;
  for (const v1::ItemResult& item : report.items()) {
    if (item.verdict() == v1::VERDICT_FAIL) return v1::VERDICT_FAIL;
    not_performed = not_performed || item.verdict() == v1::VERDICT_NOT_PERFORMED;
  }
  return not_performed ? v1::VERDICT_NOT_PERFORMED : v1::VERDICT_PASS;
}

}  // namespace

v1::Verdict ItemVerdict(const v1::ItemResult& item) {
  bool all_not_performed = true;
  bool required_not_performed = false;
  for (const v1::CheckResult& check : item.checks()) {
    if (check.verdict() == v1::VERDICT_FAIL) return v1::VERDICT_FAIL;
    const bool not_performed = check.verdict() == v1::VERDICT_NOT_PERFORMED;
    all_not_performed = all_not_performed && not_performed;
    required_not_performed = required_not_performed || (not_performed && check.required());
  }
  return all_not_performed || required_not_performed ? v1::VERDICT_NOT_PERFORMED : v1::VERDICT_PASS;
}

v1::Report RunAudit(const EvidenceSet& evidence, const Profile& profile, const Rules& rules,
                    const AuditOptions& options) {
  return RunAudit(CheckContext{evidence, profile, rules}, options);
}

v1::Report RunAudit(const CheckContext& context, const AuditOptions& options) {
  const auto& [evidence, profile, rules, views] = context;
  v1::Report report;
  report.set_profile(profile.name);
  for (const std::string& name : rules.overridden) report.add_overridden_rules(name);
  PersonsAnswers answers(evidence, profile, options.today);
  DescribeSide(evidence, Side::kBaseline, *report.mutable_baseline());
  DescribeSide(evidence, Side::kMigrated, *report.mutable_migrated());
  for (const CatalogueItem& entry : rules.catalogue.items) {
    const bool wanted =
        options.items.empty() || std::find(options.items.begin(), options.items.end(), entry.id) != options.items.end();
    if (!wanted) continue;
    v1::ItemResult& item = *report.add_items();
    item.set_id(entry.id);
    *item.mutable_title() = entry.title;
    for (const CatalogueCheck& check : entry.checks) {
      *item.add_checks() = RunCheck(context, check, options, answers);
    }
    item.set_verdict(ItemVerdict(item));
  }
  report.set_verdict(ReportVerdict(report));
  LinkConsequences(BuiltInCauses(), report);
  *report.mutable_coverage() = CountCoverage(evidence);
  answers.Warn(rules, report);
  return report;
}

}  // namespace paritect
