// A plan for a folder that has none: what lies in it, recognised by content, each file under the key of the plan that it
// is evidence for. Nothing is guessed: what could be two things, or tells nothing, is named with the reason and left to
// a person. The same folder gives the same draft.
#ifndef PARITECT_AGENT_DRAFTING_DRAFT_H_
#define PARITECT_AGENT_DRAFTING_DRAFT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file_system.h"
#include "paritect/v1/plan.pb.h"
#include "rules/rules.h"

namespace paritect {

// Read without being asked to: more is hashed only on a person's word.
inline constexpr std::uint64_t kUnaskedBytesMax = std::uint64_t{1} << 30;

struct DraftOptions {
  bool hash_data = false;  // data sets and weights of any size are read
};

// What was taken for what.
struct TakenSource {
  std::string key;   // of the plan: "logs", "settings", "datasets", ...
  std::string path;  // as the plan names it; bytes
  std::string format;
  std::int64_t files = 1;
  std::int64_t count = 0;       // records of a log, files of a list; 0: not counted
  bool at_least = false;        // `count` and `files` are lower bounds
  std::uint64_t size_bytes = 0;  // of data and weights
  bool names_only = false;      // of data: names and sizes alone
};

// What was not, and why: the id of a text and its arguments {seen}, {path}.
struct NotTaken {
  std::string path;
  std::string why;
  std::string seen;
};

struct Draft {
  // Of one run: one plan a node. Paths are relative to the folder, which is `base`.
  std::vector<v1::Plan> plans;
  // Folders with a plan.yaml, plans of other names, and bundles, on disk: what a run recorded or a person wrote, in place
  // of a draft.
  std::vector<std::string> recorded;
  std::vector<std::string> bundles;
  std::vector<TakenSource> taken;
  std::vector<NotTaken> not_taken;
};

// Of a folder, or of one file that is no plan (then the draft names that file alone). InvalidArgument, in words: nothing
// in it is recognised; it holds several runs (with their names). Errors of reading the folder itself.
absl::StatusOr<Draft> DraftPlan(FileSystem& fs, const Rules& rules, const std::string& path,
                                const DraftOptions& options);

// Gives the data sets of two sides the same names where it is plain which belong together: one a side, or lists of one
// side that are named as the folders of the other side's one set. Checks pair data sets by name.
// Only plans that were drafted are changed.
void PairDataNames(FileSystem& fs, const std::vector<v1::Plan*>& baseline, const std::vector<v1::Plan*>& migrated);

}  // namespace paritect

#endif  // PARITECT_AGENT_DRAFTING_DRAFT_H_
