#include "common/kept_owner.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace paritect {
namespace {

constexpr uid_t kRoot = 0;

void GiveFiles(DIR* listing, const struct stat& owner) {
  const int folder = dirfd(listing);
  while (const dirent* entry = readdir(listing)) {
    struct stat info = {};
    if (fstatat(folder, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISREG(info.st_mode) || info.st_uid != kRoot || info.st_nlink != 1) continue;
    if (fchownat(folder, entry->d_name, owner.st_uid, owner.st_gid, AT_SYMLINK_NOFOLLOW) != 0) {
      // The next start says which file it may not read.
    }
  }
}

}  // namespace

KeptOwner::~KeptOwner() {
  if (geteuid() != kRoot) return;
  const int folder = open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  struct stat owner = {};
  const bool anothers = fstat(folder, &owner) == 0 && owner.st_uid != kRoot;
  DIR* const listing = fdopendir(folder);  // takes the descriptor
  if (listing == nullptr) {
    close(folder);
    return;
  }
  if (anothers) GiveFiles(listing, owner);
  closedir(listing);
}

}  // namespace paritect
