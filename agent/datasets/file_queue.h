// Rows of a table that wait for their hashing: the large ones first, for a lone large file at the end decides the
// time; those of about one size in the order in which they were found, so that neighbours are read together.
#ifndef PARITECT_AGENT_DATASETS_FILE_QUEUE_H_
#define PARITECT_AGENT_DATASETS_FILE_QUEUE_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "agent/datasets/file_table.h"

namespace paritect {

// Costs no memory: the next row's number stands where the digest will be. Not thread-safe.
class FileQueue {
 public:
  explicit FileQueue(FileTable& table) : table_(table) {}

  void Push(std::uint32_t at, std::uint64_t inode) {
    const Link link = {inode, kNone, 0};
    std::memcpy(table_.row(at).md5, &link, sizeof(link));
    End& end = ends_[std::bit_width(table_.row(at).size_bytes)];
    if (end.last == kNone) {
      end.first = at;
    } else {
      Link last = LinkOf(end.last);
      last.next = at;
      std::memcpy(table_.row(end.last).md5, &last, sizeof(last));
    }
    end.last = at;
    ++size_;
  }

  std::optional<std::uint32_t> Pop() {
    if (size_ == 0) return std::nullopt;
    --size_;
    if (!by_inode_.empty()) {
      const std::uint32_t at = by_inode_.back();
      by_inode_.pop_back();
      return at;
    }
    for (std::size_t i = kEnds; i > 0; --i) {
      End& end = ends_[i - 1];
      if (end.first == kNone) continue;
      const std::uint32_t at = end.first;
      end.first = LinkOf(at).next;
      if (end.first == kNone) end.last = kNone;
      return at;
    }
    return std::nullopt;
  }

  // For spinning disks: what waits now comes in the order of the inode numbers, which is about that on the disk.
  void SortByInode() {
    const std::size_t waiting = size_;
    std::vector<std::uint32_t> rows;
    while (const std::optional<std::uint32_t> at = Pop()) rows.push_back(*at);
    std::sort(rows.begin(), rows.end(),
              [this](std::uint32_t a, std::uint32_t b) { return LinkOf(a).inode > LinkOf(b).inode; });
    by_inode_ = std::move(rows);
    size_ = waiting;
  }

  void Clear() {
    while (Pop()) {
    }
  }
  std::size_t size() const { return size_; }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::size_t kEnds = 65;
  struct Link {
    std::uint64_t inode;
    std::uint32_t next;
    std::uint32_t unused;
  };
  static_assert(sizeof(Link) == kMd5Bytes);
  struct End {
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
  };
  Link LinkOf(std::uint32_t at) const {
    Link link;
    std::memcpy(&link, table_.row(at).md5, sizeof(link));
    return link;
  }

  FileTable& table_;
  End ends_[kEnds];
  std::vector<std::uint32_t> by_inode_;
  std::size_t size_ = 0;
};

}  // namespace paritect

#endif  // PARITECT_AGENT_DATASETS_FILE_QUEUE_H_
