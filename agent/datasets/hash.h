// The hashing engine: fills MD5, hints and errors of the regular files of a tree.
//
// Exact MD5 of the whole content is what the pre-tuning checklist asks for. One file is one job; jobs run
// on `threads` threads, largest first (a lone large file decides the time). A later engine that hashes
// several files at once in SIMD lanes takes the place of HashJobs and nothing else.
#ifndef PARITECT_AGENT_DATASETS_HASH_H_
#define PARITECT_AGENT_DATASETS_HASH_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "agent/datasets/tree.h"
#include "common/file_system.h"

namespace paritect {

struct HashProgress {
  std::uint64_t files_done = 0;
  std::uint64_t files_total = 0;
  std::uint64_t bytes_done = 0;
  std::uint64_t bytes_total = 0;
};

struct HashOptions {
  int threads = 2;
  // Also the digests that explain a difference later ("lf", "no-bom", "sorted-lines") of small text
  // files: for evidence that leaves the machine, where nobody can ask again.
  bool eager_alternates = false;
  // Called on the calling thread, a few times a second and once at the end.
  std::function<void(const HashProgress&)> progress;
};

// `root` as given to WalkTree. Hard links are read once. A file that changes while it is read is read once
// more; when it changes again it has no MD5, an error and the hint CHANGED_WHILE_READ. What cannot be
// read has an error; nothing here fails as a whole.
void HashTree(FileSystem& fs, absl::string_view root, const HashOptions& options, Tree& tree);

}  // namespace paritect

#endif  // PARITECT_AGENT_DATASETS_HASH_H_
