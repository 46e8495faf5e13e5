// What of a folder was taken for what, and what was not.
#ifndef PARITECT_AGENT_DRAFTING_TAKEN_H_
#define PARITECT_AGENT_DRAFTING_TAKEN_H_

#include <cstdint>
#include <string>

namespace paritect {

// Read without being asked to: more is hashed only on a person's word.
inline constexpr std::uint64_t kUnaskedBytesMax = std::uint64_t{1} << 30;

struct DraftOptions {
  bool hash_data = false;  // data sets and weights of any size are read
  bool anew = false;       // as if no plan and no recorded run lay there
};

// What was taken for what.
struct TakenSource {
  std::string key;   // of the plan: "logs", "settings", "datasets", ...
  std::string path;  // as the plan names it; bytes
  std::string format;
  std::int64_t files = 1;
  std::int64_t count = 0;        // records of a log, files of a list; 0: not counted
  bool at_least = false;         // `count` and `files` are lower bounds
  std::uint64_t size_bytes = 0;  // of data and weights
  bool names_only = false;       // of data: names and sizes alone
};

// What was not, and why: the id of a text and its arguments {seen}, {path}.
struct NotTaken {
  std::string path;
  std::string why;
  std::string seen;
};

}  // namespace paritect

#endif  // PARITECT_AGENT_DRAFTING_TAKEN_H_
