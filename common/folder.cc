// Folders: by descriptor on the machine's disk, by path elsewhere; and what is known of the disk below.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file_system.h"
#include "common/posix_file.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

// O_NONBLOCK: a FIFO that appears between listing and opening must not block us.
constexpr int kReadFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

class PosixFolder : public Folder {
 public:
  PosixFolder(int fd, std::string path, FileSystem* links) : fd_(fd), path_(std::move(path)), links_(links) {}
  ~PosixFolder() override { close(fd_); }
  PosixFolder(const PosixFolder&) = delete;
  PosixFolder& operator=(const PosixFolder&) = delete;

  absl::Status List(absl::FunctionRef<void(const DirectoryEntry&)> entry) override {
    // A descriptor of its own: reading a folder moves its position.
    const int fd = openat(fd_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return ErrnoStatus(errno, "list", path_);
    return ListDescriptor(fd, path_, entry);
  }

  absl::StatusOr<FileInfo> LStat(const std::string& name) override {
    struct stat st;
    if (fstatat(fd_, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) return Failed(errno, "stat", name);
    return FileInfoOf(st);
  }

  absl::StatusOr<FileInfo> Stat(const std::string& name) override {
    if (links_ != nullptr) {
      PARITECT_ASSIGN_OR_RETURN(FileInfo info, LStat(name));
      return info.type == FileInfo::Type::kSymlink ? links_->Stat(PathOf(name)) : info;
    }
    struct stat st;
    if (fstatat(fd_, name.c_str(), &st, 0) != 0) return Failed(errno, "stat", name);
    return FileInfoOf(st);
  }

  absl::StatusOr<std::string> ReadLink(const std::string& name) override {
    std::string target(4096, '\0');
    const ssize_t n = readlinkat(fd_, name.c_str(), target.data(), target.size());
    if (n < 0) return Failed(errno, "read link", name);
    target.resize(static_cast<std::size_t>(n));
    return target;
  }

  absl::StatusOr<std::unique_ptr<File>> Open(const std::string& name) override {
    const int fd = openat(fd_, name.c_str(), kReadFlags | (links_ != nullptr ? O_NOFOLLOW : 0));
    if (fd >= 0) return RegularFileOf(fd, name);
    if (errno == ELOOP && links_ != nullptr) return links_->Open(PathOf(name));
    return Failed(errno, "open", name);
  }

  absl::StatusOr<std::unique_ptr<Folder>> OpenFolder(const std::string& name) override {
    const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (links_ != nullptr ? O_NOFOLLOW : 0);
    const int fd = openat(fd_, name.c_str(), flags);
    if (fd >= 0) return std::make_unique<PosixFolder>(fd, PathOf(name), links_);
    // With O_NOFOLLOW and O_DIRECTORY a link is ENOTDIR.
    if ((errno == ELOOP || errno == ENOTDIR) && links_ != nullptr) return links_->OpenFolder(PathOf(name));
    return Failed(errno, "list", name);
  }

 private:
  std::string PathOf(const std::string& name) const { return JoinPath(path_, name); }
  absl::Status Failed(int error, absl::string_view what, const std::string& name) const {
    return ErrnoStatus(error, what, PathOf(name));
  }

  const int fd_;
  const std::string path_;
  FileSystem* const links_;
};

// Everything by path: for file systems that have nothing better.
class PathFolder : public Folder {
 public:
  PathFolder(FileSystem& fs, std::string path) : fs_(fs), path_(std::move(path)) {}
  absl::Status List(absl::FunctionRef<void(const DirectoryEntry&)> entry) override { return fs_.List(path_, entry); }
  absl::StatusOr<FileInfo> Stat(const std::string& name) override { return fs_.Stat(JoinPath(path_, name)); }
  absl::StatusOr<FileInfo> LStat(const std::string& name) override { return fs_.LStat(JoinPath(path_, name)); }
  absl::StatusOr<std::string> ReadLink(const std::string& name) override { return fs_.ReadLink(JoinPath(path_, name)); }
  absl::StatusOr<std::unique_ptr<File>> Open(const std::string& name) override {
    return fs_.Open(JoinPath(path_, name));
  }
  absl::StatusOr<std::unique_ptr<Folder>> OpenFolder(const std::string& name) override {
    return fs_.OpenFolder(JoinPath(path_, name));
  }

 private:
  FileSystem& fs_;
  const std::string path_;
};

// statfs(2), linux/magic.h and the file systems' own sources. Of those not named (FUSE, sshfs, CIFS, 9p, ...) it is
// not known that a file keeps its number.
struct DiskKind {
  unsigned long magic;
  bool network;
  bool stable = true;
};
constexpr DiskKind kDisks[] = {
    {0xEF53, false},      // ext2, ext3, ext4
    {0x58465342, false},  // XFS
    {0x9123683E, false},  // Btrfs
    {0xF2F52010, false},  // F2FS
    {0x2FC12FC1, false},  // ZFS
    // tmpfs stamps no time where a mapping is written to: its times prove nothing of the content.
    {0x01021994, false, false},
    {0x794C7630, false},  // overlayfs
    {0x6969, true},       // NFS
    {0x0BD00BD0, true},   // Lustre
    {0x00C36400, true},   // Ceph
    {0x47504653, true},   // GPFS
};

bool IsRotational(dev_t device) {
  // Virtual disks say that they rotate unless somebody told them otherwise.
  char target[512];
  const std::string link = absl::StrCat("/sys/dev/block/", major(device), ":", minor(device));
  const ssize_t length = readlink(link.c_str(), target, sizeof(target));
  if (length <= 0) return false;
  const absl::string_view place(target, static_cast<std::size_t>(length));
  if (absl::StrContains(place, "/virtio") || absl::StrContains(place, "/xvd") || absl::StrContains(place, "/vbd-")) {
    return false;
  }
  // A partition has no queue of its own: its disk stands one folder above.
  for (const char* queue : {"/queue/rotational", "/../queue/rotational"}) {
    const std::string path = absl::StrCat("/sys/dev/block/", major(device), ":", minor(device), queue);
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    char digit = '0';
    const ssize_t n = read(fd, &digit, 1);
    close(fd);
    return n == 1 && digit == '1';
  }
  return false;
}

}  // namespace

DiskInfo DiskOf(int fd) {
  struct statfs about;
  struct stat st;
  if (fstatfs(fd, &about) != 0 || fstat(fd, &st) != 0) return {};
  DiskInfo disk;
  static_assert(sizeof(about.f_fsid) == sizeof(disk.id));
  std::memcpy(&disk.id, &about.f_fsid, sizeof(disk.id));
  disk.network = true;
  for (const DiskKind& kind : kDisks) {
    if (kind.magic != static_cast<unsigned long>(about.f_type)) continue;
    disk.stable_numbers = kind.stable;
    disk.network = kind.network;
  }
  disk.rotational = !disk.network && IsRotational(st.st_dev);
  return disk;
}

std::unique_ptr<Folder> FolderOf(int fd, absl::string_view path, FileSystem* links) {
  return std::make_unique<PosixFolder>(fd, std::string(path), links);
}

absl::StatusOr<std::unique_ptr<Folder>> FileSystem::OpenFolder(absl::string_view path) {
  PARITECT_RETURN_IF_ERROR(List(path, [](const DirectoryEntry&) {}));
  return std::make_unique<PathFolder>(*this, std::string(path));
}

DiskInfo FileSystem::Disk(absl::string_view path) {
  (void)path;
  return {};
}

}  // namespace paritect
