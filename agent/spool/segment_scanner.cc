#include "agent/spool/segment_scanner.h"

#include <algorithm>

#include "common/crc.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

using spool_format::kRecordHeaderBytes;
using spool_format::RecordHeader;

constexpr std::size_t kChunkBytes = 64 << 10;
constexpr std::size_t kBlockBytes = 4096;  // what a disk loses at once

}  // namespace

SegmentScanner::SegmentScanner(SpoolFile& file, spool_format::SegmentKey key, RecordClass record_class,
                               std::uint64_t end)
    : file_(file), key_(key), class_(record_class), end_(end), last_sequence_(key.first - 1) {}

absl::StatusOr<std::optional<ScannedRecord>> SegmentScanner::Next() {
  while (offset_ + kRecordHeaderBytes <= end_) {
    PARITECT_ASSIGN_OR_RETURN(const std::optional<RecordHeader> header, HeaderAt(offset_));
    if (!header.has_value()) {
      PARITECT_ASSIGN_OR_RETURN(offset_, FindMagic(offset_ + 1));
      continue;
    }
    const std::uint64_t begin = offset_ + kRecordHeaderBytes;
    PARITECT_ASSIGN_OR_RETURN(const absl::string_view payload, Peek(begin, header->length));
    offset_ = begin + header->length;
    if (Crc32c(0, payload) != header->payload_crc) continue;
    last_sequence_ = header->sequence;
    ScannedRecord record;
    record.header = *header;
    record.payload = payload;
    record.end_offset = offset_;
    return record;
  }
  return std::nullopt;
}

absl::StatusOr<std::optional<RecordHeader>> SegmentScanner::HeaderAt(std::uint64_t offset) {
  PARITECT_ASSIGN_OR_RETURN(const absl::string_view bytes, Peek(offset, kRecordHeaderBytes));
  const std::optional<RecordHeader> header = spool_format::DecodeRecordHeader(key_, offset, bytes);
  if (!header.has_value() || header->record_class != class_ || header->sequence <= last_sequence_ ||
      header->length > end_ - offset - kRecordHeaderBytes) {
    return std::nullopt;
  }
  return header;
}

absl::StatusOr<std::uint64_t> SegmentScanner::FindMagic(std::uint64_t offset) {
  constexpr std::size_t kMagicBytes = spool_format::kRecordMagic.size();
  while (offset + kRecordHeaderBytes <= end_) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kChunkBytes, end_ - offset));
    PARITECT_ASSIGN_OR_RETURN(const absl::string_view bytes, Peek(offset, size));
    const std::size_t at = bytes.find(spool_format::kRecordMagic);
    if (at != absl::string_view::npos) return offset + at;
    offset += size - (kMagicBytes - 1);  // the magic may lie across the border
  }
  return end_;
}

absl::StatusOr<absl::string_view> SegmentScanner::Peek(std::uint64_t offset, std::size_t size) {
  const bool there = offset >= window_offset_ && offset + size <= window_offset_ + window_.size();
  if (!there) {
    const std::uint64_t wanted = std::max<std::uint64_t>(size, kChunkBytes);
    PARITECT_RETURN_IF_ERROR(Fill(offset, static_cast<std::size_t>(std::min(wanted, end_ - offset))));
  }
  return absl::string_view(window_).substr(static_cast<std::size_t>(offset - window_offset_), size);
}

absl::Status SegmentScanner::Fill(std::uint64_t offset, std::size_t size) {
  window_.assign(size, '\0');  // a file that is shorter than it was reads as zeros: damage
  window_offset_ = offset;
  const auto got = file_.ReadAt(offset, absl::MakeSpan(window_));
  if (got.ok()) {
    failed_reads_ = 0;
    if (*got < size) std::fill(window_.begin() + static_cast<std::ptrdiff_t>(*got), window_.end(), '\0');
    return absl::OkStatus();
  }
  window_.clear();
  if (++failed_reads_ < kReadTries) return got.status();
  // One bad place, or a disk that does not answer at all? The latter may come back, so nothing is given up for it.
  char probe = 0;
  if (!file_.ReadAt(0, absl::MakeSpan(&probe, 1)).ok()) return got.status();
  return FillAroundBadBlocks(offset, size);
}

absl::Status SegmentScanner::FillAroundBadBlocks(std::uint64_t offset, std::size_t size) {
  failed_reads_ = 0;
  window_.assign(size, '\0');
  for (std::size_t at = 0; at < size;) {
    const std::size_t to_block_end = kBlockBytes - static_cast<std::size_t>((offset + at) % kBlockBytes);
    const std::size_t piece = std::min(to_block_end, size - at);
    const absl::Span<char> part = absl::MakeSpan(window_).subspan(at, piece);
    if (!file_.ReadAt(offset + at, part).ok()) std::fill(part.begin(), part.end(), '\0');
    at += piece;
  }
  return absl::OkStatus();
}

}  // namespace paritect
