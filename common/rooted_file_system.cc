#include "common/rooted_file_system.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/descriptor.h"
#include "common/posix_file.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr int kReadFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
constexpr int kMovedAgainMax = 16;  // openat2 asks to try again when folders move meanwhile

std::string ProcName(int fd) {
  return absl::StrCat("/proc/self/fd/", fd);
}

// Where the kernel says the open file is; "" where /proc does not tell.
std::string RealPathOf(int fd) {
  std::string target(4097, '\0');
  const ssize_t n = readlink(ProcName(fd).c_str(), target.data(), target.size());
  if (n <= 0 || static_cast<std::size_t>(n) == target.size()) return "";
  target.resize(static_cast<std::size_t>(n));
  return target;
}

std::vector<std::string> NormalRoots(const std::vector<std::string>& roots) {
  std::vector<std::string> normal;
  for (const std::string& root : roots) {
    if (absl::StartsWith(root, "/")) normal.push_back(NormalPath(root));
  }
  return normal;
}

}  // namespace

std::string WorkingDirectory() {
  char path[4096];
  return getcwd(path, sizeof(path)) == nullptr ? "" : path;
}

std::string NormalPath(absl::string_view path) {
  std::vector<absl::string_view> parts;
  for (absl::string_view part : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    if (part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (!parts.empty()) {
      parts.pop_back();
    }
  }
  return absl::StrCat("/", absl::StrJoin(parts, "/"));
}

bool IsBelow(absl::string_view path, absl::string_view folder) {
  if (folder == "/") return absl::StartsWith(path, "/");
  return absl::ConsumePrefix(&path, folder) && (path.empty() || path.front() == '/');
}

RootedFileSystem::RootedFileSystem(std::vector<std::string> roots, Proof proof)
    : roots_(NormalRoots(roots)), proof_(proof) {}

absl::Status RootedFileSystem::Refuse(absl::string_view path, absl::string_view needed) const {
  // The whole machine is no root to propose.
  if (needed == "/")
    return absl::PermissionDeniedError(absl::StrCat(DisplayBytes(path), ": outside the allowed roots"));
  return absl::PermissionDeniedError(absl::StrCat(DisplayBytes(path), ": outside the allowed roots: add ",
                                                  DisplayBytes(needed), " to roots: in the agent's configuration"));
}

bool RootedFileSystem::LooksBelow(absl::string_view normal) const {
  for (const std::string& root : roots_) {
    if (IsBelow(normal, root)) return true;
  }
  return false;
}

bool RootedFileSystem::LooksInside(absl::string_view normal) {
  if (LooksBelow(normal)) return true;
  return proof_ == Proof::kKernelName && IsInside(normal);
}

bool RootedFileSystem::IsInside(absl::string_view real) {
  absl::MutexLock lock(&mutex_);
  for (const auto& [root, place] : real_roots_) {
    if (IsBelow(real, place)) return true;
  }
  // A root may have come, or its link may lead elsewhere now.
  for (const std::string& root : roots_) {
    const Descriptor fd(open(root.c_str(), O_PATH | O_CLOEXEC));
    const std::string place = fd.get() < 0 ? "" : RealPathOf(fd.get());
    if (place.empty()) {
      real_roots_.erase(root);
      continue;
    }
    real_roots_[root] = place;
    if (IsBelow(real, place)) return true;
  }
  return false;
}

absl::Status RootedFileSystem::Explain(int error, absl::string_view path, absl::string_view normal) {
  // The nearest folder above that can be opened tells on which side of the fence the path ended.
  absl::string_view above = normal;
  while (above.size() > 1) {
    above = DirName(above);
    const Descriptor fd(open(std::string(above).c_str(), O_PATH | O_CLOEXEC));
    if (fd.get() < 0) continue;
    if (!IsInside(RealPathOf(fd.get()))) {
      // Above every root: the root itself is not there.
      for (const std::string& root : roots_) {
        if (IsBelow(root, above) && IsBelow(normal, root)) return ErrnoStatus(error, "open", path);
      }
      return Refuse(path, DirName(normal));
    }
    break;
  }
  return ErrnoStatus(error, "open", path);
}

absl::StatusOr<int> RootedFileSystem::OpenBeneath(absl::string_view path, absl::string_view normal, int flags) {
  int error = EXDEV;
  for (const std::string& root : roots_) {
    if (!IsBelow(normal, root)) continue;
    const Descriptor folder(open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (folder.get() < 0) {
      error = errno;
      continue;
    }
    absl::string_view rest = normal.substr(root.size());
    absl::ConsumePrefix(&rest, "/");
    const std::string name(rest.empty() ? "." : rest);
    open_how how = {};
    how.flags = static_cast<std::uint64_t>(flags);
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    for (int i = 0; i < kMovedAgainMax; ++i) {
      const long fd = syscall(SYS_openat2, folder.get(), name.c_str(), &how, sizeof(how));
      if (fd >= 0) return static_cast<int>(fd);
      error = errno;
      if (error != EAGAIN && error != EINTR) break;
    }
  }
  switch (error) {
    case EXDEV: return Refuse(path, DirName(normal));
    case ENOSYS:
    case EPERM:
    case E2BIG:
      return absl::PermissionDeniedError(absl::StrCat(
          DisplayBytes(path), ": neither /proc nor openat2 can prove it inside the allowed roots: mount /proc"));
    default: return ErrnoStatus(error, "open", path);
  }
}

absl::StatusOr<int> RootedFileSystem::OpenInside(absl::string_view path, LastLink last) {
  if (!absl::StartsWith(path, "/") || absl::StrContains(path, '\0')) {
    return absl::PermissionDeniedError(absl::StrCat(DisplayBytes(path), ": not an absolute path"));
  }
  const std::string normal = NormalPath(path);
  if (!LooksInside(normal)) return Refuse(path, DirName(normal));
  const int flags = O_PATH | O_CLOEXEC | (last == LastLink::kStay ? O_NOFOLLOW : 0);
  if (proof_ == Proof::kBeneath) return OpenBeneath(path, normal, flags);
  Descriptor fd(open(normal.c_str(), flags));
  if (fd.get() < 0) return Explain(errno, path, normal);
  const std::string real = RealPathOf(fd.get());
  if (real.empty()) return OpenBeneath(path, normal, flags);
  if (!IsInside(real) && LooksBelow(normal)) {
    // Named inside a root, and a link leads out: allowing its target for the link's sake may be what somebody wants
    // who may not read it.
    return absl::PermissionDeniedError(
        absl::StrCat(DisplayBytes(path), ": a link on this path leads to ", DisplayBytes(real),
                     ", outside the allowed roots: put the files themselves there, or a link that stays inside"));
  }
  if (!IsInside(real)) return Refuse(path, DirName(real));
  return fd.Release();
}

absl::StatusOr<std::unique_ptr<File>> RootedFileSystem::Open(absl::string_view path) {
  PARITECT_ASSIGN_OR_RETURN(int place, OpenInside(path, LastLink::kFollow));
  const Descriptor fd(place);
  struct stat st;
  if (fstat(fd.get(), &st) != 0) return ErrnoStatus(errno, "open", path);
  // Opening a FIFO or a device for reading would not be harmless.
  if (!S_ISREG(st.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat("open ", DisplayBytes(path), ": not a regular file"));
  }
  if (proof_ == Proof::kKernelName) {
    // The same file, whatever stands at its path by now.
    const int file = open(ProcName(fd.get()).c_str(), kReadFlags);
    if (file >= 0) return RegularFileOf(file, path);
    if (errno != ENOENT) return ErrnoStatus(errno, "open", path);
  }
  PARITECT_ASSIGN_OR_RETURN(int file, OpenBeneath(path, NormalPath(path), kReadFlags));
  return RegularFileOf(file, path);
}

absl::StatusOr<FileInfo> RootedFileSystem::Stat(absl::string_view path) {
  PARITECT_ASSIGN_OR_RETURN(int place, OpenInside(path, LastLink::kFollow));
  const Descriptor fd(place);
  struct stat st;
  if (fstat(fd.get(), &st) != 0) return ErrnoStatus(errno, "stat", path);
  return FileInfoOf(st);
}

absl::StatusOr<FileInfo> RootedFileSystem::LStat(absl::string_view path) {
  PARITECT_ASSIGN_OR_RETURN(int place, OpenInside(path, LastLink::kStay));
  const Descriptor fd(place);
  struct stat st;
  if (fstat(fd.get(), &st) != 0) return ErrnoStatus(errno, "stat", path);
  return FileInfoOf(st);
}

absl::Status RootedFileSystem::List(absl::string_view path, absl::FunctionRef<void(const DirectoryEntry&)> entry) {
  auto place = OpenInside(path, LastLink::kFollow);
  if (!place.ok()) return place.status();
  const Descriptor fd(*place);
  const int folder = openat(fd.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return ErrnoStatus(errno, "list", path);
  return ListDescriptor(folder, path, entry);
}

absl::StatusOr<std::string> RootedFileSystem::ReadLink(absl::string_view path) {
  PARITECT_ASSIGN_OR_RETURN(int place, OpenInside(path, LastLink::kStay));
  const Descriptor fd(place);
  std::string target(4096, '\0');
  const ssize_t n = readlinkat(fd.get(), "", target.data(), target.size());
  // Of what is no link, readlinkat on the descriptor says ENOENT where readlink on the path says EINVAL.
  if (n < 0) return ErrnoStatus(errno == ENOENT ? EINVAL : errno, "read link", path);
  target.resize(static_cast<std::size_t>(n));
  return target;
}

absl::StatusOr<std::unique_ptr<Folder>> RootedFileSystem::OpenFolder(absl::string_view path) {
  PARITECT_ASSIGN_OR_RETURN(int place, OpenInside(path, LastLink::kFollow));
  const Descriptor fd(place);
  const int folder = openat(fd.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return ErrnoStatus(errno, "list", path);
  return FolderOf(folder, path, this);
}

DiskInfo RootedFileSystem::Disk(absl::string_view path) {
  auto place = OpenInside(path, LastLink::kFollow);
  if (!place.ok()) return {};
  const Descriptor fd(*place);
  return DiskOf(fd.get());
}

}  // namespace paritect
