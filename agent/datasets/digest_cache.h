// Digests of files that have not changed since they were hashed: a second audit reads only what is new.
//
// A hit says: a file of this number, size and times had this digest when it was read. It says nothing of a medium
// that damages its content without the file system's knowledge; who reports a digest says therefore whether it was
// computed now or comes from here, and since when.
//
// The key is what git, borg and restic use: disk, inode number, size, mtime and ctime in nanoseconds, so that a
// renamed file is found again. Racy-clean rule: a file whose times are younger than a margin before its reading
// could be changed again within one clock tick; it is not kept and is read again next time. Files on disks whose
// numbers are not stable (FUSE, CIFS, ...) are never kept.
//
// On disk: DIR/digests, sorted and mapped, and a journal per running program, appended to as files are done: a
// program that is killed loses at most the last second, and the next one takes its journal over. Nothing read from
// there is trusted unless its check fits; a damaged cache is said and left out. Format: digest_cache.cc.
#ifndef PARITECT_AGENT_DATASETS_DIGEST_CACHE_H_
#define PARITECT_AGENT_DATASETS_DIGEST_CACHE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "agent/datasets/cache_record.h"
#include "agent/datasets/mapped_window.h"
#include "common/file_system.h"
#include "common/md5/md5_lanes.h"

namespace paritect {

// How closely a content was looked at that had nothing to remark (file_hints.h, alternates.h): who wants
// to know more than was looked for reads it again.
enum class LookedAt : std::uint8_t { kNot, kHints, kHintsAndAlternates };

struct CachedDigest {
  unsigned char md5[kMd5Bytes];
  std::int64_t hashed_at_unix_s = 0;
  LookedAt looked = LookedAt::kNot;
};

class DigestCache {
 public:
  struct Options {
    std::string folder;                      // made where it is missing
    bool read = true;                        // false: digests of earlier runs are not used; what is computed is kept
    bool resume = true;                      // what a run that was stopped had done is used even so
    std::uint64_t records_max = 16'000'000;  // of 64 bytes; the oldest are dropped
  };

  // Never fails: without a usable folder nothing is found and nothing kept, and warnings() says so.
  static std::unique_ptr<DigestCache> Open(const Options& options);
  ~DigestCache();
  DigestCache(const DigestCache&) = delete;
  DigestCache& operator=(const DigestCache&) = delete;

  // All thread-safe. `disk` is that of the file.
  std::optional<CachedDigest> Find(const DiskInfo& disk, const FileInfo& file) const;
  // `read_began_ns`: the clock before the file was opened.
  void Add(const DiskInfo& disk, const FileInfo& file, const unsigned char* md5, LookedAt looked,
           std::int64_t read_began_ns);
  // The states of a large file's beginning, in order; those given before are not written again.
  void AddStates(const DiskInfo& disk, const FileInfo& file, const std::vector<Md5State>& states,
                 std::int64_t read_began_ns);
  // What a stopped run left of it; empty: begin at the beginning.
  std::vector<Md5State> FindStates(const DiskInfo& disk, const FileInfo& file) const;

  // Puts what was added in order for the next run. Called by the destructor too.
  void Close();

  // English, one line each: a damaged cache, a full disk.
  std::vector<std::string> warnings() const;

 private:
  explicit DigestCache(const Options& options) : options_(options) {}
  void OpenFiles();
  void MapSorted();
  void TakeOverJournals();
  bool ReadJournal(int fd, std::vector<CacheRecord>* records);
  void OpenJournal();
  bool WriteSorted(std::vector<CacheRecord> added);
  void Append(const CacheRecord& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Flush() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Warn(std::string text) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  const CacheRecord* sorted() const;

  const Options options_;
  MappedWindow window_;
  std::size_t count_ = 0;          // records in the mapped file
  std::vector<CacheRecord> left_;  // by a stopped run, sorted; where `digests` could not be written
  int journal_ = -1;
  std::string journal_path_;
  bool merged_ = false;
  mutable absl::Mutex mutex_;
  std::string pending_ ABSL_GUARDED_BY(mutex_);  // not written yet
  std::int64_t flushed_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t added_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, std::map<std::uint32_t, Md5State>> states_ ABSL_GUARDED_BY(mutex_);  // by key bytes
  mutable std::vector<std::string> warnings_ ABSL_GUARDED_BY(mutex_);
};

// Where a user's programs keep such things: $XDG_CACHE_HOME/paritect, else $HOME/.cache/paritect; "" without both.
std::string UserCacheFolder(absl::string_view xdg_cache_home, absl::string_view home);

}  // namespace paritect

#endif  // PARITECT_AGENT_DATASETS_DIGEST_CACHE_H_
