// Types of the shard lists of both sides in one common form: data roots stripped, names interned, epochs and run
// segments apart.
//
// Size: one 4-byte number an entry read and one name a distinct file; views point into the evidence set
// and must not outlive it. No step is quadratic in ranks or files.
#ifndef PARITECT_CHECKS_SHARDS_LISTS_H_
#define PARITECT_CHECKS_SHARDS_LISTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "checks/evidence_set.h"

namespace paritect {

using ItemId = std::uint32_t;

// One list: what one rank read in one epoch and run segment, in order.
struct ShardReader {
  int rank = -1;  // -1: not known
  std::string node;
  int segment = 0;
  int world_size = 0;  // as the list states it; 0: it does not
  std::vector<ItemId> items;
  const v1::Evidence* evidence = nullptr;
  // The list again where a name in it is not spelled plainly ("a//b" is the file "a/b"); else empty.
  std::shared_ptr<const google::protobuf::RepeatedPtrField<std::string>> plain_names;
  bool repeats_rank = false;  // another list of this rank stands before it (other node, or other content)
  // Of the recorder: several processes of the rank read side by side, so the order between them is not known.
  bool unordered = false;
  // Of the recorder: files were opened again and no epoch can be told; each stands once.
  bool epochs_unclear = false;
  bool opened_again = false;        // unclear because what was opened again tells no epochs
  bool suspiciously_empty = false;  // while another list of the epoch has two entries or more
  std::string rank_disagreement;    // of the recorder: variables that give several ranks, and which counts
  bool rank_guessed = false;        // of the recorder: told by the order in which the processes began
  // Of the recorder: every file was opened equally often, more than once: no rank merely looked through them before.
  bool opened_evenly = false;
  // The list is known not to hold everything, or (of the recorder) began when its rank already read.
  bool partial = false, begins_late = false;
  // A plain list whose last line has no line end; and one that was cut there (cut_lists.h).
  bool ends_openly = false, cut = false;
  // Files that every rank opened and that are no shards (an index, a label table); not in `items`.
  std::vector<ItemId> common;
  // Of a data set that is not the training set and that is read whole (evaluation_set.h); not in `items`.
  std::vector<ItemId> evaluation;

  const google::protobuf::RepeatedPtrField<std::string>& names() const {
    return plain_names ? *plain_names : evidence->shards().items();
  }
};

// Lists of one epoch, sorted by (segment, rank, node). Equal lists of one rank on one node stand once.
struct ShardEpoch {
  std::optional<int> epoch;
  std::vector<ShardReader> readers;
  // Of the recorder (common.h). Files that every rank opened, of which it cannot be told whether they are
  // shards; they stand in `common`.
  std::vector<ItemId> unclear_common;
  // Every rank opened the same indexed or mapped files: who reads which sample of them is not known.
  bool containers_shared = false;
  // Both sides alike opened every file on every rank: which samples each rank kept is not known.
  bool all_opened_alike = false;
  // Every rank opened everything, and a later epoch shows a split: the ranks may have looked through the files before
  // they read.
  bool maybe_scan = false;
};

// How a run reads data that is not the training set.
enum class EvaluationRead { kNone, kByEvery, kByOne, kSplit };

// Sizes that the lists and plans of one run segment state.
struct WorldSizeConflict {
  std::string text;  // "8 (npu0), 16 (npu1)"
  std::vector<double> sizes;
};

struct ShardRun {
  Side side = Side::kBaseline;
  std::string run;
  bool recorded_by_step = false;  // an index log or trace: it may end within an epoch
  std::vector<ShardEpoch> epochs;
  std::map<int, int> world_sizes;                 // by segment; 0 or absent: not known
  std::vector<WorldSizeConflict> world_size_conflicts;
  // Why something of this run may be missing; then nothing can be said about what nobody read.
  std::vector<int> missing_ranks;
  int unranked = 0;
  bool partly_unreadable = false;  // evidence absent or failed, or a list that is not whole

  // Of data that is not the training set: who reads it, where it is read whole.
  EvaluationRead evaluation = EvaluationRead::kNone;

  bool one_world_size() const;  // the same, known, in all segments
  int world_size() const;       // of the last segment; 0: not known
  bool whole() const { return missing_ranks.empty() && !partly_unreadable; }
};

enum class ExpectedFrom { kFileList, kUnion, kNumbers };

// What one label of the plans holds on both sides.
struct ShardPair {
  std::string dataset;
  bool sample_numbers = false;
  bool numbers_against_names = false;         // one side recorded sample numbers, the other files: nothing meets
  std::vector<absl::string_view> names;       // by ItemId
  std::optional<ShardRun> baseline;           // the reference run
  std::vector<ShardRun> migrated;             // every run
  std::vector<std::string> migrated_without;  // runs that have no list of it
  ExpectedFrom expected_from = ExpectedFrom::kUnion;
  std::vector<bool> expected;         // by ItemId
  bool file_list_incomplete = false;  // or unreadable
  // The data set's list and the shard lists do not name the same files (most of these are not in it): not used.
  bool file_list_other = false;
  bool evaluation_set = false;  // all of it is data that is not the training set, and one side reads it whole
  bool traced = false;          // a list is of the recorder: it also holds what is opened beside the shards

  // Baseline first.
  std::vector<const ShardRun*> Runs() const;
};

template <typename Visit>
void ForEachReader(const ShardRun& run, Visit visit) {
  for (const ShardEpoch& epoch : run.epochs) {
    for (const ShardReader& reader : epoch.readers) visit(reader);
  }
}

// Distinct items of an epoch, by ItemId; those that all ranks read in common count too.
std::vector<bool> ItemsRead(const ShardPair& pair, const ShardEpoch& epoch);

// The lists of an epoch by rank, segments of a run put one after another: index = rank. Empty where the
// world size is not one and the same, a rank is missing, or a rank has two lists.
std::vector<std::vector<ItemId>> ListsByRank(const ShardRun& run, const ShardEpoch& epoch);

// The epoch of `other` that has the number of `epoch`, which is one of `run`; or nullptr. Where each has one epoch
// and only one of them is numbered, they are the same; one without a number is the first of several. Some loops count
// from 0, others from 1: the first is the first.
const ShardEpoch* FindEpoch(const ShardRun& run, const ShardEpoch& epoch, const ShardRun& other);

// Whether each of several ranks read every file that any of them read, and these are two or more.
bool EveryRankReadsAll(const ShardPair& pair, const ShardEpoch& epoch);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SHARDS_LISTS_H_
