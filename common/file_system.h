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
  bool may_have_holes = false;  // fewer bytes on the disk than in the file
  std::uint32_t owner = 0;      // numeric id of the user
  std::uint32_t mode = 0;       // permission bits
};

struct DirectoryEntry {
  std::string name;  // raw bytes, no '/'
};

// The disk (mounted file system) that a path stands on.
struct DiskInfo {
  std::uint64_t id = 0;         // 0: not known
  bool network = false;         // other machines may write to it, under clocks of their own
  bool stable_numbers = false;  // inode numbers stay with their files: they and the times identify a content
  bool rotational = false;      // a spinning disk: reading here and there costs
};

// One open file. Not thread-safe.
class File {
 public:
  virtual ~File() = default;
  // Reads up to buffer.size() bytes; 0 at the end.
  virtual absl::StatusOr<std::size_t> Read(absl::Span<char> buffer) = 0;
  // Fills `buffer` from that byte on; fewer bytes only at the end of the file. Leaves the place of Read alone.
  virtual absl::StatusOr<std::size_t> ReadAt(std::uint64_t offset, absl::Span<char> buffer);
  // Where Read stands in a hole of a sparse file (no shorter than kHoleBytesMin): goes on at its end and gives its
  // length, which are as many zeros. 0: no hole, or none that is known.
  static constexpr std::uint64_t kHoleBytesMin = 64 << 10;  // shorter ones are cheaper read than looked for
  virtual absl::StatusOr<std::uint64_t> SkipHole() { return std::uint64_t{0}; }
  // What the open file is now (fstat): tells whether it changed while it was read.
  virtual absl::StatusOr<FileInfo> Info() = 0;
  // What it was when it was opened; saves a system call.
  virtual absl::StatusOr<FileInfo> InfoAtOpen() { return Info(); }

  // The open descriptor, for mapping, advice and reading at a place; -1: there is none, only Read. Who reads by
  // it asks Charge first: it waits where the bytes read a second are limited and fails where the work was stopped.
  virtual int Descriptor() const { return -1; }
  virtual absl::Status Charge(std::uint64_t bytes) {
    (void)bytes;
    return absl::OkStatus();
  }
};

// An open folder. What stands in it is reached by name, without its path being looked up again: names in one folder
// cost less, and a path may be of any length. Not thread-safe. Names are plain: neither "", ".", ".." nor with '/'.
class Folder {
 public:
  virtual ~Folder() = default;
  // As FileSystem::List.
  virtual absl::Status List(absl::FunctionRef<void(const DirectoryEntry&)> entry) = 0;
  virtual absl::StatusOr<FileInfo> Stat(const std::string& name) = 0;   // follows links
  virtual absl::StatusOr<FileInfo> LStat(const std::string& name) = 0;  // does not
  virtual absl::StatusOr<std::string> ReadLink(const std::string& name) = 0;
  virtual absl::StatusOr<std::unique_ptr<File>> Open(const std::string& name) = 0;
  virtual absl::StatusOr<std::unique_ptr<Folder>> OpenFolder(const std::string& name) = 0;
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

  // Follows links. NotFound, FailedPrecondition (no folder), ... The file system must outlive it. By default a folder
  // that does everything by path.
  virtual absl::StatusOr<std::unique_ptr<Folder>> OpenFolder(absl::string_view path);
  // By default nothing is known.
  virtual DiskInfo Disk(absl::string_view path);
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
