// Reading a checkpoint leaves the page cache as it was: what a training has in memory stays, what was read from the
// disk for a fingerprint alone goes.
#ifndef PARITECT_AGENT_WEIGHTS_PAGE_CACHE_H_
#define PARITECT_AGENT_WEIGHTS_PAGE_CACHE_H_

#include <string>
#include <vector>

#include "common/file_system.h"

namespace paritect {

// Notes which of the files are not in the page cache when it is made, and gives their pages back when it ends. Files
// without a descriptor (tests, archives) are left alone.
class PageCacheGuard {
 public:
  PageCacheGuard(FileSystem& fs, const std::vector<std::string>& paths);
  ~PageCacheGuard();
  PageCacheGuard(const PageCacheGuard&) = delete;
  PageCacheGuard& operator=(const PageCacheGuard&) = delete;

 private:
  std::vector<std::unique_ptr<File>> cold_;
};

}  // namespace paritect

#endif  // PARITECT_AGENT_WEIGHTS_PAGE_CACHE_H_
