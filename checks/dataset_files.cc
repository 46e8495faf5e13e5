// data.dataset.files: are the two lists of relative paths equal, byte by byte?
// Source: pre-tuning checklist, 数据集与基准一致, step 1.
#include "checks/check.h"
#include "checks/dataset_pairs.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_DATASET_FILES}};

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  for (const DatasetPair& pair : PairDatasets(context.evidence)) {
    for (const auto& [path, entry] : pair.baseline) {
      if (!pair.migrated.contains(path)) AddError(context, result, "missing", path, {{"dataset", pair.name}});
    }
    for (const auto& [path, entry] : pair.migrated) {
      if (!pair.baseline.contains(path)) AddError(context, result, "extra", path, {{"dataset", pair.name}});
    }
  }
}

}  // namespace

extern const Check kDatasetFiles;
const Check kDatasetFiles = {"data.dataset.files", kNeeds, &Evaluate};

}  // namespace paritect
