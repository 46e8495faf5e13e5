// Arrow IPC: rows of the record batches, of a file (Feather v2) by its footer, of a stream message by message.
// Source: Arrow columnar format, "Serialization and Interprocess Communication"; FlatBuffers internals.
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "formats/datasets/records/record_form.h"

namespace paritect {
namespace {

constexpr std::uint64_t kContinuation = 0xFFFFFFFF;
constexpr std::uint64_t kMetadataBytesMax = 16 << 20;
constexpr int kSchema = 1;
constexpr int kRecordBatch = 3;

// A table of a flatbuffer; every step is checked against the bytes.
class FlatTable {
 public:
  FlatTable(absl::string_view bytes, std::uint64_t at) : bytes_(bytes), at_(at) {}

  static std::optional<FlatTable> Root(absl::string_view bytes) {
    if (bytes.size() < 4) return std::nullopt;
    return At(bytes, LittleEndian(bytes, 0, 4));
  }
  // Byte position of a field; nullopt: not set, or outside.
  std::optional<std::uint64_t> Field(int index, std::size_t width) const {
    if (at_ + 4 > bytes_.size()) return std::nullopt;
    const auto back = static_cast<std::int32_t>(LittleEndian(bytes_, at_, 4));
    const std::int64_t vtable = static_cast<std::int64_t>(at_) - back;
    if (vtable < 0 || static_cast<std::uint64_t>(vtable) + 4 > bytes_.size()) return std::nullopt;
    const std::uint64_t table = static_cast<std::uint64_t>(vtable);
    const std::uint64_t length = LittleEndian(bytes_, table, 2);
    const std::uint64_t slot = 4 + 2 * static_cast<std::uint64_t>(index);
    if (slot + 2 > length || table + slot + 2 > bytes_.size()) return std::nullopt;
    const std::uint64_t offset = LittleEndian(bytes_, table + slot, 2);
    if (offset == 0 || at_ + offset + width > bytes_.size()) return std::nullopt;
    return at_ + offset;
  }
  std::int64_t Number(int index, std::size_t width) const {
    const auto at = Field(index, width);
    return at ? static_cast<std::int64_t>(LittleEndian(bytes_, *at, width)) : 0;
  }
  std::optional<FlatTable> Table(int index) const {
    const auto at = Field(index, 4);
    if (!at) return std::nullopt;
    return At(bytes_, *at + LittleEndian(bytes_, *at, 4));
  }
  // First byte and count of a vector of structs.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> Vector(int index, std::size_t width) const {
    const auto at = Field(index, 4);
    if (!at) return std::nullopt;
    const std::uint64_t begin = *at + LittleEndian(bytes_, *at, 4);
    if (begin + 4 > bytes_.size()) return std::nullopt;
    const std::uint64_t count = LittleEndian(bytes_, begin, 4);
    if (count > (bytes_.size() - begin - 4) / width) return std::nullopt;
    return std::make_pair(begin + 4, count);
  }

 private:
  static std::optional<FlatTable> At(absl::string_view bytes, std::uint64_t at) {
    if (at + 4 > bytes.size()) return std::nullopt;
    return FlatTable(bytes, at);
  }

  absl::string_view bytes_;
  std::uint64_t at_;
};

struct Message {
  int type = 0;
  std::int64_t rows = 0;
  std::int64_t body = 0;
};

// Message: 1 header_type, 2 header, 3 bodyLength; RecordBatch: 0 length.
std::optional<Message> ReadMessage(absl::string_view metadata) {
  const auto root = FlatTable::Root(metadata);
  if (!root) return std::nullopt;
  Message message;
  message.type = static_cast<int>(root->Number(1, 1));
  message.body = root->Number(3, 8);
  const auto header = root->Table(2);
  if (message.type < kSchema || message.type > 5 || !header || message.body < 0) return std::nullopt;
  if (message.type == kRecordBatch) message.rows = header->Number(0, 8);
  if (message.rows < 0 || message.rows > INT64_MAX / 1024) return std::nullopt;
  return message;
}

// Length of the metadata before which the prefix stands (8 bytes, or 4 before Arrow 0.15).
struct Prefix {
  std::uint64_t bytes = 0;
  std::uint64_t metadata = 0;
};
std::optional<Prefix> ReadPrefix(absl::string_view head) {
  if (head.size() < 8) return std::nullopt;
  const bool marked = LittleEndian(head, 0, 4) == kContinuation;
  return Prefix{marked ? 8U : 4U, LittleEndian(head, marked ? 4 : 0, 4)};
}

bool FitsFile(const RecordHead& head) {
  return head.size && absl::StartsWith(head.bytes, absl::string_view("ARROW1\0\0", 8));
}

absl::Status ScanBlocks(RecordReader& reader, const std::string& footer, std::uint64_t footer_at, RecordScan& scan) {
  const auto root = FlatTable::Root(footer);
  if (!root || !root->Table(1)) {
    scan.Garbled(footer_at, "footer");
    return absl::OkStatus();
  }
  const auto blocks = root->Vector(3, 24);
  std::uint64_t rows = 0;
  for (std::uint64_t i = 0; blocks && i < blocks->second; ++i) {
    const std::uint64_t at = blocks->first + 24 * i;
    const std::uint64_t offset = LittleEndian(footer, at, 8);
    const std::uint64_t metadata = LittleEndian(footer, at + 8, 4);
    const std::uint64_t body = LittleEndian(footer, at + 16, 8);
    const std::string name = absl::StrCat("record batch ", i);
    if (offset > footer_at || metadata > kMetadataBytesMax || metadata + offset > footer_at ||
        body > footer_at - offset - metadata) {
      scan.Garbled(footer_at, name + " outside the file");
      return absl::OkStatus();
    }
    PARITECT_ASSIGN_OR_RETURN(const absl::string_view bytes, reader.Peek(offset, metadata));
    const auto prefix = ReadPrefix(bytes);
    const auto message =
        prefix && prefix->bytes <= bytes.size() ? ReadMessage(bytes.substr(prefix->bytes)) : std::nullopt;
    if (!message || message->type != kRecordBatch) {
      scan.Garbled(offset, name);
      return absl::OkStatus();
    }
    rows += static_cast<std::uint64_t>(message->rows);
  }
  scan.records = rows;
  scan.not_all_checked = true;  // what a message holds has no checksum
  return absl::OkStatus();
}

absl::Status ScanFile(RecordReader& reader, RecordScan& scan) {
  const std::uint64_t size = *reader.size();
  if (size < 8 + 10) {
    scan.Cut(size, "footer");
    return absl::OkStatus();
  }
  PARITECT_ASSIGN_OR_RETURN(const absl::string_view tail, reader.Peek(size - 10, 10));
  if (tail.substr(4) != "ARROW1") {
    scan.Cut(size, "footer");
    return absl::OkStatus();
  }
  const std::uint64_t length = LittleEndian(tail, 0, 4);
  if (length > size - 18) {
    scan.Garbled(size - 10, "length of the footer");
    return absl::OkStatus();
  }
  PARITECT_ASSIGN_OR_RETURN(const absl::string_view bytes, reader.Peek(size - 10 - length, length));
  return ScanBlocks(reader, std::string(bytes), size - 10 - length, scan);
}

bool FitsStream(const RecordHead& head) {
  if (head.bytes.size() < 16 || LittleEndian(head.bytes, 0, 4) != kContinuation) return false;
  const std::uint64_t metadata = LittleEndian(head.bytes, 4, 4);
  if (metadata == 0 || metadata > kMetadataBytesMax) return false;
  const auto message = ReadMessage(head.bytes.substr(8, metadata));
  return message && message->type == kSchema;
}

absl::Status ScanStream(RecordReader& reader, RecordScan& scan) {
  std::uint64_t rows = 0;
  std::uint64_t number = 0;
  for (std::uint64_t at = 0;; ++number) {
    scan.records = rows;
    PARITECT_ASSIGN_OR_RETURN(const absl::string_view head, reader.Peek(at, 8));
    if (head.empty()) return absl::OkStatus();  // an end mark may be left out
    const std::string name = absl::StrCat("message ", number);
    if (head.size() < 8) {
      scan.Cut(at, name);
      return absl::OkStatus();
    }
    if (LittleEndian(head, 0, 4) != kContinuation) {
      scan.Garbled(at, name);
      return absl::OkStatus();
    }
    const std::uint64_t length = LittleEndian(head, 4, 4);
    if (length == 0) return absl::OkStatus();
    if (length > kMetadataBytesMax) {
      scan.Garbled(at + 4, name);
      return absl::OkStatus();
    }
    PARITECT_ASSIGN_OR_RETURN(const absl::string_view metadata, reader.Peek(at + 8, length));
    const auto message = metadata.size() == length ? ReadMessage(metadata) : std::nullopt;
    if (!message) {
      metadata.size() < length ? scan.Cut(at, name) : scan.Garbled(at, name);
      return absl::OkStatus();
    }
    const std::uint64_t end = at + 8 + length + static_cast<std::uint64_t>(message->body);
    PARITECT_ASSIGN_OR_RETURN(const bool there, reader.Reaches(end));
    if (!there) {
      scan.Cut(at, name);
      return absl::OkStatus();
    }
    rows += static_cast<std::uint64_t>(message->rows);
    at = end;
  }
}

}  // namespace

extern const RecordForm kArrowFileRecords;
const RecordForm kArrowFileRecords = {"arrow-file", false, &FitsFile, &ScanFile};
extern const RecordForm kArrowStreamRecords;
const RecordForm kArrowStreamRecords = {"arrow-stream", false, &FitsStream, &ScanStream};

}  // namespace paritect
