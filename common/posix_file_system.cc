// The file system of this machine.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/file_system.h"
#include "common/posix_file.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

class PosixFileSystemImpl : public FileSystem {
 public:
  absl::StatusOr<std::unique_ptr<File>> Open(absl::string_view path) override {
    const std::string name(path);
    // O_NONBLOCK: a FIFO that appears between stat and open must not block us.
    const int fd = open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) return ErrnoStatus(errno, "open", path);
    return RegularFileOf(fd, path);
  }

  absl::StatusOr<FileInfo> Stat(absl::string_view path) override {
    struct stat st;
    if (stat(std::string(path).c_str(), &st) != 0) return ErrnoStatus(errno, "stat", path);
    return FileInfoOf(st);
  }

  absl::StatusOr<FileInfo> LStat(absl::string_view path) override {
    struct stat st;
    if (lstat(std::string(path).c_str(), &st) != 0) return ErrnoStatus(errno, "stat", path);
    return FileInfoOf(st);
  }

  absl::Status List(absl::string_view path, absl::FunctionRef<void(const DirectoryEntry&)> entry) override {
    const int fd = open(std::string(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return ErrnoStatus(errno, "list", path);
    return ListDescriptor(fd, path, entry);
  }

  absl::StatusOr<std::string> ReadLink(absl::string_view path) override {
    std::string target(4096, '\0');
    const ssize_t n = readlink(std::string(path).c_str(), target.data(), target.size());
    if (n < 0) return ErrnoStatus(errno, "read link", path);
    target.resize(static_cast<std::size_t>(n));
    return target;
  }

  absl::StatusOr<std::unique_ptr<Folder>> OpenFolder(absl::string_view path) override {
    const int fd = open(std::string(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return ErrnoStatus(errno, "list", path);
    return FolderOf(fd, path, nullptr);
  }

  DiskInfo Disk(absl::string_view path) override {
    const int fd = open(std::string(path).c_str(), O_PATH | O_CLOEXEC);
    if (fd < 0) return {};
    const DiskInfo disk = DiskOf(fd);
    close(fd);
    return disk;
  }
};

}  // namespace

FileSystem& PosixFileSystem() {
  static PosixFileSystemImpl* const instance = new PosixFileSystemImpl();
  return *instance;
}

}  // namespace paritect
