#include "checks/explaining/looked_at.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_split.h"

namespace paritect {
namespace {

struct WordKinds {
  absl::string_view word;
  std::vector<v1::EvidenceKind> kinds;
};

std::vector<v1::EvidenceKind> OfNode() {
  return {v1::EVIDENCE_KIND_SETTINGS, v1::EVIDENCE_KIND_LIVE_NODE, v1::EVIDENCE_KIND_RUN_LOG};
}

// What a log prints of settings, devices and versions counts as such.
const std::vector<WordKinds>& AllWordKinds() {
  static const auto& kinds =
      *new std::vector<WordKinds>{{"datasets", {v1::EVIDENCE_KIND_DATASET_FILES, v1::EVIDENCE_KIND_DATASET_LISTING}},
                                  {"shards", {v1::EVIDENCE_KIND_SHARDS}},
                                  {"settings", {v1::EVIDENCE_KIND_SETTINGS, v1::EVIDENCE_KIND_RUN_LOG}},
                                  {"logs", {v1::EVIDENCE_KIND_RUN_LOG}},
                                  {"weights", {v1::EVIDENCE_KIND_WEIGHTS}},
                                  {"tensors", {v1::EVIDENCE_KIND_TENSORS}},
                                  {"scripts", {v1::EVIDENCE_KIND_SCRIPTS}},
                                  {"devices", OfNode()},
                                  {"environment", OfNode()},
                                  {"versions", OfNode()}};
  return kinds;
}

}  // namespace

bool IsLookedAt(const CatalogueCheck& check, Side side, v1::EvidenceKind kind) {
  for (const std::string& need : check.evidence) {
    const std::vector<std::string> words = absl::StrSplit(need, ' ');
    if (words.size() == 2 && words[0] != SideName(side)) continue;
    if (words.back() == "any") return true;
    for (const WordKinds& entry : AllWordKinds()) {
      if (entry.word != words.back()) continue;
      if (std::find(entry.kinds.begin(), entry.kinds.end(), kind) != entry.kinds.end()) return true;
    }
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
