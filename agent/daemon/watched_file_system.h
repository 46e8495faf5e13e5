// A file system that can be told to stop, and that knows what is being read.
#ifndef PARITECT_AGENT_DAEMON_WATCHED_FILE_SYSTEM_H_
#define PARITECT_AGENT_DAEMON_WATCHED_FILE_SYSTEM_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agent/daemon/cancellation.h"
#include "common/file_system.h"

namespace paritect {

// Everything through it fails with Cancelled once the cancellation is stopped: so any collector ends soon, without
// knowing of it. Both must outlive it. Thread-safe where `base` is.
class WatchedFileSystem : public FileSystem {
 public:
  WatchedFileSystem(FileSystem& base, Cancellation& cancellation) : base_(base), cancellation_(cancellation) {}

  absl::StatusOr<std::unique_ptr<File>> Open(absl::string_view path) override;
  absl::StatusOr<FileInfo> Stat(absl::string_view path) override;
  absl::StatusOr<FileInfo> LStat(absl::string_view path) override;
  absl::Status List(absl::string_view path, absl::FunctionRef<void(const DirectoryEntry&)> entry) override;
  absl::StatusOr<std::string> ReadLink(absl::string_view path) override;
  absl::StatusOr<std::unique_ptr<Folder>> OpenFolder(absl::string_view path) override;
  DiskInfo Disk(absl::string_view path) override { return base_.Disk(path); }

  std::string current();  // the path opened or listed last
  // What was opened and read through it so far.
  std::int64_t files_opened() const { return files_; }
  std::int64_t bytes_read() const { return bytes_; }

 private:
  class WatchedFile;
  class WatchedFolder;
  absl::Status Look(absl::string_view path);
  absl::Status Stopped();

  FileSystem& base_;
  Cancellation& cancellation_;
  std::atomic<std::int64_t> files_ = 0;
  std::atomic<std::int64_t> bytes_ = 0;
  absl::Mutex mutex_;
  std::string current_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace paritect

#endif  // PARITECT_AGENT_DAEMON_WATCHED_FILE_SYSTEM_H_
