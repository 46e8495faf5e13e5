// One record of the digest cache as it stands on disk, the same in the sorted file and in journals.
#ifndef PARITECT_AGENT_DATASETS_CACHE_RECORD_H_
#define PARITECT_AGENT_DATASETS_CACHE_RECORD_H_

#include <cstdint>
#include <cstring>
#include <tuple>

#include "common/file_system.h"
#include "common/md5/md5_lanes.h"

namespace paritect {

// 64 bytes, in the machine's byte order (the cache never leaves the machine).
struct CacheRecord {
  std::uint64_t disk = 0;
  std::uint64_t inode = 0;
  std::uint64_t size_bytes = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  unsigned char md5[kMd5Bytes] = {};  // of a state record: the chaining state
  std::uint32_t value = 0;            // seconds since 1970 when it was hashed; of a state: its number, from 1
  std::uint32_t kind_and_check = 0;   // low 8 bits: kind; above: check of all before and the kind

  static constexpr std::uint32_t kDigest = 1;  // and LookedAt
  static constexpr std::uint32_t kState = 16;

  std::uint32_t kind() const { return kind_and_check & 0xFF; }
  void Seal(std::uint32_t kind) { kind_and_check = kind | Check(kind) << 8; }
  bool sound() const { return kind_and_check >> 8 == (Check(kind()) & 0xFFFFFF); }

  auto key() const { return std::tie(disk, inode, size_bytes, mtime_ns, ctime_ns); }

  static CacheRecord Of(const DiskInfo& disk, const FileInfo& file) {
    CacheRecord record;
    record.disk = disk.id;
    record.inode = file.inode;
    record.size_bytes = file.size_bytes;
    record.mtime_ns = file.mtime_ns;
    record.ctime_ns = file.ctime_ns;
    return record;
  }

 private:
  // One block of MD5: what is needed is that damage shows, and the record is just one block.
  std::uint32_t Check(std::uint32_t kind) const {
    CacheRecord copy = *this;
    copy.kind_and_check = kind;
    unsigned char bytes[sizeof(CacheRecord)];
    std::memcpy(bytes, &copy, sizeof(bytes));
    Md5Lane lane = {.state = {}, .data = bytes};
    Md5RunScalar(lane, 1);
    return lane.state.words[0] & 0xFFFFFF;
  }
};
static_assert(sizeof(CacheRecord) == kMd5BlockBytes);

}  // namespace paritect

#endif  // PARITECT_AGENT_DATASETS_CACHE_RECORD_H_
