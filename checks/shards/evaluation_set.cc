#include "checks/shards/evaluation_set.h"

#include <algorithm>
#include <set>

#include "rules/evaluation_words.h"

namespace paritect {
namespace {

// By ItemId: what is not the training set.
std::vector<bool> EvaluationItems(const ShardPair& pair, bool label) {
  std::vector<bool> items(pair.names.size(), label);
  if (label || pair.sample_numbers) return items;
  std::size_t count = 0;
  for (ItemId id = 0; id < items.size(); ++id) {
    const absl::string_view name = pair.names[id];
    const std::size_t slash = name.find('/');
    items[id] = slash != absl::string_view::npos && slash > 0 && NamesEvaluationSet(name.substr(0, slash));
    count += items[id] ? 1 : 0;
  }
  // Alone it is what is trained on, whatever its name.
  if (count == items.size()) items.assign(items.size(), false);
  return items;
}

class Sorter {
 public:
  Sorter(ShardPair& pair, std::vector<bool> items, const std::vector<ItemId>& declared)
      : pair_(pair), items_(std::move(items)) {
    std::vector<bool> known(items_.size(), false);
    const auto know = [&](ItemId id) {
      if (!items_[id] || known[id]) return;
      known[id] = true;
      ++all_;
    };
    for (ItemId id : declared) know(id);
    for (const ShardRun* run : pair_.Runs()) {
      ForEachReader(*run,
                    [&](const ShardReader& reader) { std::for_each(reader.items.begin(), reader.items.end(), know); });
    }
  }

  bool Run() {
    if (all_ == 0) return false;
    std::vector<ShardRun*> runs;
    if (pair_.baseline) runs.push_back(&*pair_.baseline);
    for (ShardRun& run : pair_.migrated) runs.push_back(&run);
    bool whole = false;
    for (ShardRun* run : runs) {
      run->evaluation = HowRead(*run);
      whole = whole || run->evaluation == EvaluationRead::kByEvery || run->evaluation == EvaluationRead::kByOne;
    }
    if (!whole) {
      for (ShardRun* run : runs) run->evaluation = EvaluationRead::kNone;
      return false;
    }
    for (ShardRun* run : runs) Move(*run);
    return true;
  }

 private:
  // By the first epoch that reads any of it: a later one may not have come to its end.
  EvaluationRead HowRead(const ShardRun& run) const {
    for (const ShardEpoch& epoch : run.epochs) {
      std::map<int, std::set<ItemId>> read;
      std::set<int> ranks;
      for (const ShardReader& reader : epoch.readers) {
        ranks.insert(reader.rank);
        for (ItemId id : reader.items) {
          if (items_[id]) read[reader.rank].insert(id);
        }
      }
      if (read.empty()) continue;
      const std::size_t world = std::max(static_cast<std::size_t>(std::max(run.world_size(), 0)), ranks.size());
      if (world < 2) return EvaluationRead::kNone;
      const bool whole =
          std::all_of(read.begin(), read.end(), [&](const auto& one) { return one.second.size() == all_; });
      if (!whole) return EvaluationRead::kSplit;
      if (read.size() == 1) return EvaluationRead::kByOne;
      return read.size() == ranks.size() ? EvaluationRead::kByEvery : EvaluationRead::kSplit;
    }
    return EvaluationRead::kNone;
  }

  void Move(ShardRun& run) const {
    for (ShardEpoch& epoch : run.epochs) {
      for (ShardReader& reader : epoch.readers) {
        const auto first =
            std::stable_partition(reader.items.begin(), reader.items.end(), [&](ItemId id) { return !items_[id]; });
        reader.evaluation.assign(first, reader.items.end());
        reader.items.erase(first, reader.items.end());
      }
    }
  }

  ShardPair& pair_;
  const std::vector<bool> items_;
  std::size_t all_ = 0;  // such items that are known
};

}  // namespace

bool IsEvaluationLabel(const EvidenceSet& evidence, absl::string_view dataset) {
  bool named = false, declared = false, training = false;
  for (Side side : kBothSides) {
    bool other = false, own = false;
    const auto look = [&](const v1::Bundle&, const v1::Evidence& one) {
      own = own || one.subject() == dataset;
      other = other || (!one.subject().empty() && one.subject() != dataset && !NamesEvaluationSet(one.subject()));
      if (one.subject() != dataset) return;
      for (const v1::Note& note : one.shards().notes()) {
        declared = declared || note.kind() == "role_validation";
        training = training || note.kind() == "role_train";
      }
    };
    evidence.ForEach(side, v1::EVIDENCE_KIND_SHARDS, look);
    evidence.ForEach(side, v1::EVIDENCE_KIND_DATASET_FILES, look);
    named = named || (own && other);
  }
  return declared || (!training && named && NamesEvaluationSet(dataset));
}

void SetEvaluationApart(ShardPair& pair, bool label, const std::vector<ItemId>& declared) {
  const bool apart = Sorter(pair, EvaluationItems(pair, label), declared).Run();
  pair.evaluation_set = label && apart;
}

}  // namespace paritect
