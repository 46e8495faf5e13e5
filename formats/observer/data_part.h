// What the record of one process tells of its input pipeline: data loaders, passes over them, which samples they dealt
// out, the first batches, and the random state of their workers.
#ifndef PARITECT_FORMATS_OBSERVER_DATA_PART_H_
#define PARITECT_FORMATS_OBSERVER_DATA_PART_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "formats/observer/record.h"
#include "formats/settings/builder.h"
#include "paritect/v1/shards.pb.h"

namespace paritect {

// A data-loader worker as it begins to fetch, in its own process.
struct ObservedWorker {
  std::int64_t worker = 0;
  std::int64_t workers = 0;
  std::int64_t seed = 0;                      // the pass's base seed and the worker's number
  std::map<std::string, std::string> states;  // by generator ("random_state"): digest
  std::int64_t line = 0;
};

struct ObservedPass {
  std::int64_t line = 0;
  std::optional<std::int64_t> sampler_epoch;
  std::optional<std::int64_t> sampler_seed;
  std::optional<std::int64_t> base_seed;
  std::optional<bool> after_training;  // mode of the last forward before it; nullopt: there was none
  bool has_indices = false;
  bool numbers = true;  // indices are whole numbers
  std::int64_t samples = 0;
  std::int64_t batches = 0;
  bool whole = false;
  std::string digest;
  std::map<std::int64_t, std::string> after;  // digest of the indices of so many batches
  std::vector<std::string> first;
  std::vector<std::string> batch_digests;  // of the first batches, in order
  std::vector<std::string> batch_inputs;   // of their largest tensors
};

enum class LoaderUse { kNone, kTraining, kEvaluation };

struct ObservedLoader {
  std::int64_t line = 0;
  std::string where;
  bool iterable = false;
  bool shuffles = false;
  bool has_worker_init = false;
  bool dealt = false;     // its sampler deals one data set out to the ranks
  std::int64_t rest = 0;  // so many samples may be left out at the end of each pass (drop_last)
  // The pipeline by part of data.preprocessing ("shuffle"): names and values, in order.
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> items;
  // Arguments that are settings, by canonical key.
  std::vector<std::pair<std::string, std::string>> settings;
  std::map<std::int64_t, ObservedPass> passes;
  LoaderUse use = LoaderUse::kNone;
};

class DataPart {
 public:
  // False: the record is of another part.
  bool Take(const ObservedRecord& record);

  // Tells training from evaluation. `fed`, `fed_in_evaluation`: digests of what the model was given in either mode.
  void TellUses(const std::set<std::string>& fed, const std::set<std::string>& fed_in_evaluation);

  void AddFacts(SettingsBuilder& facts) const;
  // Who read which sample: one list a loader and pass, label "samples" or "evaluation samples".
  std::vector<v1::ShardList> Lists() const;
  // Of workers of this process's loaders, which stand in records of their own.
  void AddWorkerFacts(const std::vector<ObservedWorker>& workers, SettingsBuilder& facts) const;

  const std::vector<ObservedWorker>& own_states() const { return workers_; }
  bool empty() const { return loaders_.empty(); }

 private:
  void TakeLoader(const ObservedRecord& record);
  void TakePass(const ObservedRecord& record);
  void TakeIndices(const ObservedRecord& record);
  void TakeBatch(const ObservedRecord& record);
  void TakeWorker(const ObservedRecord& record);
  ObservedPass* PassOf(const ObservedRecord& record);

  std::map<std::int64_t, ObservedLoader> loaders_;
  std::vector<ObservedWorker> workers_;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_OBSERVER_DATA_PART_H_
