#include "common/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "common/errno_status.h"
#include "common/file_system.h"
#include "common/posix_file.h"
#include "common/write_all.h"

namespace paritect {
namespace {

// A device, a FIFO, another process's end of a pipe: nothing of it can be put in its place.
absl::Status WriteThrough(const std::string& path, absl::FunctionRef<absl::Status(WriteBytes)> produce) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, "write", path);
  absl::Status status = produce([&](absl::string_view bytes) {
    const int error = WriteAll(fd, bytes);
    return error == 0 ? absl::OkStatus() : ErrnoStatus(error, "write", path);
  });
  if (close(fd) != 0 && status.ok()) status = ErrnoStatus(errno, "write", path);
  return status;
}

}  // namespace

std::string RealPath(const std::string& path) {
  char* real = realpath(path.c_str(), nullptr);
  if (real == nullptr) return path;
  std::string out = real;
  free(real);
  return out;
}

absl::Status WriteFileInParts(absl::string_view name, absl::FunctionRef<absl::Status(WriteBytes)> produce) {
  struct stat there = {};
  if (stat(std::string(name).c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    return WriteThrough(std::string(name), produce);
  }
  const std::string path = RealPath(std::string(name));
  const std::string temporary = absl::StrCat(path, ".tmp", getpid());
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return ErrnoStatus(errno, "write", path);
  absl::Status status = produce([&](absl::string_view bytes) {
    const int error = WriteAll(fd, bytes);
    return error == 0 ? absl::OkStatus() : ErrnoStatus(error, "write", path);
  });
  int error = 0;
  if (status.ok() && fsync(fd) != 0 && errno != EINVAL) error = errno;
  if (close(fd) != 0 && error == 0) error = errno;
  if (status.ok() && error == 0 && rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (status.ok() && error != 0) status = ErrnoStatus(error, "write", path);
  if (!status.ok()) unlink(temporary.c_str());
  return status;
}

absl::Status WriteFileAtomically(absl::string_view path, absl::string_view bytes) {
  return WriteFileInParts(path, [bytes](WriteBytes write) { return write(bytes); });
}

}  // namespace paritect
