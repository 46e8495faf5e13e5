// One file as runs of whole MD5 blocks, read in the way that suits it: small files, network disks and what has no
// descriptor by read, large local files through windows of memory, holes of sparse files not at all.
#ifndef PARITECT_AGENT_DATASETS_BLOCK_READER_H_
#define PARITECT_AGENT_DATASETS_BLOCK_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/datasets/mapped_window.h"
#include "common/file_system.h"

namespace paritect {

struct BlockReaderOptions {
  bool map = true;          // large files may be mapped: a local disk
  bool past_cache = false;  // read the medium, not what memory holds of it
  bool settle = false;      // write out what is dirty first: the next write through a mapping then stamps the file anew
  bool keep_ends = false;   // keep the file's beginning and end for who looks at the content
};

// Used for one file after the other; not thread-safe. Files that were not in memory before are put out of it again,
// so that reading everything does not push out what the training needs.
class BlockReader {
 public:
  explicit BlockReader(const BlockReaderOptions& options) : options_(options) {}
  ~BlockReader();

  // `from`: bytes to leave out at the beginning, a multiple of the page size (hashed by an earlier run).
  absl::Status Start(std::unique_ptr<File> file, std::uint64_t from);
  const FileInfo& info() const { return info_; }  // as opened

  struct Run {
    const unsigned char* data = nullptr;
    std::size_t blocks = 0;
    bool last = false;  // the padding is in it: the file ends here
  };
  // The next run, valid until the next call. Never empty.
  absl::StatusOr<Run> Next();

  // After the last run: whether the file is still what it was at its opening, by size, times and what was read.
  absl::StatusOr<bool> Changed();
  std::uint64_t bytes_read() const { return position_; }
  // Only with keep_ends; valid until the next Start.
  absl::string_view head() const { return head_; }
  absl::string_view tail() const { return tail_; }
  // Whether the medium was read in spite of the page cache, where that was asked for.
  bool was_past_cache() const { return direct_ >= 0; }
  // Whether its content was not in memory when it was opened.
  bool was_cold() const { return cold_; }

  void Close();

 private:
  absl::StatusOr<Run> NextRead();
  absl::StatusOr<Run> NextMapped();
  absl::StatusOr<std::size_t> Fill(std::size_t room);
  absl::StatusOr<std::size_t> ReadSome(unsigned char* at, std::size_t bytes);
  bool InHole(std::uint64_t* hole_bytes);
  Run PaddingRun(const unsigned char* rest, std::size_t bytes);
  void Keep(const unsigned char* data, std::size_t bytes);
  void OpenPastCache();
  void LookIfCold();
  void AdviseNext(std::uint64_t from, std::uint64_t bytes) const;

  const BlockReaderOptions options_;
  std::unique_ptr<File> file_;
  FileInfo info_;
  int fd_ = -1;      // the file's own descriptor; -1: by Read only
  int direct_ = -1;  // a second one, past the page cache
  bool map_ = false;
  bool cold_ = false;
  bool short_ = false;            // it ended before its size, or its mapping broke
  std::uint64_t position_ = 0;    // bytes given out or standing in the padding
  std::uint64_t data_until_ = 0;  // up to here no hole
  MappedWindow window_;
  std::unique_ptr<unsigned char, void (*)(void*)> buffer_{nullptr, nullptr};
  std::size_t buffer_bytes_ = 0;
  unsigned char padding_[128] = {};
  std::string head_;
  std::string tail_;
};

}  // namespace paritect

#endif  // PARITECT_AGENT_DATASETS_BLOCK_READER_H_
