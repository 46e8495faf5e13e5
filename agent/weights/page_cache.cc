#include "agent/weights/page_cache.h"

#include <fcntl.h>
#include <sys/uio.h>

#include <cerrno>
#include <utility>

namespace paritect {
namespace {

constexpr std::size_t kFilesMax = 256;  // kept open meanwhile
constexpr std::size_t kProbes = 64;     // places looked at in a file

// A few probed places tell: a checkpoint is written and read as a whole.
bool IsCold(int fd, std::uint64_t size_bytes) {
  std::size_t probed = 0, cold = 0;
  for (std::uint64_t at = 0; at < size_bytes; at += size_bytes / kProbes + 1) {
    char byte = 0;
    iovec part = {&byte, 1};
    ++probed;
    cold += preadv2(fd, &part, 1, static_cast<off_t>(at), RWF_NOWAIT) < 0 && errno == EAGAIN ? 1 : 0;
  }
  return 2 * cold > probed;
}

}  // namespace

PageCacheGuard::PageCacheGuard(FileSystem& fs, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (cold_.size() >= kFilesMax) return;
    auto file = fs.Open(path);
    if (!file.ok() || (*file)->Descriptor() < 0) continue;
    const auto info = (*file)->InfoAtOpen();
    if (info.ok() && IsCold((*file)->Descriptor(), info->size_bytes)) cold_.push_back(*std::move(file));
  }
}

PageCacheGuard::~PageCacheGuard() {
  for (const std::unique_ptr<File>& file : cold_) posix_fadvise(file->Descriptor(), 0, 0, POSIX_FADV_DONTNEED);
}

}  // namespace paritect
