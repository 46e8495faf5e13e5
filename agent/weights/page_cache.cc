#include "agent/weights/page_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace paritect {
namespace {

constexpr std::size_t kFilesMax = 256;  // kept open meanwhile
constexpr std::size_t kProbes = 64;     // places looked at in a file

// How many of the probed places are not in memory, by what asks and fetches nothing. The kernel answers "all are" of
// files that the process neither owns nor may write (mm/mincore.c, can_do_mincore).
std::size_t ColdByMap(int fd, std::size_t size_bytes, std::size_t step_bytes) {
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const map = mmap(nullptr, size_bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) return 0;
  std::size_t cold = 0;
  for (std::size_t at = 0; at < size_bytes; at += step_bytes) {
    unsigned char resident = 1;
    cold += mincore(static_cast<char*>(map) + at / page_bytes * page_bytes, 1, &resident) == 0 && !(resident & 1);
  }
  munmap(map, size_bytes);
  return cold;
}

// The same by reading what is there already. The kernel begins to fetch what is not (mm/filemap.c, filemap_get_pages,
// before it looks at RWF_NOWAIT), and a quick disk has it there in time: places are counted as warm that were not.
std::size_t ColdByRead(int fd, std::size_t size_bytes, std::size_t step_bytes) {
  posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);  // not what stands behind them, which the next probe would find
  std::size_t cold = 0;
  for (std::size_t at = 0; at < size_bytes; at += step_bytes) {
    char byte = 0;
    iovec part = {&byte, 1};
    cold += preadv2(fd, &part, 1, static_cast<off_t>(at), RWF_NOWAIT) < 0 && errno == EAGAIN ? 1 : 0;
  }
  return cold;
}

// A few probed places tell: a checkpoint is written and read as a whole.
bool IsCold(int fd, std::size_t size_bytes) {
  const std::size_t step_bytes = size_bytes / kProbes + 1;
  const std::size_t probed = (size_bytes + step_bytes - 1) / step_bytes;
  return 2 * ColdByMap(fd, size_bytes, step_bytes) > probed || 2 * ColdByRead(fd, size_bytes, step_bytes) > probed;
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
