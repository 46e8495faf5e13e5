#include "checks/explaining/looked_at.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_split.h"
#include "rules/evidence_kinds.h"

namespace paritect {
namespace {

// A word of the catalogue is the plan's key of a kind. What a log prints of settings, devices and versions counts as
// such, and a node's settings tell of its devices.
bool WordTakesIn(absl::string_view word, v1::EvidenceKind kind) {
  if (word == "any" || word == PlanKeyOf(kind)) return true;
  if (kind == v1::EVIDENCE_KIND_RUN_LOG && word == "settings") return true;
  const bool of_node = word == "devices" || word == "environment" || word == "versions";
  return of_node && (kind == v1::EVIDENCE_KIND_SETTINGS || kind == v1::EVIDENCE_KIND_LIVE_NODE ||
                     kind == v1::EVIDENCE_KIND_RUN_LOG);
}

}  // namespace

bool IsLookedAt(const CatalogueCheck& check, Side side, v1::EvidenceKind kind) {
  for (const std::string& need : check.evidence) {
    const std::vector<std::string> words = absl::StrSplit(need, ' ');
    if (words.size() == 2 && words[0] != SideName(side)) continue;
    if (WordTakesIn(words.back(), kind)) return true;
  }
  return false;
}

bool AnyLooksAt(const Rules& rules, absl::Span<const std::string> items, v1::EvidenceKind kind) {
  for (const CatalogueItem& item : rules.catalogue.items) {
    if (!items.empty() && std::find(items.begin(), items.end(), item.id) == items.end()) continue;
    for (const CatalogueCheck& check : item.checks) {
      for (const Side side : kBothSides) {
        if (IsLookedAt(check, side, kind)) return true;
      }
    }
  }
  return false;
}

}  // namespace paritect
