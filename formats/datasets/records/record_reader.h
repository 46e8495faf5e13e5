// Bounded random access to one file for the record forms: a window over what `read_at` gives, and a budget of bytes.
#ifndef PARITECT_FORMATS_DATASETS_RECORDS_RECORD_READER_H_
#define PARITECT_FORMATS_DATASETS_RECORDS_RECORD_READER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/little_endian.h"
#include "formats/random_access.h"

namespace paritect {

class RecordReader {
 public:
  using ReadAt = RandomAccess::ReadAt;

  static constexpr std::size_t kPeekBytesMax = 64 << 20;

  // `size` is unset for a stream whose length only its end tells; it is then read forwards.
  RecordReader(std::string path, std::optional<std::uint64_t> size, ReadAt read_at, std::uint64_t budget_bytes)
      : path_(std::move(path)), size_(size), read_at_(std::move(read_at)), budget_bytes_(budget_bytes) {}

  const std::string& path() const { return path_; }
  std::optional<std::uint64_t> size() const { return size_; }
  std::uint64_t bytes_read() const { return bytes_read_; }
  std::uint64_t budget_left() const { return budget_bytes_ - bytes_read_; }

  // Up to `n` bytes from `offset` on, fewer at the end; valid until the next call. ResourceExhausted: the budget is
  // used up, or n > kPeekBytesMax. Other errors: of read_at.
  absl::StatusOr<absl::string_view> Peek(std::uint64_t offset, std::size_t n);
  // What stands from `offset` on: a window as large as reading forwards makes it, at most `most` bytes; empty at the
  // end.
  absl::StatusOr<absl::string_view> Next(std::uint64_t offset, std::uint64_t most = UINT64_MAX);
  // Whether the file has at least `end` bytes.
  absl::StatusOr<bool> Reaches(std::uint64_t end);

 private:
  absl::Status Fill(std::uint64_t offset, std::size_t n);

  const std::string path_;
  const std::optional<std::uint64_t> size_;
  const ReadAt read_at_;
  const std::uint64_t budget_bytes_;
  std::uint64_t bytes_read_ = 0;
  std::uint64_t begin_ = 0;  // of the window
  std::string window_;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_DATASETS_RECORDS_RECORD_READER_H_
