#include "common/posix_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr std::size_t kReadChunkBytes = 1 << 16;
constexpr std::int64_t kStatBlockBytes = 512;  // stat(2): st_blocks

}  // namespace

FileInfo FileInfoOf(const struct stat& st) {
  FileInfo info;
  if (S_ISREG(st.st_mode)) {
    info.type = FileInfo::Type::kRegular;
  } else if (S_ISDIR(st.st_mode)) {
    info.type = FileInfo::Type::kDirectory;
  } else if (S_ISLNK(st.st_mode)) {
    info.type = FileInfo::Type::kSymlink;
  } else {
    info.type = FileInfo::Type::kSpecial;
  }
  info.size_bytes = static_cast<std::uint64_t>(st.st_size);
  info.mtime_ns = st.st_mtim.tv_sec * kNanosecondsPerSecond + st.st_mtim.tv_nsec;
  info.ctime_ns = st.st_ctim.tv_sec * kNanosecondsPerSecond + st.st_ctim.tv_nsec;
  info.device = st.st_dev;
  info.inode = st.st_ino;
  info.links = st.st_nlink;
  info.owner = st.st_uid;
  info.mode = st.st_mode & 07777;
  info.may_have_holes = st.st_blocks * kStatBlockBytes < st.st_size;
  return info;
}

namespace {

class PosixFile : public File {
 public:
  PosixFile(int fd, const FileInfo& opened, std::string path) : fd_(fd), opened_(opened), path_(std::move(path)) {}
  ~PosixFile() override { close(fd_); }
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;

  absl::StatusOr<std::size_t> Read(absl::Span<char> buffer) override {
    for (;;) {
      const ssize_t n = read(fd_, buffer.data(), buffer.size());
      if (n >= 0) {
        position_ += static_cast<std::uint64_t>(n);
        return static_cast<std::size_t>(n);
      }
      if (errno != EINTR) return ErrnoStatus(errno, "read", path_);
    }
  }

  absl::StatusOr<std::uint64_t> SkipHole() override {
    const std::uint64_t at = position_;
    if (!opened_.may_have_holes || at < data_until_ || at >= opened_.size_bytes) return std::uint64_t{0};
    const off_t data = lseek(fd_, static_cast<off_t>(at), SEEK_DATA);
    const bool told = data >= 0 || errno == ENXIO;  // ENXIO: nothing but a hole follows
    const std::uint64_t begin = data >= 0 ? static_cast<std::uint64_t>(data) : opened_.size_bytes;
    const bool skips = told && begin >= at + kHoleBytesMin;
    const off_t end = skips || data < 0 ? -1 : lseek(fd_, data, SEEK_HOLE);
    data_until_ = !told || (!skips && end < 0) ? opened_.size_bytes : skips ? begin : static_cast<std::uint64_t>(end);
    position_ = skips ? begin : at;
    // The place of read(2) was moved by the questions.
    if (lseek(fd_, static_cast<off_t>(position_), SEEK_SET) < 0) return ErrnoStatus(errno, "seek", path_);
    return position_ - at;
  }

  absl::StatusOr<std::size_t> ReadAt(std::uint64_t offset, absl::Span<char> buffer) override {
    std::size_t done = 0;
    while (done < buffer.size()) {
      const ssize_t n = pread(fd_, buffer.data() + done, buffer.size() - done, static_cast<off_t>(offset + done));
      if (n == 0) break;
      if (n > 0) {
        done += static_cast<std::size_t>(n);
      } else if (errno != EINTR) {
        return ErrnoStatus(errno, "read", path_);
      }
    }
    return done;
  }

  absl::StatusOr<FileInfo> Info() override {
    struct stat st;
    if (fstat(fd_, &st) != 0) return ErrnoStatus(errno, "stat", path_);
    return FileInfoOf(st);
  }
  absl::StatusOr<FileInfo> InfoAtOpen() override { return opened_; }
  int Descriptor() const override { return fd_; }

 private:
  const int fd_;
  const FileInfo opened_;
  const std::string path_;
  std::uint64_t position_ = 0;    // of Read
  std::uint64_t data_until_ = 0;  // no hole begins before
};

}  // namespace

absl::StatusOr<std::unique_ptr<File>> RegularFileOf(int fd, absl::string_view path) {
  struct stat st;
  const int error = fstat(fd, &st) == 0 ? 0 : errno;
  if (error == 0 && S_ISREG(st.st_mode)) return std::make_unique<PosixFile>(fd, FileInfoOf(st), std::string(path));
  close(fd);
  if (error != 0) return ErrnoStatus(error, "stat", path);
  return absl::FailedPreconditionError(absl::StrCat("open ", DisplayBytes(path), ": not a regular file"));
}

absl::Status ListDescriptor(int fd, absl::string_view path, absl::FunctionRef<void(const DirectoryEntry&)> entry) {
  DIR* dir = fdopendir(fd);
  if (dir == nullptr) {
    const int error = errno;
    close(fd);
    return ErrnoStatus(error, "list", path);
  }
  for (;;) {
    errno = 0;
    const dirent* one = readdir(dir);
    if (one == nullptr) break;
    const absl::string_view name = one->d_name;
    if (name != "." && name != "..") entry(DirectoryEntry{std::string(name)});
  }
  const int error = errno;
  closedir(dir);
  return error == 0 ? absl::OkStatus() : ErrnoStatus(error, "list", path);
}

}  // namespace paritect
