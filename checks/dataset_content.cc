// data.dataset.content: is the MD5 of every file equal?
// Source: pre-tuning checklist, 数据集与基准一致, step 2.
#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/dataset_pairs.h"
#include "common/digest.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_DATASET_FILES}};

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  for (const DatasetPair& pair : PairDatasets(context.evidence)) {
    for (const auto& [path, baseline] : pair.baseline) {
      auto it = pair.migrated.find(path);
      if (it == pair.migrated.end()) continue;
      const v1::FileEntry& migrated = *it->second;
      if (baseline->md5() == migrated.md5()) continue;
      v1::Finding& finding = AddError(context, result, "content_differs", path, {{"dataset", pair.name}});
      finding.set_baseline(absl::StrCat("md5 ", ToHex(baseline->md5())));
      finding.set_migrated(absl::StrCat("md5 ", ToHex(migrated.md5())));
      SetFact(finding, "baseline_size", static_cast<std::uint64_t>(baseline->size_bytes()));
      SetFact(finding, "migrated_size", static_cast<std::uint64_t>(migrated.size_bytes()));
    }
  }
}

}  // namespace

extern const Check kDatasetContent;
const Check kDatasetContent = {"data.dataset.content", kNeeds, &Evaluate};

}  // namespace paritect
