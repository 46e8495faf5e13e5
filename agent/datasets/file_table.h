// The names below a root with what is known of each, in little memory: 52 bytes and the name a file, so that ten
// million files fit into half a gigabyte and a bit.
#ifndef PARITECT_AGENT_DATASETS_FILE_TABLE_H_
#define PARITECT_AGENT_DATASETS_FILE_TABLE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "common/md5/md5_lanes.h"
#include "paritect/v1/dataset.pb.h"

namespace paritect {

// One name. Where it stands is its folder and its name in the folder.
struct FileRow {
  enum Type : std::uint8_t { kRegular, kSymlink, kEmptyFolder, kSpecial };
  enum Flag : std::uint8_t {
    kHashed = 1,      // md5 is the digest
    kFromCache = 2,   // ... and was not computed now
    kCopy = 4,        // a hard link to another row, whose number stands in md5
    kNotRead = 8,     // no digest; the reason is in the table's extras
    kPastCache = 32,  // read from the medium, past the page cache
    kFollowed = 16,   // a link to a regular file; its target is in the extras
  };
  std::uint64_t size_bytes = 0;
  // Before the digest: inode number and the next row that waits (file_queue.h), or the row that this is a copy of.
  unsigned char md5[kMd5Bytes] = {};
  std::uint32_t folder = 0;
  std::uint32_t name_low = 0;  // where the name begins
  std::uint16_t name_high = 0;
  std::uint16_t name_bytes = 0;
  std::uint32_t hashed_at_unix_s = 0;  // of a digest from the cache
  Type type = kRegular;
  std::uint8_t flags = 0;

  bool is(Flag flag) const { return (flags & flag) != 0; }
};
static_assert(sizeof(FileRow) == 48);

// What few rows have.
struct FileExtra {
  std::string link_target;
  v1::Problem error;
  bool has_error = false;
  bool changed = false;  // while it was read
  bool dangling = false;
  bool loop = false;
  bool unseen_folder = false;  // a link to a folder that was not entered; `target` says which
  std::pair<std::uint64_t, std::uint64_t> target;
};

// Not thread-safe, but rows never move: a row may be used while others are added.
class FileTable {
 public:
  std::uint32_t AddFolder(std::uint32_t parent, absl::string_view name);  // the first is the root
  std::uint32_t Add(std::uint32_t folder, absl::string_view name);

  FileRow& row(std::uint32_t at) { return chunks_[at / kChunkRows][at % kChunkRows]; }
  const FileRow& row(std::uint32_t at) const { return chunks_[at / kChunkRows][at % kChunkRows]; }
  std::uint32_t size() const { return size_; }

  // The row whose content a row has: itself but for copies.
  std::uint32_t OriginalOf(std::uint32_t at) const;
  void MarkCopy(std::uint32_t at, std::uint32_t original);

  absl::string_view NameOf(std::uint32_t at) const;
  std::string PathOf(std::uint32_t at) const;  // relative to the root
  std::string FolderPath(std::uint32_t folder) const;
  absl::string_view FolderName(std::uint32_t folder) const;
  std::uint32_t ParentOf(std::uint32_t folder) const { return folders_[folder].parent; }

  // What was seen in a row's content: hints, digests that explain. As bytes: every file of a set of texts has some.
  void SetRemarks(std::uint32_t at, v1::FileEntry remarks);
  std::optional<v1::FileEntry> RemarksOf(std::uint32_t at) const;

  // Every row, ordered by the bytes of its path.
  void ForEachSorted(absl::FunctionRef<void(std::uint32_t row, const std::string& path)> visit) const;

  std::map<std::uint32_t, FileExtra> extras;
  // Chaining states of large files that were read now (lane_hasher.h).
  std::map<std::uint32_t, std::vector<Md5State>> states;
  std::vector<v1::UnreadFolder> unread_folders;
  std::vector<v1::Problem> incomplete;
  bool root_is_file = false;

 private:
  static constexpr std::uint32_t kChunkRows = 1 << 14;
  struct FolderRow {
    std::uint32_t parent;
    std::uint64_t name;
    std::uint32_t name_bytes;
  };
  // Bytes in large pieces, each of what was added in one of them.
  class Texts {
   public:
    static constexpr std::size_t kChunkBytes = 1 << 20;  // and of one text at most
    std::uint64_t Add(absl::string_view text);
    absl::string_view At(std::uint64_t at, std::size_t bytes) const;

   private:
    std::vector<std::unique_ptr<char[]>> chunks_;
    std::size_t room_ = 0;  // left in the last chunk
  };
  struct Remarks {
    std::uint64_t at;
    std::uint32_t bytes;
  };

  std::vector<std::unique_ptr<FileRow[]>> chunks_;
  std::uint32_t size_ = 0;
  Texts names_;
  Texts remarks_;
  absl::flat_hash_map<std::uint32_t, Remarks> remarks_of_;
  std::deque<FolderRow> folders_;
};

}  // namespace paritect

#endif  // PARITECT_AGENT_DATASETS_FILE_TABLE_H_
