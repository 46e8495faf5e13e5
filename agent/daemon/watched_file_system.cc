#include "agent/daemon/watched_file_system.h"

#include "common/status_macros.h"

namespace paritect {
namespace {

absl::Status Stopped() {
  return absl::CancelledError("the task was stopped");
}

class WatchedFile : public File {
 public:
  WatchedFile(std::unique_ptr<File> base, Cancellation& cancellation)
      : base_(std::move(base)), cancellation_(cancellation) {}
  absl::StatusOr<std::size_t> Read(absl::Span<char> buffer) override {
    if (cancellation_.stopped()) return Stopped();
    return base_->Read(buffer);
  }
  absl::StatusOr<FileInfo> Info() override { return base_->Info(); }

 private:
  const std::unique_ptr<File> base_;
  Cancellation& cancellation_;
};

}  // namespace

absl::Status WatchedFileSystem::Look(absl::string_view path) {
  if (cancellation_.stopped()) return Stopped();
  absl::MutexLock lock(&mutex_);
  current_ = std::string(path);
  return absl::OkStatus();
}

std::string WatchedFileSystem::current() {
  absl::MutexLock lock(&mutex_);
  return current_;
}

absl::StatusOr<std::unique_ptr<File>> WatchedFileSystem::Open(absl::string_view path) {
  PARITECT_RETURN_IF_ERROR(Look(path));
  PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<File> file, base_.Open(path));
  return std::make_unique<WatchedFile>(std::move(file), cancellation_);
}

absl::StatusOr<FileInfo> WatchedFileSystem::Stat(absl::string_view path) {
  if (cancellation_.stopped()) return Stopped();
  return base_.Stat(path);
}

absl::StatusOr<FileInfo> WatchedFileSystem::LStat(absl::string_view path) {
  if (cancellation_.stopped()) return Stopped();
  return base_.LStat(path);
}

absl::Status WatchedFileSystem::List(absl::string_view path, absl::FunctionRef<void(const DirectoryEntry&)> entry) {
  PARITECT_RETURN_IF_ERROR(Look(path));
  return base_.List(path, entry);
}

absl::StatusOr<std::string> WatchedFileSystem::ReadLink(absl::string_view path) {
  if (cancellation_.stopped()) return Stopped();
  return base_.ReadLink(path);
}

}  // namespace paritect
