// Where one epoch ends and the next begins, from the opens of files alone. Nothing is put into an epoch that was not
// opened in it.
#ifndef PARITECT_FORMATS_SHARDS_TRACE_EPOCHS_H_
#define PARITECT_FORMATS_SHARDS_TRACE_EPOCHS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace paritect {

using Names = std::vector<std::string>;

// Whether `names` is one list again and again, each time in full, the last time perhaps not to its end.
std::optional<std::vector<Names>> SplitRepeats(const Names& names);

// The same behind files that are opened once before everything else (a vocabulary, an index): they stand in the first
// epoch, where they were opened. nullopt: no such beginning, or what follows is one epoch.
std::optional<std::vector<Names>> SplitBehindStart(const Names& names);

// Samplers that deal the files anew in each epoch: a rank repeats no list of its own. All ranks together show the
// epochs where cutting their lists into equal parts gives, in each part, every file exactly once. `opens`: by rank.
// Empty: they do not. What all lists begin with alike stands in the first part.
std::map<std::int32_t, std::vector<Names>> SplitTogether(const std::map<std::int32_t, Names>& opens);

// What one process of a rank opened.
struct ProcessOpens {
  Names names;
  std::int64_t born_ns = 0;  // not after its birth, on the clock of the opens
  std::int64_t first_ns = 0, last_ns = 0;
};

// Processes that read side by side stand together. A process that was born after others had begun, and that opened
// nothing before they had opened their last, is of a new iterator. `processes`: by birth.
std::vector<std::vector<const ProcessOpens*>> Generations(const std::vector<ProcessOpens>& processes);

// The epochs of one rank. nullopt: opens tell none, as where processes side by side open the same files.
std::optional<std::vector<Names>> EpochsOfRank(const std::vector<ProcessOpens>& processes);

// Whether processes that read side by side opened the same files, more than the few that stand beside the data.
bool ShareFilesSideBySide(const std::vector<ProcessOpens>& processes);

// Ranks that look through files (count lines, index offsets) before they read their own: a rank that opened every file
// of the node, each once, and then some of them again. Where what is left of all ranks is every file, and no two ranks
// share one, that is what they read: by rank its epochs. Empty: no rank did, or it cannot be told.
std::map<std::int32_t, std::vector<Names>> SplitBehindScan(const std::map<std::int32_t, Names>& opens);

// The ranks that may have looked through all files first, so that these are no epoch, where nothing tells: what is left
// of all ranks is not every file, and no two ranks share one of it.
std::set<std::int32_t> MayHaveScanned(const std::map<std::int32_t, Names>& opens);

// Epochs of which each has new processes on every rank, where over all ranks each holds every file once. By rank;
// empty: they do not.
std::map<std::int32_t, std::vector<Names>> SplitByIterators(
    const std::map<std::int32_t, std::vector<ProcessOpens>>& processes);

}  // namespace paritect

#endif  // PARITECT_FORMATS_SHARDS_TRACE_EPOCHS_H_
