// Where one epoch ends and the next begins, from the opens of files alone.
#ifndef PARITECT_FORMATS_SHARDS_TRACE_EPOCHS_H_
#define PARITECT_FORMATS_SHARDS_TRACE_EPOCHS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace paritect {

using Names = std::vector<std::string>;

// Whether `names` is one list again and again, each time in full, the last time perhaps not to its end.
std::optional<std::vector<Names>> SplitRepeats(const Names& names);

// The same behind files that are opened once before everything else (a vocabulary, an index): the rank holds them
// through all its epochs, so that they stand in each. nullopt: no such beginning, or what follows is one epoch.
std::optional<std::vector<Names>> SplitBehindStart(const Names& names);

// Samplers that deal the files anew in each epoch: a rank repeats no list of its own. All ranks together show the
// epochs where cutting their lists into equal parts gives, in each part, every file exactly once. `opens`: by rank.
// Empty: they do not.
std::map<std::int32_t, std::vector<Names>> SplitTogether(const std::map<std::int32_t, Names>& opens);

}  // namespace paritect

#endif  // PARITECT_FORMATS_SHARDS_TRACE_EPOCHS_H_
