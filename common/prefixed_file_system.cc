#include "common/prefixed_file_system.h"

#include <deque>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr int kLinksMax = 40;  // these two as the kernel has them
constexpr std::size_t kPathBytesMax = 4096;

void PushFront(absl::string_view path, std::deque<std::string>& parts) {
  std::vector<std::string> own = absl::StrSplit(path, '/', absl::SkipEmpty());
  parts.insert(parts.begin(), own.begin(), own.end());
}

}  // namespace

PrefixedFileSystem::PrefixedFileSystem(FileSystem& base, absl::string_view prefix)
    : base_(base), prefix_(absl::StripSuffix(prefix, "/")) {}

absl::StatusOr<std::string> PrefixedFileSystem::Resolve(absl::string_view path, bool follow_last) {
  if (path.size() > kPathBytesMax) {
    return absl::FailedPreconditionError(absl::StrCat("open ", DisplayBytes(path.substr(0, 80)), "...: name too long"));
  }
  std::deque<std::string> left;
  PushFront(path, left);
  std::vector<std::string> done;
  int links = 0;
  bool there = true;
  while (!left.empty()) {
    const std::string part = left.front();
    left.pop_front();
    if (part == ".") continue;
    if (part == "..") {
      if (!done.empty()) done.pop_back();
      continue;
    }
    done.push_back(part);
    if (!there || (left.empty() && !follow_last)) continue;
    const std::string here = absl::StrCat(prefix_, "/", absl::StrJoin(done, "/"));
    auto info = base_.LStat(here);
    // Below what is not there (or may not be seen) nothing can be followed.
    there = info.ok();
    if (!there || info->type != FileInfo::Type::kSymlink) continue;
    if (++links > kLinksMax) {
      return absl::FailedPreconditionError(absl::StrCat("open ", DisplayBytes(path), ": too many symbolic links"));
    }
    PARITECT_ASSIGN_OR_RETURN(std::string target, base_.ReadLink(here));
    done.pop_back();
    if (absl::StartsWith(target, "/")) done.clear();
    PushFront(target, left);
  }
  return absl::StrCat("/", absl::StrJoin(done, "/"));
}

absl::StatusOr<std::string> PrefixedFileSystem::RealPath(absl::string_view path) {
  return Resolve(path, true);
}

absl::StatusOr<std::unique_ptr<File>> PrefixedFileSystem::Open(absl::string_view path) {
  PARITECT_ASSIGN_OR_RETURN(std::string real, Resolve(path, true));
  return base_.Open(absl::StrCat(prefix_, real));
}

absl::StatusOr<FileInfo> PrefixedFileSystem::Stat(absl::string_view path) {
  PARITECT_ASSIGN_OR_RETURN(std::string real, Resolve(path, true));
  return base_.LStat(absl::StrCat(prefix_, real));
}

absl::StatusOr<FileInfo> PrefixedFileSystem::LStat(absl::string_view path) {
  PARITECT_ASSIGN_OR_RETURN(std::string real, Resolve(path, false));
  return base_.LStat(absl::StrCat(prefix_, real));
}

absl::Status PrefixedFileSystem::List(absl::string_view path, absl::FunctionRef<void(const DirectoryEntry&)> entry) {
  auto real = Resolve(path, true);
  if (!real.ok()) return real.status();
  return base_.List(absl::StrCat(prefix_, *real), entry);
}

absl::StatusOr<std::string> PrefixedFileSystem::ReadLink(absl::string_view path) {
  PARITECT_ASSIGN_OR_RETURN(std::string real, Resolve(path, false));
  return base_.ReadLink(absl::StrCat(prefix_, real));
}

}  // namespace paritect
