// The agent is never in the way of training: lowest priorities, and a limit on the bytes it reads a second.
#ifndef PARITECT_AGENT_HARMLESS_H_
#define PARITECT_AGENT_HARMLESS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/file_system.h"

namespace paritect {

// Nice 19 and the idle I/O class for the calling thread and every thread and process it starts later: call it first
// in main. No privilege is needed. Gives what the kernel refused, for the log; refusal harms nothing else.
// `nice`: 0..19.
std::vector<std::string> BecomeHarmless(int nice = 19);

// "200M" as bytes a second. K, M, G, T count by 1024 (also KiB ...), KB, MB ... by 1000, as rsync's --bwlimit has it;
// without a letter bytes. Any case; "1.5M" is allowed. "0", "none", "unlimited": 0, no limit.
// InvalidArgument for anything else, and for what is below 1 KiB a second (a slip of the pen).
absl::StatusOr<std::uint64_t> ParseBandwidth(absl::string_view text);

// A token bucket: after a pause at most a quarter of a second's bytes are free at once, over longer times the rate
// holds. Several threads share one. Not fair among them, but none waits more than for its own bytes and those
// taken before.
class BandwidthLimit {
 public:
  // Time enters here: tests give their own.
  struct Clock {
    absl::AnyInvocable<absl::Time()> now;
    absl::AnyInvocable<void(absl::Duration)> sleep;
  };
  // 0: no limit.
  explicit BandwidthLimit(std::uint64_t bytes_per_second);
  BandwidthLimit(std::uint64_t bytes_per_second, Clock clock);

  // Returns when `bytes` may be read. More than the bucket holds is taken on credit and waited for.
  void Take(std::uint64_t bytes);

  // What one read should ask for at most, so that no single read empties the bucket for long.
  std::size_t ReadBytesMax() const;
  std::uint64_t bytes_per_second() const { return rate_; }

 private:
  const std::uint64_t rate_;
  absl::Mutex mutex_;
  Clock clock_;  // called with mutex_ held (now) and without (sleep)
  double free_ ABSL_GUARDED_BY(mutex_);
  absl::Time filled_ ABSL_GUARDED_BY(mutex_);
};

// Every byte read through it counts against the limit; names and attributes are free. Hashing engine, log and
// settings readers are limited by being given this. Both must outlive it. Thread-safe where `base` is.
class LimitedFileSystem : public FileSystem {
 public:
  LimitedFileSystem(FileSystem& base, BandwidthLimit& limit) : base_(base), limit_(limit) {}

  absl::StatusOr<std::unique_ptr<File>> Open(absl::string_view path) override;
  absl::StatusOr<FileInfo> Stat(absl::string_view path) override { return base_.Stat(path); }
  absl::StatusOr<FileInfo> LStat(absl::string_view path) override { return base_.LStat(path); }
  absl::Status List(absl::string_view path, absl::FunctionRef<void(const DirectoryEntry&)> entry) override {
    return base_.List(path, entry);
  }
  absl::StatusOr<std::string> ReadLink(absl::string_view path) override { return base_.ReadLink(path); }
  absl::StatusOr<std::unique_ptr<Folder>> OpenFolder(absl::string_view path) override;
  DiskInfo Disk(absl::string_view path) override { return base_.Disk(path); }

 private:
  FileSystem& base_;
  BandwidthLimit& limit_;
};

}  // namespace paritect

#endif  // PARITECT_AGENT_HARMLESS_H_
