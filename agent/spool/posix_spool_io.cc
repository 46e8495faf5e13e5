#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "agent/spool/spool_io.h"
#include "common/errno_status.h"
#include "common/file_system.h"
#include "common/utf8.h"

namespace paritect {
namespace {

// The spool holds what nodes were seen to do: nobody else's business on a shared host.
constexpr mode_t kDirectoryMode = 0700;
constexpr mode_t kFileMode = 0600;

// What is wrong with the disk itself may pass.
absl::Status Failed(int error, absl::string_view call, absl::string_view path) {
  const absl::Status status = ErrnoStatus(error, call, path);
  return absl::IsInternal(status) ? absl::UnavailableError(status.message()) : status;
}

class PosixSpoolFile : public SpoolFile {
 public:
  PosixSpoolFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~PosixSpoolFile() override { close(fd_); }
  PosixSpoolFile(const PosixSpoolFile&) = delete;
  PosixSpoolFile& operator=(const PosixSpoolFile&) = delete;

  absl::StatusOr<std::size_t> ReadAt(std::uint64_t offset, absl::Span<char> buffer) override {
    std::size_t done = 0;
    while (done < buffer.size()) {
      const ssize_t got = pread(fd_, buffer.data() + done, buffer.size() - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return Failed(errno, "read", path_);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

  absl::Status WriteAt(std::uint64_t offset, absl::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t put = pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return Failed(errno, "write", path_);
      bytes.remove_prefix(static_cast<std::size_t>(put));
      offset += static_cast<std::uint64_t>(put);
    }
    return absl::OkStatus();
  }

  absl::Status Truncate(std::uint64_t size_bytes) override {
    return Done(ftruncate(fd_, static_cast<off_t>(size_bytes)), "truncate");
  }
  absl::Status Sync() override { return Done(fdatasync(fd_), "fdatasync"); }

  absl::StatusOr<std::uint64_t> Size() override {
    struct stat st = {};
    if (fstat(fd_, &st) != 0) return Failed(errno, "stat", path_);
    return static_cast<std::uint64_t>(st.st_size);
  }

 private:
  absl::Status Done(int result, absl::string_view call) const {
    return result == 0 ? absl::OkStatus() : Failed(errno, call, path_);
  }

  const int fd_;
  const std::string path_;
};

class PosixSpoolLock : public SpoolLock {
 public:
  explicit PosixSpoolLock(int fd) : fd_(fd) {}
  ~PosixSpoolLock() override { close(fd_); }  // releases the flock
  PosixSpoolLock(const PosixSpoolLock&) = delete;
  PosixSpoolLock& operator=(const PosixSpoolLock&) = delete;

 private:
  const int fd_;
};

// "4711" of a lock file, or "unknown".
std::string HolderOf(int fd) {
  char text[24] = {};
  const ssize_t got = pread(fd, text, sizeof(text) - 1, 0);
  std::string pid;
  for (ssize_t i = 0; i < got && text[i] >= '0' && text[i] <= '9'; ++i) pid += text[i];
  return pid.empty() ? "unknown" : pid;
}

class PosixIo : public SpoolIo {
 public:
  absl::Status MakeDirectory(absl::string_view path) override {
    if (mkdir(std::string(path).c_str(), kDirectoryMode) == 0) return absl::OkStatus();
    if (errno != EEXIST) return Failed(errno, "mkdir", path);
    struct stat st = {};
    if (stat(std::string(path).c_str(), &st) != 0) return Failed(errno, "stat", path);
    return S_ISDIR(st.st_mode) ? absl::OkStatus() : Failed(ENOTDIR, "mkdir", path);
  }

  absl::StatusOr<std::vector<std::string>> List(absl::string_view directory) override {
    DIR* const folder = opendir(std::string(directory).c_str());
    if (folder == nullptr) return Failed(errno, "opendir", directory);
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = readdir(folder)) {
      const absl::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
      errno = 0;
    }
    const int error = errno;
    closedir(folder);
    if (error != 0) return Failed(error, "readdir", directory);
    return names;
  }

  absl::StatusOr<std::unique_ptr<SpoolFile>> Open(absl::string_view path, OpenMode mode) override {
    // O_NONBLOCK: opening a FIFO that stands in our folder must not hang.
    int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    flags |= mode == OpenMode::kRead ? O_RDONLY : O_RDWR;
    if (mode == OpenMode::kCreateNew) flags |= O_CREAT | O_EXCL;
    const int fd = open(std::string(path).c_str(), flags, kFileMode);
    if (fd < 0) return Failed(errno, "open", path);
    auto file = std::make_unique<PosixSpoolFile>(fd, std::string(path));
    struct stat st = {};
    if (fstat(fd, &st) != 0) return Failed(errno, "stat", path);
    if (!S_ISREG(st.st_mode)) return absl::FailedPreconditionError(absl::StrCat(DisplayBytes(path), " is no file"));
    return file;
  }

  absl::Status Remove(absl::string_view path) override {
    if (unlink(std::string(path).c_str()) != 0) return Failed(errno, "unlink", path);
    return absl::OkStatus();
  }

  absl::Status SyncDirectory(absl::string_view directory) override {
    const int fd = open(std::string(directory).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return Failed(errno, "open", directory);
    const int result = fsync(fd);
    const int error = errno;
    close(fd);
    return result == 0 ? absl::OkStatus() : Failed(error, "fsync", directory);
  }

  absl::StatusOr<std::unique_ptr<SpoolLock>> Lock(absl::string_view path) override {
    const int fd = open(std::string(path).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kFileMode);
    if (fd < 0) return Failed(errno, "open", path);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      const std::string holder = HolderOf(fd);
      close(fd);
      if (error != EWOULDBLOCK) return Failed(error, "flock", path);
      return absl::FailedPreconditionError(absl::StrCat("the spool ", DisplayBytes(DirName(path)),
                                                        " is in use by process ", holder,
                                                        "; one process may use a spool"));
    }
    // The number is for the reader of the message above only, so a full disk does not matter.
    const std::string pid = absl::StrCat(getpid(), "\n");
    if (ftruncate(fd, 0) == 0) (void)!pwrite(fd, pid.data(), pid.size(), 0);
    return std::make_unique<PosixSpoolLock>(fd);
  }

  absl::StatusOr<std::string> Identity(absl::string_view path) override {
    struct stat st = {};
    if (lstat(std::string(path).c_str(), &st) != 0) return Failed(errno, "stat", path);
    return absl::StrCat(st.st_dev, ":", st.st_ino);
  }

  absl::StatusOr<std::uint64_t> Random() override {
    std::uint64_t bits = 0;
    if (getrandom(&bits, sizeof(bits), 0) != sizeof(bits)) return Failed(errno, "getrandom", "");
    return bits;
  }
};

}  // namespace

SpoolIo& PosixSpoolIo() {
  static PosixIo io;
  return io;
}

}  // namespace paritect
