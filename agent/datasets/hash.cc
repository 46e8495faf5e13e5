#include "agent/datasets/hash.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/datasets/file_queue.h"
#include "agent/datasets/lane_hasher.h"
#include "agent/datasets/walker.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/datasets/alternates.h"
#include "formats/datasets/file_hints.h"

namespace paritect {
namespace {

constexpr std::size_t kEagerBytesMax = 64 << 10;
constexpr absl::Duration kProgressInterval = absl::Milliseconds(250);
constexpr absl::Duration kIdleWait = absl::Milliseconds(20);
constexpr int kFilesAtOnceMin = 8;             // fewer streams are no faster on two threads than on one
constexpr std::size_t kWaitingMax = 64 << 10;  // one thread alone walks so far ahead of the hashing

v1::Problem MakeProblem(absl::string_view id, absl::string_view path, absl::string_view why) {
  v1::Problem problem;
  problem.set_id(std::string(id));
  (*problem.mutable_args())["source"] = DisplayBytes(path);
  if (!why.empty()) (*problem.mutable_args())["why"] = DisplayBytes(why);
  return problem;
}

// As many open files as a process may have, shared among the threads; each may open as many ahead again.
int FilesAtOnceMax(int threads) {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
  const rlim_t others = 192;  // open folders and whatever else the program has
  const rlim_t files = limit.rlim_cur > others ? (limit.rlim_cur - others) / 2 : 1;
  return static_cast<int>(std::clamp<rlim_t>(files / static_cast<rlim_t>(threads), 1, kMd5LanesMax));
}

// One run: workers that walk and hash, whatever there is to do.
class HashRun : public HashWork {
 public:
  HashRun(FileSystem& fs, absl::string_view root, const TreeOptions& tree, const HashOptions& options)
      : fs_(fs),
        root_(root),
        options_(options),
        disk_(fs.Disk(root)),
        queue_(table_),
        walker_(fs, root, tree, mutex_, table_, [this](std::uint32_t row, const FileInfo& info) { Found(row, info); }) {
  }

  absl::StatusOr<FileTable> Run() {
    PARITECT_RETURN_IF_ERROR(walker_.Start());
    // A spinning disk is read by one head.
    threads_ = disk_.rotational ? 1 : std::max(1, options_.threads);
    {
      const absl::MutexLock lock(&ended_mutex_);
      running_ = threads_;
    }
    files_at_once_max_ = FilesAtOnceMax(threads_);
    std::vector<std::thread> threads;
    for (int i = 0; i < threads_; ++i) threads.emplace_back([this, i] { Work(i == 0); });
    while (!WaitForEnd()) {
      const absl::MutexLock lock(&mutex_);
      Report();
    }
    for (std::thread& thread : threads) thread.join();
    walker_.MarkUnseenFolders();
    const absl::MutexLock lock(&mutex_);
    Report();
    if (!stopped_.ok()) return stopped_;
    return std::move(table_);
  }

  std::optional<std::uint32_t> Next() override {
    for (;;) {
      {
        const absl::MutexLock lock(&mutex_);
        if (std::optional<std::uint32_t> at = queue_.Pop()) {
          current_ = *at;
          return at;
        }
        if (threads_ > 1 || !walker_.has_open()) return std::nullopt;
      }
      walker_.ReadOne();
    }
  }

  absl::StatusOr<std::unique_ptr<File>> Open(std::uint32_t id) override { return walker_.OpenFile(id); }

  HashStart StartOf(std::uint32_t, const FileInfo& info) override {
    if (options_.cache == nullptr) return {};
    return {options_.cache->FindStates(DiskOf(info), info)};
  }

  void Reached(std::uint32_t, const FileInfo& info, const std::vector<Md5State>& states,
               std::int64_t read_began_ns) override {
    if (options_.cache != nullptr) options_.cache->AddStates(DiskOf(info), info, states, read_began_ns);
  }

  void DoneBytes(std::uint64_t bytes) override { bytes_done_ += bytes; }

  int FilesAtOnce(bool cold) override {
    if (disk_.rotational && cold) return 1;
    const int left = static_cast<int>(std::min<std::int64_t>(files_left_, 1 << 20));
    return std::min(files_at_once_max_, std::max(kFilesAtOnceMin, (left + threads_ - 1) / threads_));
  }

  void Done(std::uint32_t id, HashedFile file) override {
    std::optional<v1::FileEntry> content;
    if (file.status.ok() && !file.changed) content = LookAtContent(id, file);
    if (file.status.ok() && !file.changed && options_.cache != nullptr) {
      LookedAt looked = LookedAt::kNot;
      if (options_.look_at_content && !content) {
        const bool all = options_.eager_alternates || file.size_bytes > kEagerBytesMax;
        looked = all ? LookedAt::kHintsAndAlternates : LookedAt::kHints;
      }
      options_.cache->Add(DiskOf(file.info), file.info, file.md5, looked, file.began_ns);
    }
    const absl::MutexLock lock(&mutex_);
    ++files_done_;
    --files_left_;
    FileRow& row = table_.row(id);
    if (absl::IsCancelled(file.status)) {
      Stop(file.status);
    } else if (!file.status.ok()) {
      const bool gone = absl::IsNotFound(file.status);
      SetError(id, MakeProblem(gone ? "file_vanished" : "source_unreadable", table_.PathOf(id), file.status.message()));
    } else if (file.changed) {
      SetError(id, MakeProblem("file_changes", table_.PathOf(id), "")).changed = true;
    } else {
      row.size_bytes = file.size_bytes;
      std::memcpy(row.md5, file.md5, kMd5Bytes);
      row.flags |= FileRow::kHashed | (file.past_cache ? FileRow::kPastCache : 0);
      if (!file.states.empty()) table_.states[id] = std::move(file.states);
      if (content) table_.SetRemarks(id, *std::move(content));
    }
  }

 private:
  void Work(bool first) {
    const BlockReaderOptions reader = {.map = !disk_.network,
                                       .past_cache = options_.past_cache,
                                       .settle = options_.cache != nullptr,
                                       .keep_ends = options_.look_at_content};
    LaneHasher hasher(*this, reader);
    for (;;) {
      while (WantsToWalk(first) && walker_.ReadOne()) {
      }
      hasher.Run();
      const absl::MutexLock lock(&mutex_);
      const auto more = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
        return queue_.size() > 0 || walker_.has_open() || walker_.done();
      };
      while (!more()) mutex_.AwaitWithTimeout(absl::Condition(&more), kIdleWait);
      if (queue_.size() > 0 || walker_.has_open()) continue;
      break;
    }
    const absl::MutexLock lock(&ended_mutex_);
    --running_;
  }

  // Whether all threads have ended within the time between two reports.
  bool WaitForEnd() {
    const absl::MutexLock lock(&ended_mutex_);
    const auto ended = [this]() ABSL_SHARED_LOCKS_REQUIRED(ended_mutex_) { return running_ == 0; };
    return ended_mutex_.AwaitWithTimeout(absl::Condition(&ended), kProgressInterval);
  }

  // The first thread goes ahead of the others; alone it walks only so far, except where the order on the disk is
  // wanted, which only the whole list gives.
  bool WantsToWalk(bool first) {
    const absl::MutexLock lock(&mutex_);
    if (disk_.rotational) {
      if (!walker_.has_open()) queue_.SortByInode();
      return walker_.has_open();
    }
    if (!first) return queue_.size() == 0;
    return threads_ > 1 || queue_.size() < kWaitingMax;
  }

  // A regular file was found; called with mutex_ held.
  void Found(std::uint32_t at, const FileInfo& info) {
    FileRow& row = table_.row(at);
    if ((info.links > 1 || row.is(FileRow::kFollowed)) && info.inode != 0) {
      const auto [known, added] = shared_.emplace(std::make_pair(info.device, info.inode), at);
      if (!added) {
        table_.MarkCopy(at, known->second);
        return;
      }
    }
    const bool one_name = info.links <= 1 && !row.is(FileRow::kFollowed);
    if (options_.wanted && one_name && !options_.wanted(table_.PathOf(at))) return;
    ++files_total_;
    bytes_total_ += info.size_bytes;
    const bool read_now = options_.read_now && options_.read_now(table_.PathOf(at));
    if (options_.cache != nullptr && !read_now && FindInCache(row, info)) return;
    ++files_left_;
    queue_.Push(at, info.inode);
  }

  bool FindInCache(FileRow& row, const FileInfo& info) {
    if (info.size_bytes == 0) return false;
    const auto found = options_.cache->Find(DiskOfLocked(info), info);
    LookedAt wanted = LookedAt::kNot;
    if (options_.look_at_content) {
      wanted = options_.eager_alternates ? LookedAt::kHintsAndAlternates : LookedAt::kHints;
    }
    if (!found || found->looked < wanted) return false;
    std::memcpy(row.md5, found->md5, kMd5Bytes);
    row.flags |= FileRow::kHashed | FileRow::kFromCache;
    row.hashed_at_unix_s = static_cast<std::uint32_t>(found->hashed_at_unix_s);
    ++files_done_;
    ++files_from_cache_;
    bytes_done_ += info.size_bytes;
    return true;
  }

  // nullopt: nothing to remark.
  std::optional<v1::FileEntry> LookAtContent(std::uint32_t id, const HashedFile& file) {
    if (!options_.look_at_content) return std::nullopt;
    v1::FileEntry content;
    {
      const absl::MutexLock lock(&mutex_);
      content.set_path(table_.PathOf(id));
    }
    AddContentHints(file.head, file.tail, file.size_bytes, content);
    if (options_.eager_alternates && file.size_bytes <= kEagerBytesMax) AddTextAlternates(file.head, content);
    const bool plain = content.hints().empty() && content.alternates().empty() && content.lfs_oid_sha256().empty();
    if (plain) return std::nullopt;
    content.clear_path();
    return content;
  }

  FileExtra& SetError(std::uint32_t id, v1::Problem problem) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    table_.row(id).flags |= FileRow::kNotRead;
    FileExtra& extra = table_.extras[id];
    extra.error = std::move(problem);
    extra.has_error = true;
    return extra;
  }

  void Stop(const absl::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    stopped_ = why;
    queue_.Clear();
    walker_.Stop();
  }

  DiskInfo DiskOf(const FileInfo& info) {
    const absl::MutexLock lock(&mutex_);
    return DiskOfLocked(info);
  }
  // A tree may span several disks, but the root's is nearly always the one; of others nothing is kept.
  DiskInfo DiskOfLocked(const FileInfo& info) {
    if (root_device_ == 0) {
      const auto root = fs_.Stat(root_);
      root_device_ = root.ok() ? root->device : info.device;
    }
    return info.device == root_device_ ? disk_ : DiskInfo();
  }

  void Report() {
    if (!options_.progress) return;
    HashProgress now;
    now.files_done = files_done_;
    now.files_total = files_total_;
    now.bytes_done = std::min<std::uint64_t>(bytes_done_, bytes_total_);
    now.bytes_total = bytes_total_;
    now.files_from_cache = files_from_cache_;
    now.walking = !walker_.done();
    if (current_ < table_.size()) now.current = table_.PathOf(current_);
    options_.progress(now);
  }

  FileSystem& fs_;
  const std::string root_;
  const HashOptions& options_;
  const DiskInfo disk_;
  // A lock of its own: who waits at the other is asked at each of its releases, of which there are several a file.
  absl::Mutex ended_mutex_;
  int running_ ABSL_GUARDED_BY(ended_mutex_) = 0;
  absl::Mutex mutex_;  // guards all below but the atomics
  FileTable table_;
  FileQueue queue_;
  Walker walker_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> shared_;  // by device and inode
  std::uint64_t root_device_ = 0;
  int threads_ = 1;
  int files_at_once_max_ = 1;
  std::uint64_t files_total_ = 0;
  std::uint64_t files_done_ = 0;
  std::uint64_t files_from_cache_ = 0;
  std::uint64_t bytes_total_ = 0;
  std::uint32_t current_ = UINT32_MAX;
  absl::Status stopped_;
  std::atomic<std::uint64_t> bytes_done_ = 0;
  std::atomic<std::int64_t> files_left_ = 0;  // found, not done
};

}  // namespace

absl::StatusOr<FileTable> HashFolder(FileSystem& fs, absl::string_view root, const TreeOptions& tree,
                                     const HashOptions& options) {
  return HashRun(fs, root, tree, options).Run();
}

absl::StatusOr<FileTable> WalkFolder(FileSystem& fs, absl::string_view root, const TreeOptions& tree) {
  absl::Mutex mutex;
  FileTable table;
  Walker walker(fs, root, tree, mutex, table, [](std::uint32_t, const FileInfo&) {});
  PARITECT_RETURN_IF_ERROR(walker.Start());
  while (walker.ReadOne()) {
  }
  walker.MarkUnseenFolders();
  return table;
}

}  // namespace paritect
