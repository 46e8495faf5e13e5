// A side file that says who owns a file: locked while its owner lives (flock: gone with the process), and remembering
// that the owned file was made, so that one that vanished is not taken for one that never was.
#ifndef PARITECT_STORAGE_FILE_LOCK_H_
#define PARITECT_STORAGE_FILE_LOCK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paritect {

class FileLock {
 public:
  // Unavailable: another process (or this one) holds it.
  static absl::StatusOr<FileLock> Acquire(absl::string_view path);
  FileLock(FileLock&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

  bool marked() const;      // the owned file was made once
  absl::Status Mark() const;  // durable

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace paritect

#endif  // PARITECT_STORAGE_FILE_LOCK_H_
