#include "checks/dataset_pairs.h"

namespace paritect {

std::vector<DatasetPair> PairDatasets(const EvidenceSet& evidence) {
  std::map<std::string, DatasetPair> pairs;
  for (Side side : kBothSides) {
    evidence.ForEach(side, v1::EVIDENCE_KIND_DATASET_FILES, [&](const v1::Bundle&, const v1::Evidence& one) {
      if (one.outcome() != v1::OUTCOME_COLLECTED) return;
      DatasetPair& pair = pairs[one.files().dataset()];
      pair.name = one.files().dataset();
      FilesByPath& files = side == Side::kBaseline ? pair.baseline : pair.migrated;
      for (const v1::FileEntry& file : one.files().files()) files.emplace(file.path(), &file);
    });
  }
  std::vector<DatasetPair> out;
  for (auto& [name, pair] : pairs) out.push_back(std::move(pair));
  return out;
}

}  // namespace paritect
