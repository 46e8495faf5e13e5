// What the file systems of the machine share: an open descriptor as a File or a Folder.
#ifndef PARITECT_COMMON_POSIX_FILE_H_
#define PARITECT_COMMON_POSIX_FILE_H_

#include <sys/stat.h>

#include <memory>
#include <string>

#include "common/errno_status.h"
#include "common/file_system.h"

namespace paritect {

FileInfo FileInfoOf(const struct stat& st);

// Takes the descriptor over, also on failure. FailedPrecondition where it is no regular file.
absl::StatusOr<std::unique_ptr<File>> RegularFileOf(int fd, absl::string_view path);

// Calls `entry` for each name in the folder open as `fd`; takes the descriptor over.
absl::Status ListDescriptor(int fd, absl::string_view path, absl::FunctionRef<void(const DirectoryEntry&)> entry);

// The folder open as `fd`, which is taken over. `path` is for messages. `links` opens what a name that is a link
// leads to, by its path; nullptr: the kernel may follow it.
std::unique_ptr<Folder> FolderOf(int fd, absl::string_view path, FileSystem* links);

// Which disk the open file stands on.
DiskInfo DiskOf(int fd);

}  // namespace paritect

#endif  // PARITECT_COMMON_POSIX_FILE_H_
