#include "storage/file_lock.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/errno_status.h"

namespace paritect {

absl::StatusOr<FileLock> FileLock::Acquire(absl::string_view path) {
  const std::string name(path);
  FileLock lock(open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (lock.fd_ < 0) return ErrnoStatus(errno, "open", path);
  if (flock(lock.fd_, LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno == EWOULDBLOCK) return absl::UnavailableError(absl::StrCat(path, " is held by a process that runs"));
  return ErrnoStatus(errno, "lock", path);
}

FileLock::~FileLock() {
  if (fd_ >= 0) close(fd_);
}

bool FileLock::marked() const {
  struct stat info = {};
  return fstat(fd_, &info) == 0 && info.st_size > 0;
}

absl::Status FileLock::Mark() const {
  if (marked()) return absl::OkStatus();
  constexpr absl::string_view kText = "The file beside this one was made; do not delete one without the other.\n";
  if (pwrite(fd_, kText.data(), kText.size(), 0) != static_cast<ssize_t>(kText.size()) || fsync(fd_) != 0) {
    return ErrnoStatus(errno, "mark", "the lock file");
  }
  return absl::OkStatus();
}

}  // namespace paritect
