#include "formats/weights/wire_reader.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

using absl::StrCat;

// Small: after a field of bytes the next key stands elsewhere.
constexpr std::uint64_t kWindowBytes = 512;

}  // namespace

absl::StatusOr<std::uint8_t> FileWireReader::Byte() {
  if (at_ >= end_) return absl::DataLossError(StrCat("the message ends at byte ", end_, ", within a field"));
  if (at_ < window_at_ || at_ - window_at_ >= window_.size()) {
    window_at_ = at_;
    PARITECT_ASSIGN_OR_RETURN(window_, bytes_.ReadText(at_, std::min(kWindowBytes, end_ - at_), kWindowBytes));
  }
  return static_cast<std::uint8_t>(window_[static_cast<std::size_t>(at_++ - window_at_)]);
}

absl::StatusOr<std::uint64_t> FileWireReader::Varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    PARITECT_ASSIGN_OR_RETURN(const std::uint8_t byte, Byte());
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return absl::DataLossError(StrCat("a number of more than ten bytes at ", at_));
}

absl::StatusOr<std::uint64_t> FileWireReader::Fixed(int size) {
  std::uint64_t value = 0;
  for (int i = 0; i < size; ++i) {
    PARITECT_ASSIGN_OR_RETURN(const std::uint8_t byte, Byte());
    value |= static_cast<std::uint64_t>(byte) << (8 * i);
  }
  return value;
}

absl::StatusOr<FileWireField> FileWireReader::Next() {
  const std::uint64_t begin = at_;
  PARITECT_ASSIGN_OR_RETURN(const std::uint64_t key, Varint());
  FileWireField field;
  field.number = key >> 3;
  if (field.number == 0) return absl::DataLossError(StrCat("a field without a number at byte ", begin));
  switch (key & 7) {
    case 0: {
      PARITECT_ASSIGN_OR_RETURN(field.value, Varint());
      return field;
    }
    case 1: {
      field.kind = FileWireField::Kind::kFixed64;
      PARITECT_ASSIGN_OR_RETURN(field.value, Fixed(8));
      return field;
    }
    case 2: {
      field.kind = FileWireField::Kind::kBytes;
      PARITECT_ASSIGN_OR_RETURN(field.length, Varint());
      field.offset = at_;
      if (field.length > end_ - at_) {
        return absl::DataLossError(StrCat("field ", field.number, " at byte ", begin, " states ", field.length,
                                          " bytes, ", end_ - at_, " are left (file cut off?)"));
      }
      at_ += field.length;
      return field;
    }
    case 5: {
      field.kind = FileWireField::Kind::kFixed32;
      PARITECT_ASSIGN_OR_RETURN(field.value, Fixed(4));
      return field;
    }
    default: return absl::DataLossError(StrCat("a field of wire type ", key & 7, " at byte ", begin));
  }
}

}  // namespace paritect
