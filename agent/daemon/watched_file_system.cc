#include "agent/daemon/watched_file_system.h"

#include "common/status_macros.h"

namespace paritect {
namespace {

absl::Status StoppedStatus() {
  return absl::CancelledError("the task was stopped");
}

}  // namespace

class WatchedFileSystem::WatchedFile : public File {
 public:
  WatchedFile(std::unique_ptr<File> base, WatchedFileSystem& owner) : base_(std::move(base)), owner_(owner) {
    ++owner_.files_;
  }
  absl::StatusOr<std::size_t> Read(absl::Span<char> buffer) override {
    PARITECT_RETURN_IF_ERROR(owner_.Stopped());
    return Counted(base_->Read(buffer));
  }
  absl::StatusOr<std::size_t> ReadAt(std::uint64_t offset, absl::Span<char> buffer) override {
    PARITECT_RETURN_IF_ERROR(owner_.Stopped());
    return Counted(base_->ReadAt(offset, buffer));
  }
  absl::StatusOr<std::uint64_t> SkipHole() override { return base_->SkipHole(); }
  absl::StatusOr<FileInfo> Info() override { return base_->Info(); }
  absl::StatusOr<FileInfo> InfoAtOpen() override { return base_->InfoAtOpen(); }
  int Descriptor() const override { return base_->Descriptor(); }
  absl::Status Charge(std::uint64_t bytes) override {
    PARITECT_RETURN_IF_ERROR(owner_.Stopped());
    return base_->Charge(bytes);
  }

 private:
  absl::StatusOr<std::size_t> Counted(absl::StatusOr<std::size_t> read) {
    if (read.ok()) owner_.bytes_ += static_cast<std::int64_t>(*read);
    return read;
  }

  const std::unique_ptr<File> base_;
  WatchedFileSystem& owner_;
};

class WatchedFileSystem::WatchedFolder : public Folder {
 public:
  WatchedFolder(std::unique_ptr<Folder> base, std::string path, WatchedFileSystem& owner)
      : base_(std::move(base)), path_(std::move(path)), owner_(owner) {}

  absl::Status List(absl::FunctionRef<void(const DirectoryEntry&)> entry) override {
    PARITECT_RETURN_IF_ERROR(owner_.Look(path_));
    return base_->List(entry);
  }
  absl::StatusOr<FileInfo> Stat(const std::string& name) override {
    PARITECT_RETURN_IF_ERROR(owner_.Stopped());
    return base_->Stat(name);
  }
  absl::StatusOr<FileInfo> LStat(const std::string& name) override {
    PARITECT_RETURN_IF_ERROR(owner_.Stopped());
    return base_->LStat(name);
  }
  absl::StatusOr<std::string> ReadLink(const std::string& name) override {
    PARITECT_RETURN_IF_ERROR(owner_.Stopped());
    return base_->ReadLink(name);
  }
  absl::StatusOr<std::unique_ptr<File>> Open(const std::string& name) override {
    PARITECT_RETURN_IF_ERROR(owner_.Look(JoinPath(path_, name)));
    PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<File> file, base_->Open(name));
    return std::make_unique<WatchedFile>(std::move(file), owner_);
  }
  absl::StatusOr<std::unique_ptr<Folder>> OpenFolder(const std::string& name) override {
    std::string path = JoinPath(path_, name);
    PARITECT_RETURN_IF_ERROR(owner_.Look(path));
    PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<Folder> folder, base_->OpenFolder(name));
    return std::make_unique<WatchedFolder>(std::move(folder), std::move(path), owner_);
  }

 private:
  const std::unique_ptr<Folder> base_;
  const std::string path_;
  WatchedFileSystem& owner_;
};

absl::Status WatchedFileSystem::Stopped() {
  return cancellation_.stopped() ? StoppedStatus() : absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Folder>> WatchedFileSystem::OpenFolder(absl::string_view path) {
  PARITECT_RETURN_IF_ERROR(Look(path));
  PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<Folder> folder, base_.OpenFolder(path));
  return std::make_unique<WatchedFolder>(std::move(folder), std::string(path), *this);
}

absl::Status WatchedFileSystem::Look(absl::string_view path) {
  if (cancellation_.stopped()) return StoppedStatus();
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
  return std::make_unique<WatchedFile>(std::move(file), *this);
}

absl::StatusOr<FileInfo> WatchedFileSystem::Stat(absl::string_view path) {
  if (cancellation_.stopped()) return StoppedStatus();
  return base_.Stat(path);
}

absl::StatusOr<FileInfo> WatchedFileSystem::LStat(absl::string_view path) {
  if (cancellation_.stopped()) return StoppedStatus();
  return base_.LStat(path);
}

absl::Status WatchedFileSystem::List(absl::string_view path, absl::FunctionRef<void(const DirectoryEntry&)> entry) {
  PARITECT_RETURN_IF_ERROR(Look(path));
  return base_.List(path, entry);
}

absl::StatusOr<std::string> WatchedFileSystem::ReadLink(absl::string_view path) {
  if (cancellation_.stopped()) return StoppedStatus();
  return base_.ReadLink(path);
}

}  // namespace paritect
