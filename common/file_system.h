// The one door to the disk: everything that reads files takes a FileSystem&, so that every collector
// and command can be tested in memory (common/memory_file_system.h).
//
// Paths are bytes, '/' separated. No method throws. Errors: NotFound, PermissionDenied,
// FailedPrecondition (not the expected type), Internal (errno text). Messages name the path.
#ifndef PARITECT_COMMON_FILE_SYSTEM_H_
#define PARITECT_COMMON_FILE_SYSTEM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace paritect {

struct FileInfo {
  enum class Type { kRegular, kDirectory, kSymlink, kSpecial };
  Type type = Type::kRegular;
  std::uint64_t size_bytes = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t links = 1;
};

struct DirectoryEntry {
  std::string name;  // raw bytes, no '/'
};

// Sequential reading of one open file. Not thread-safe.
class File {
 public:
  virtual ~File() = default;
  // Reads up to buffer.size() bytes; 0 at the end.
  virtual absl::StatusOr<std::size_t> Read(absl::Span<char> buffer) = 0;
  // What the open file is now (fstat): tells whether it changed while it was read.
  virtual absl::StatusOr<FileInfo> Info() = 0;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Opens a regular file for reading. A folder, FIFO, socket or device is FailedPrecondition and is
  // never opened (opening a FIFO would block).
  virtual absl::StatusOr<std::unique_ptr<File>> Open(absl::string_view path) = 0;
  virtual absl::StatusOr<FileInfo> Stat(absl::string_view path) = 0;   // follows links
  virtual absl::StatusOr<FileInfo> LStat(absl::string_view path) = 0;  // does not
  // Calls `entry` for each name but "." and "..", in the order in which the file system enumerates.
  virtual absl::Status List(absl::string_view path, absl::FunctionRef<void(const DirectoryEntry&)> entry) = 0;
  virtual absl::StatusOr<std::string> ReadLink(absl::string_view path) = 0;
};

// The machine's own file system. Stateless.
FileSystem& PosixFileSystem();

// The whole file; ResourceExhausted above `limit_bytes`, with the size found.
absl::StatusOr<std::string> ReadWholeFile(FileSystem& fs, absl::string_view path, std::uint64_t limit_bytes);

// Writes a file in full or not at all (temporary name beside it, fsync, rename). Machine's file
// system only.
absl::Status WriteFileAtomically(absl::string_view path, absl::string_view bytes);

// "a/b" + "c" = "a/b/c"; an absolute `name` stands for itself.
std::string JoinPath(absl::string_view base, absl::string_view name);
absl::string_view BaseName(absl::string_view path);
absl::string_view DirName(absl::string_view path);  // "." where there is no '/'

}  // namespace paritect

#endif  // PARITECT_COMMON_FILE_SYSTEM_H_
