// Shard lists of both sides in one common form: data roots stripped, names interned, epochs and run
// segments apart. All checks of data.sharding start from here.
//
// Size: one 4-byte number an entry read and one name a distinct file; views point into the evidence set
// and must not outlive it. No step is quadratic in ranks or files.
#ifndef PARITECT_CHECKS_SHARDS_VIEW_H_
#define PARITECT_CHECKS_SHARDS_VIEW_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "checks/check.h"
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
  bool rank_guessed = false;        // of the recorder: told by the order in which the processes began
  // Files that every rank opened and that are no shards (an index, a label table); not in `items`.
  std::vector<ItemId> common;

  const google::protobuf::RepeatedPtrField<std::string>& names() const {
    return plain_names ? *plain_names : evidence->shards().items();
  }
};

// Lists of one epoch, sorted by (segment, rank, node). Equal lists of one rank on one node stand once.
struct ShardEpoch {
  std::optional<int> epoch;
  std::vector<ShardReader> readers;
  // Of the recorder (checks/shards/common.h). Files that every rank opened, of which it cannot be told whether they are
  // shards; they stand in `common`.
  std::vector<ItemId> unclear_common;
  // Every rank opened the same indexed or mapped files: who reads which sample of them is not known.
  bool containers_shared = false;
};

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
  std::map<int, int> world_sizes;  // by segment; 0 or absent: not known
  std::vector<WorldSizeConflict> world_size_conflicts;
  // Why something of this run may be missing; then nothing can be said about what nobody read.
  std::vector<int> missing_ranks;
  int unranked = 0;
  bool partly_unreadable = false;  // evidence absent or failed, or a list that is not whole

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
  bool traced = false;  // a list is of the recorder: it also holds what is opened beside the shards

  // Baseline first.
  std::vector<const ShardRun*> Runs() const;
};

// One pair a label, sorted by label. A label that only one side has stands alone; a label that is empty
// on one side is paired with the only label of the other. Made once an audit.
const std::vector<ShardPair>& PairShards(const CheckContext& context);
// The same of evidence that no audit holds.
std::vector<ShardPair> MakeShardPairs(const EvidenceSet& evidence);

// Distinct items of an epoch, by ItemId; those that all ranks read in common count too.
std::vector<bool> ItemsRead(const ShardPair& pair, const ShardEpoch& epoch);

// The lists of an epoch by rank, segments of a run put one after another: index = rank. Empty where the
// world size is not one and the same, a rank is missing, or a rank has two lists.
std::vector<std::vector<ItemId>> ListsByRank(const ShardRun& run, const ShardEpoch& epoch);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SHARDS_VIEW_H_
