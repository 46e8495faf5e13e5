#include "checks/dataset_follow_up.h"

#include "checks/dataset_difference.h"
#include "checks/dataset_explain.h"
#include "checks/dataset_pairs.h"

namespace paritect {
namespace {

class Asker {
 public:
  explicit Asker(const FollowUpLimits& limits) : limits_(limits) {}

  void Pair(const DatasetView& baseline, const DatasetView& migrated) {
    const DatasetDifference difference = CompareViews(baseline, migrated);
    const ExplainContext context = MakeExplainContext(difference, baseline);
    for (const auto* pairs : {&difference.common, &difference.renamed}) {
      for (const FilePair& pair : *pairs) {
        if (asked_ >= limits_.pairs_max) return;
        if (CompareContent(*pair.baseline->entry, *pair.migrated->entry) != ContentVerdict::kDiffers) continue;
        const ContentQuestions questions = QuestionsFor(pair, context);
        const bool b = Ask(baseline, *pair.baseline, questions.baseline);
        const bool m = Ask(migrated, *pair.migrated, questions.migrated);
        if (b || m) ++asked_;
      }
    }
  }

  std::vector<DatasetQuestion> Take() { return std::move(questions_); }

 private:
  bool Ask(const DatasetView& view, const NamedFile& file, const std::vector<std::string>& laws) {
    const DatasetOrigin& origin = view.origins[static_cast<std::size_t>(file.origin)];
    if (laws.empty() || origin.list->format() != "tree" || file.entry->type() != v1::FILE_TYPE_REGULAR) return false;
    const std::uint64_t size = file.entry->size_bytes();
    if (size > limits_.bytes_max - bytes_) return false;
    bytes_ += size;
    questions_.push_back({origin.side, origin.bundle, origin.evidence, file.entry->path(), laws});
    return true;
  }

  const FollowUpLimits& limits_;
  std::vector<DatasetQuestion> questions_;
  std::size_t asked_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

std::vector<DatasetQuestion> DatasetQuestions(const EvidenceSet& evidence, const FollowUpLimits& limits) {
  Asker asker(limits);
  for (const DatasetPair& pair : PairDatasets(evidence)) {
    if (pair.baseline.empty()) continue;
    for (const DatasetView& migrated : pair.migrated) asker.Pair(pair.baseline[0], migrated);
  }
  return asker.Take();
}

}  // namespace paritect
