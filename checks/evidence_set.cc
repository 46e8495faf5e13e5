#include "checks/evidence_set.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "checks/strangers.h"

namespace paritect {

absl::string_view SideName(Side side) {
  return side == Side::kBaseline ? "baseline" : "migrated";
}

EvidenceSet::EvidenceSet(std::vector<v1::Bundle> baseline, std::vector<v1::Bundle> migrated)
    : EvidenceSet(std::move(baseline), std::move(migrated), nullptr) {}

EvidenceSet::EvidenceSet(std::vector<v1::Bundle> baseline, std::vector<v1::Bundle> migrated, FleetFacts fleet)
    : EvidenceSet(std::move(baseline), std::move(migrated), nullptr, std::move(fleet)) {}

EvidenceSet::EvidenceSet(std::vector<v1::Bundle> baseline, std::vector<v1::Bundle> migrated,
                         std::shared_ptr<const SharedLists> lists, std::optional<FleetFacts> fleet)
    : baseline_(std::move(baseline)),
      migrated_(std::move(migrated)),
      fleet_(std::move(fleet)),
      lists_(std::move(lists)) {
  WithholdFromStrangers(baseline_);
  WithholdFromStrangers(migrated_);
}

const std::vector<v1::Bundle>& EvidenceSet::bundles(Side side) const {
  return side == Side::kBaseline ? baseline_ : migrated_;
}

std::vector<v1::Bundle> EvidenceSet::Release(Side side) && {
  return std::move(side == Side::kBaseline ? baseline_ : migrated_);
}

v1::Role RoleOf(const v1::Bundle& bundle) {
  const v1::Role role = bundle.plan().role();
  return role == v1::ROLE_FP32_REFERENCE || role == v1::ROLE_PUBLISHED ? role : v1::ROLE_RUN;
}

std::set<std::string> RunView::Reporting() const {
  std::set<std::string> names;
  for (const v1::Bundle* bundle : nodes) {
    const bool any = std::any_of(bundle->evidence().begin(), bundle->evidence().end(),
                                 [](const v1::Evidence& one) { return one.outcome() == v1::OUTCOME_COLLECTED; });
    if (any) names.insert(bundle->plan().node());
  }
  return names;
}

std::vector<RunView> EvidenceSet::Runs(Side side, v1::Role role) const {
  std::vector<RunView> runs;
  for (const v1::Bundle& bundle : bundles(side)) {
    if (RoleOf(bundle) != role) continue;
    RunView* run = nullptr;
    for (RunView& known : runs) {
      if (known.name == bundle.plan().run()) run = &known;
    }
    if (run == nullptr) {
      runs.push_back({bundle.plan().run(), role, {}});
      run = &runs.back();
    }
    run->nodes.push_back(&bundle);
  }
  return runs;
}

void EvidenceSet::ForEach(Side side, v1::EvidenceKind kind,
                          absl::FunctionRef<void(const v1::Bundle&, const v1::Evidence&)> visit) const {
  for (const v1::Bundle& bundle : bundles(side)) {
    if (RoleOf(bundle) != v1::ROLE_RUN) continue;
    for (const v1::Evidence& evidence : bundle.evidence()) {
      if (evidence.kind() == kind) visit(bundle, evidence);
    }
  }
}

bool EvidenceSet::Has(Side side, v1::EvidenceKind kind) const {
  bool found = false;
  ForEach(side, kind, [&](const v1::Bundle&, const v1::Evidence& evidence) {
    found = found || evidence.outcome() == v1::OUTCOME_COLLECTED;
  });
  return found;
}

std::string WhereFrom(const v1::Bundle& bundle, const v1::Evidence& evidence) {
  std::string where = bundle.plan().node().empty() ? bundle.plan().run() : bundle.plan().node();
  if (evidence.has_rank()) where = absl::StrCat("rank ", evidence.rank(), where.empty() ? "" : " of ", where);
  return where;
}

}  // namespace paritect
