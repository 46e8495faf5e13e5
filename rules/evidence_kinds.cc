#include "rules/evidence_kinds.h"

namespace paritect {
namespace {

struct KeyOfKind {
  v1::EvidenceKind kind;
  absl::string_view plan_key;
};

constexpr KeyOfKind kKeys[] = {
    {v1::EVIDENCE_KIND_DATASET_FILES, "datasets"}, {v1::EVIDENCE_KIND_DATASET_LISTING, "datasets"},
    {v1::EVIDENCE_KIND_SHARDS, "shards"},          {v1::EVIDENCE_KIND_SETTINGS, "settings"},
    {v1::EVIDENCE_KIND_RUN_LOG, "logs"},           {v1::EVIDENCE_KIND_WEIGHTS, "weights"},
    {v1::EVIDENCE_KIND_TENSORS, "tensors"},        {v1::EVIDENCE_KIND_SCRIPTS, "scripts"},
    {v1::EVIDENCE_KIND_LIVE_NODE, "live"}};

}  // namespace

absl::string_view PlanKeyOf(v1::EvidenceKind kind) {
  for (const KeyOfKind& one : kKeys) {
    if (one.kind == kind) return one.plan_key;
  }
  return "";
}

std::vector<v1::EvidenceKind> KindsOf(absl::string_view plan_key) {
  std::vector<v1::EvidenceKind> kinds;
  for (const KeyOfKind& one : kKeys) {
    if (one.plan_key == plan_key) kinds.push_back(one.kind);
  }
  return kinds;
}

}  // namespace paritect
