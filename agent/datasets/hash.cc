#include "agent/datasets/hash.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "agent/datasets/names.h"
#include "common/digest.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/datasets/alternates.h"
#include "formats/datasets/file_hints.h"

namespace paritect {
namespace {

constexpr std::size_t kReadBytes = 256 << 10;
constexpr std::size_t kEagerBytesMax = 64 << 10;
constexpr auto kProgressInterval = std::chrono::milliseconds(250);

struct ReadResult {
  std::string md5;
  std::uint64_t size_bytes = 0;
  std::string head;  // up to kHintHeadBytes
  std::string tail;  // up to kHintTailBytes
  bool changed = false;
};

bool SameFile(const FileInfo& a, const FileInfo& b) {
  return a.size_bytes == b.size_bytes && a.mtime_ns == b.mtime_ns && a.ctime_ns == b.ctime_ns;
}

void KeepTail(absl::string_view chunk, std::string& tail) {
  if (chunk.size() >= kHintTailBytes) {
    tail.assign(chunk.data() + chunk.size() - kHintTailBytes, kHintTailBytes);
    return;
  }
  tail.append(chunk.data(), chunk.size());
  if (tail.size() > kHintTailBytes) tail.erase(0, tail.size() - kHintTailBytes);
}

absl::StatusOr<ReadResult> ReadOnce(FileSystem& fs, const std::string& path, std::vector<char>& buffer,
                                    std::atomic<std::uint64_t>& bytes_done) {
  PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<File> file, fs.Open(path));
  PARITECT_ASSIGN_OR_RETURN(FileInfo before, file->Info());
  Digest digest(DigestKind::kMd5);
  if (!digest.available()) return absl::FailedPreconditionError("this OpenSSL refuses MD5 (FIPS mode?)");
  ReadResult result;
  for (;;) {
    PARITECT_ASSIGN_OR_RETURN(std::size_t n, file->Read(absl::MakeSpan(buffer)));
    if (n == 0) break;
    const absl::string_view chunk(buffer.data(), n);
    digest.Update(chunk);
    result.size_bytes += n;
    bytes_done += n;
    // A file that yields more than its size is being written to; it may never end.
    if (result.size_bytes > before.size_bytes + kReadBytes) break;
    if (result.head.size() < kHintHeadBytes) {
      result.head.append(chunk.data(), std::min(n, kHintHeadBytes - result.head.size()));
    }
    KeepTail(chunk, result.tail);
  }
  PARITECT_ASSIGN_OR_RETURN(FileInfo after, file->Info());
  result.changed = !SameFile(before, after) || result.size_bytes != before.size_bytes;
  result.md5 = digest.Finish();
  return result;
}

void SetError(absl::string_view id, absl::string_view path, absl::string_view why, v1::FileEntry& entry) {
  v1::Problem& problem = *entry.mutable_error();
  problem.set_id(std::string(id));
  (*problem.mutable_args())["source"] = DisplayBytes(path);
  if (!why.empty()) (*problem.mutable_args())["why"] = DisplayBytes(why);
}

class Engine {
 public:
  Engine(FileSystem& fs, absl::string_view root, const HashOptions& options, Tree& tree)
      : fs_(fs), root_(root), options_(options), tree_(tree) {}

  void Run() {
    MakeJobs();
    const int threads = std::clamp(options_.threads, 1, static_cast<int>(std::max<std::size_t>(1, jobs_.size())));
    if (threads == 1) {
      HashJobs();
    } else {
      RunThreads(threads);
    }
    Report();
    for (const auto& [copy, original] : hard_links_) CopyResult(original, copy);
  }

 private:
  // Regular files, each content once, largest first.
  void MakeJobs() {
    std::map<std::pair<std::uint64_t, std::uint64_t>, int> first;
    for (int i = 0; i < tree_.list.files_size(); ++i) {
      const v1::FileEntry& entry = tree_.list.files(i);
      if (entry.type() != v1::FILE_TYPE_REGULAR || entry.has_error()) continue;
      const FileInfo& info = tree_.infos[static_cast<std::size_t>(i)];
      const bool shared = info.links > 1 || !entry.link_target().empty();
      if (shared && info.inode != 0) {
        auto [it, added] = first.emplace(std::make_pair(info.device, info.inode), i);
        if (!added) {
          hard_links_.emplace_back(i, it->second);
          continue;
        }
      }
      jobs_.push_back(i);
      bytes_total_ += info.size_bytes;
    }
    std::stable_sort(jobs_.begin(), jobs_.end(), [this](int a, int b) {
      return tree_.infos[static_cast<std::size_t>(a)].size_bytes > tree_.infos[static_cast<std::size_t>(b)].size_bytes;
    });
  }

  void HashJobs() {
    std::vector<char> buffer(kReadBytes);
    for (;;) {
      const std::size_t at = next_job_.fetch_add(1);
      if (at >= jobs_.size()) return;
      HashOne(*tree_.list.mutable_files(jobs_[at]), buffer);
      ++files_done_;
      if (options_.threads == 1 && at % 1024 == 0) Report();
    }
  }

  void RunThreads(int count) {
    std::mutex mutex;
    std::condition_variable finished;
    int running = count;
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([&] {
        HashJobs();
        const std::lock_guard<std::mutex> lock(mutex);
        --running;
        finished.notify_one();
      });
    }
    {
      std::unique_lock<std::mutex> lock(mutex);
      while (running > 0) {
        finished.wait_for(lock, kProgressInterval);
        Report();
      }
    }
    for (std::thread& thread : threads) thread.join();
  }

  void HashOne(v1::FileEntry& entry, std::vector<char>& buffer) {
    const std::string path = PathOnDisk(root_, tree_.root_is_file, entry.path());
    auto result = ReadOnce(fs_, path, buffer, bytes_done_);
    if (result.ok() && result->changed) result = ReadOnce(fs_, path, buffer, bytes_done_);
    if (!result.ok()) {
      const bool gone = absl::IsNotFound(result.status());
      SetError(gone ? "file_vanished" : "source_unreadable", entry.path(), result.status().message(), entry);
      return;
    }
    if (result->changed) {
      SetError("file_changes", entry.path(), "", entry);
      entry.add_hints(v1::FILE_HINT_CHANGED_WHILE_READ);
      return;
    }
    entry.set_size_bytes(result->size_bytes);
    entry.set_md5(result->md5);
    AddContentHints(result->head, result->tail, result->size_bytes, entry);
    if (options_.eager_alternates && result->size_bytes <= kEagerBytesMax) {
      AddTextAlternates(result->head, entry);
    }
  }

  void CopyResult(int from, int to) {
    const v1::FileEntry& original = tree_.list.files(from);
    v1::FileEntry& copy = *tree_.list.mutable_files(to);
    const std::string path = copy.path();
    const std::string target = copy.link_target();
    copy = original;
    copy.set_path(path);
    copy.set_link_target(target);
    copy.clear_hints();
    copy.clear_readings();
    copy.clear_decoded_name();
    copy.clear_decoded_from();
    AddNameHints(path, copy);
    AddNameReadings(copy);
    for (int hint : original.hints()) {  // the content's hints hold for every name
      const bool of_name = hint == v1::FILE_HINT_OS_JUNK || hint == v1::FILE_HINT_UNFINISHED_TRANSFER;
      if (!of_name) copy.add_hints(static_cast<v1::FileHint>(hint));
    }
  }

  void Report() const {
    if (!options_.progress) return;
    options_.progress({files_done_.load(), jobs_.size(), bytes_done_.load(), bytes_total_});
  }

  FileSystem& fs_;
  const std::string root_;
  const HashOptions& options_;
  Tree& tree_;
  std::vector<int> jobs_;                        // indices of files
  std::vector<std::pair<int, int>> hard_links_;  // copy, original
  std::uint64_t bytes_total_ = 0;
  std::atomic<std::size_t> next_job_ = 0;
  std::atomic<std::uint64_t> files_done_ = 0;
  std::atomic<std::uint64_t> bytes_done_ = 0;
};

}  // namespace

void HashTree(FileSystem& fs, absl::string_view root, const HashOptions& options, Tree& tree) {
  Engine(fs, root, options, tree).Run();
}

}  // namespace paritect
