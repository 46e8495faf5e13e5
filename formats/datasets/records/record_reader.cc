#include "formats/datasets/records/record_reader.h"

#include <algorithm>

#include "common/status_macros.h"

namespace paritect {
namespace {

constexpr std::size_t kForwardBytes = 256 << 10;
constexpr std::size_t kJumpBytes = 4 << 10;

}  // namespace

absl::Status RecordReader::Fill(std::uint64_t offset, std::size_t n) {
  const std::uint64_t end = begin_ + window_.size();
  const bool forward = !size_ || (offset >= begin_ && offset <= end + kJumpBytes);
  std::size_t wanted = std::max(n, forward ? kForwardBytes : kJumpBytes);
  if (size_) wanted = static_cast<std::size_t>(std::min<std::uint64_t>(wanted, *size_ - std::min(*size_, offset)));
  if (wanted > budget_left()) {
    if (n > budget_left()) return absl::ResourceExhaustedError("too much to read");
    wanted = n;
  }
  // What the old window already holds is not read twice.
  std::string next;
  if (offset >= begin_ && offset < end) next = window_.substr(static_cast<std::size_t>(offset - begin_));
  const std::size_t kept = next.size();
  next.resize(std::max(wanted, kept));
  std::size_t got = 0;
  if (next.size() > kept) {
    PARITECT_ASSIGN_OR_RETURN(got, read_at_(offset + kept, absl::MakeSpan(next).subspan(kept)));
  }
  next.resize(kept + got);
  bytes_read_ += got;
  begin_ = offset;
  window_ = std::move(next);
  return absl::OkStatus();
}

absl::StatusOr<absl::string_view> RecordReader::Peek(std::uint64_t offset, std::size_t n) {
  if (n > kPeekBytesMax) return absl::ResourceExhaustedError("too much to hold");
  if (size_ && offset >= *size_) return absl::string_view();
  if (offset < begin_ || offset + n > begin_ + window_.size()) PARITECT_RETURN_IF_ERROR(Fill(offset, n));
  return absl::string_view(window_).substr(static_cast<std::size_t>(offset - begin_), n);
}

absl::StatusOr<absl::string_view> RecordReader::Next(std::uint64_t offset, std::uint64_t most) {
  if (size_ && offset >= *size_) return absl::string_view();
  if (offset < begin_ || offset >= begin_ + window_.size()) {
    const std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(most, 1));
    PARITECT_RETURN_IF_ERROR(Fill(offset, n));
  }
  const absl::string_view rest = absl::string_view(window_).substr(static_cast<std::size_t>(offset - begin_));
  return rest.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(most, rest.size())));
}

absl::StatusOr<bool> RecordReader::Reaches(std::uint64_t end) {
  if (size_) return end <= *size_;
  if (end == 0) return true;
  PARITECT_ASSIGN_OR_RETURN(const absl::string_view last, Peek(end - 1, 1));
  return !last.empty();
}

}  // namespace paritect
