// The spool's door to the disk: the few calls it needs, so that a test can count them, fail any one of them and take
// the power away between any two (agent/spool/fault_disk.h).
//
// Paths are bytes. Nothing throws. Errors: NotFound, AlreadyExists, ResourceExhausted (no space, quota, file size
// limit), PermissionDenied (also a read-only file system), FailedPrecondition (not a regular file; lock held),
// Unavailable (everything else, I/O errors too). Messages name the call and the path.
#ifndef PARITECT_AGENT_SPOOL_SPOOL_IO_H_
#define PARITECT_AGENT_SPOOL_SPOOL_IO_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace paritect {

// One open file. Positions are given, never kept; one thread may write while others read.
class SpoolFile {
 public:
  virtual ~SpoolFile() = default;
  // Fills `buffer` from `offset`; fewer bytes only at the end of the file.
  virtual absl::StatusOr<std::size_t> ReadAt(std::uint64_t offset, absl::Span<char> buffer) = 0;
  // Writes all of `bytes`; on an error any part of them may be there.
  virtual absl::Status WriteAt(std::uint64_t offset, absl::string_view bytes) = 0;
  virtual absl::Status Truncate(std::uint64_t size_bytes) = 0;
  // fdatasync: data and what is needed to find it again. After a failure nothing is known of what was written since
  // the last success; trying again proves nothing (the kernel may have forgotten the pages).
  virtual absl::Status Sync() = 0;
  virtual absl::StatusOr<std::uint64_t> Size() = 0;
};

// Held until destroyed.
class SpoolLock {
 public:
  virtual ~SpoolLock() = default;
};

class SpoolIo {
 public:
  enum class OpenMode { kRead, kReadWrite, kCreateNew };  // kCreateNew: AlreadyExists when the name is taken

  virtual ~SpoolIo() = default;
  virtual absl::Status MakeDirectory(absl::string_view path) = 0;                          // OK when it is there
  virtual absl::StatusOr<std::vector<std::string>> List(absl::string_view directory) = 0;  // names, any order
  virtual absl::StatusOr<std::unique_ptr<SpoolFile>> Open(absl::string_view path, OpenMode mode) = 0;
  virtual absl::Status Remove(absl::string_view path) = 0;
  // Makes names made or removed in `directory` durable.
  virtual absl::Status SyncDirectory(absl::string_view directory) = 0;
  // An exclusive lock between processes and within one; FailedPrecondition names the process that holds it.
  virtual absl::StatusOr<std::unique_ptr<SpoolLock>> Lock(absl::string_view path) = 0;
  // Changes when another file or folder takes the place; NotFound. Unimplemented: it cannot tell.
  virtual absl::StatusOr<std::string> Identity(absl::string_view) {
    return absl::UnimplementedError("no identities");
  }
  virtual absl::StatusOr<std::uint64_t> Random() = 0;  // 64 unpredictable bits
};

// The machine's own. Stateless.
SpoolIo& PosixSpoolIo();

}  // namespace paritect

#endif  // PARITECT_AGENT_SPOOL_SPOOL_IO_H_
