// The hashing engine: the names below a root with the exact MD5 of each regular file.
//
// Exact MD5 of the whole content is what the pre-tuning checklist asks for. Files are hashed many at a time
// (lane_hasher.h) while the folders are still being read; large ones first. Every file is read once: hard links share
// a reading, what a cache knows is not read at all unless that is asked for.
#ifndef PARITECT_AGENT_DATASETS_HASH_H_
#define PARITECT_AGENT_DATASETS_HASH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/datasets/digest_cache.h"
#include "agent/datasets/file_table.h"
#include "agent/datasets/tree.h"
#include "common/file_system.h"

namespace paritect {

struct HashProgress {
  std::uint64_t files_done = 0;
  std::uint64_t files_total = 0;  // found until now
  std::uint64_t bytes_done = 0;
  std::uint64_t bytes_total = 0;
  std::uint64_t files_from_cache = 0;  // of files_done
  bool walking = false;                // the totals still grow
  std::string current;                 // a file that is being read, relative to the root
};

struct HashOptions {
  int threads = 2;
  // Look at the contents: hints of what a file is, and (eager) the digests that explain a difference later ("lf",
  // "no-bom", "sorted-lines") of small text files, for evidence that leaves the machine, where nobody can ask again.
  bool look_at_content = true;
  bool eager_alternates = false;
  // Which files are hashed, by their path; the others are listed without a digest, but for those that have several
  // names. Empty: all.
  std::function<bool(absl::string_view path)> wanted;
  // Which are read now, whatever the cache knows. Empty: none.
  std::function<bool(absl::string_view path)> read_now;
  DigestCache* cache = nullptr;  // nullptr: every file is read
  bool past_cache = false;       // read the medium, not what memory holds of it
  // Called on the calling thread, a few times a second and once at the end.
  std::function<void(const HashProgress&)> progress;
};

// An error: the root itself cannot be looked at, or the work was stopped (Cancelled). What cannot be read below is
// said in the table. A file that changes while it is read is read once more; when it changes again it has no digest and
// says so. One that is done carries the digest of what stood between two equal looks at its size and times.
absl::StatusOr<FileTable> HashFolder(FileSystem& fs, absl::string_view root, const TreeOptions& tree,
                                     const HashOptions& options);

// The names and sizes alone.
absl::StatusOr<FileTable> WalkFolder(FileSystem& fs, absl::string_view root, const TreeOptions& tree);

// The table as evidence, sorted by path bytes.
v1::FileList ToFileList(const FileTable& table);

// The table as evidence without its files.
v1::FileList WithoutFiles(const FileTable& table);

// Where the digests come from, of the list as a whole in place of each file: equal data gives equal entries, whenever
// each file was read.
v1::DigestSources SumOfDigests(const FileTable& table, bool past_cache);

// The chaining states of large files that were read now. Above `bytes_max` every second one is left out, and again.
void AddStates(const FileTable& table, std::size_t bytes_max, v1::FileList& list);

// One row of it.
v1::FileEntry ToFileEntry(const FileTable& table, std::uint32_t row, const std::string& path);

// Both in one.
absl::StatusOr<v1::FileList> HashDataset(FileSystem& fs, absl::string_view root, const TreeOptions& tree,
                                         const HashOptions& options);

}  // namespace paritect

#endif  // PARITECT_AGENT_DATASETS_HASH_H_
