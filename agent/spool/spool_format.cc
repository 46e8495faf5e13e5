#include "agent/spool/spool_format.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/crc.h"
#include "common/little_endian.h"

namespace paritect::spool_format {
namespace {

constexpr absl::string_view kSlotMagic = "PTSTATE1";
constexpr absl::string_view kSegmentMagic = "PTSPOOL1";
constexpr absl::string_view kDropMagic = "PTDROP01";

void Put32(std::uint32_t value, std::string& out) {
  out += LittleEndianBytes(value, 4);
}
void Put64(std::uint64_t value, std::string& out) {
  out += LittleEndianBytes(value, 8);
}

// Takes fields off the front of bytes whose size was checked before.
class Fields {
 public:
  explicit Fields(absl::string_view bytes) : rest_(bytes) {}
  std::uint64_t Get(std::size_t bytes) {
    const std::uint64_t value = LittleEndian(rest_, 0, bytes);
    rest_.remove_prefix(bytes);
    return value;
  }
  std::uint32_t Get32() { return static_cast<std::uint32_t>(Get(4)); }
  std::uint64_t Get64() { return Get(8); }
  void Skip(std::size_t bytes) { rest_.remove_prefix(bytes); }

 private:
  absl::string_view rest_;
};

std::uint32_t KeyCrc(const SegmentKey& key, std::uint64_t offset) {
  std::string seed;
  Put64(key.epoch, seed);
  Put64(key.first, seed);
  Put64(offset, seed);
  return Crc32c(0, seed);
}

// Closes a block with the checksum of all before it.
void Seal(std::uint32_t seed, std::size_t begin, std::string& out) {
  Put32(Crc32c(seed, absl::string_view(out).substr(begin)), out);
}

// Whether `bytes` are a whole block that begins with `magic` and ends with its checksum.
bool IsBlock(std::uint32_t seed, absl::string_view bytes, std::size_t size, absl::string_view magic) {
  if (bytes.size() != size || !absl::StartsWith(bytes, magic)) return false;
  Fields crc(bytes.substr(size - 4));
  return crc.Get32() == Crc32c(seed, bytes.substr(0, size - 4));
}

bool IsClass(std::uint64_t value) {
  return value < kRecordClasses;
}
bool IsReason(std::uint64_t value) {
  return value <= static_cast<std::uint64_t>(GapReason::kInterrupted);
}

}  // namespace

std::string EncodeSlot(const Slot& slot) {
  std::string out(kSlotMagic);
  Put64(slot.epoch, out);
  Put64(slot.reserved, out);
  Put64(slot.accepted, out);
  Put64(slot.low_water, out);
  Put32(0, out);
  Seal(0, 0, out);
  return out;
}

std::optional<Slot> DecodeSlot(absl::string_view bytes) {
  if (!IsBlock(0, bytes, kSlotBytes, kSlotMagic)) return std::nullopt;
  Fields fields(bytes);
  fields.Skip(kSlotMagic.size());
  Slot slot;
  slot.epoch = fields.Get64();
  slot.reserved = fields.Get64();
  slot.accepted = fields.Get64();
  slot.low_water = fields.Get64();
  if (slot.reserved == 0 || slot.reserved > kSequenceMax || slot.accepted >= slot.reserved ||
      slot.low_water >= slot.reserved)
    return std::nullopt;
  return slot;
}

std::string EncodeSegmentHeader(const SegmentHeader& header) {
  std::string out(kSegmentMagic);
  Put32(kVersion, out);
  Put32(static_cast<std::uint32_t>(header.record_class), out);
  Put64(header.epoch, out);
  Put64(header.first, out);
  Put64(static_cast<std::uint64_t>(header.created_ms), out);
  Put64(header.skip_from, out);
  Put64(header.skip_to, out);
  Put32(static_cast<std::uint32_t>(header.skip_reason), out);
  Seal(0, 0, out);
  return out;
}

std::optional<SegmentHeader> DecodeSegmentHeader(absl::string_view bytes) {
  if (!IsBlock(0, bytes, kHeaderBytes, kSegmentMagic)) return std::nullopt;
  Fields fields(bytes);
  fields.Skip(kSegmentMagic.size());
  if (fields.Get32() != kVersion) return std::nullopt;
  const std::uint32_t record_class = fields.Get32();
  SegmentHeader header;
  header.epoch = fields.Get64();
  header.first = fields.Get64();
  header.created_ms = static_cast<std::int64_t>(fields.Get64());
  header.skip_from = fields.Get64();
  header.skip_to = fields.Get64();
  const std::uint32_t reason = fields.Get32();
  if (!IsClass(record_class) || !IsReason(reason) || header.first == 0 || header.first > kSequenceMax)
    return std::nullopt;
  if (header.skip_from > header.skip_to || header.skip_to >= header.first) return std::nullopt;
  header.record_class = static_cast<RecordClass>(record_class);
  header.skip_reason = static_cast<GapReason>(reason);
  return header;
}

std::string EncodeDrop(const SegmentKey& key, const Drop& drop) {
  std::string out(kDropMagic);
  Put64(key.epoch, out);
  Put64(key.first, out);
  Put64(drop.from, out);
  Put64(drop.to, out);
  Put32(static_cast<std::uint32_t>(drop.reason), out);
  out.resize(kDropBytes - 4, '\0');
  Seal(0, 0, out);
  return out;
}

std::optional<Drop> DecodeDrop(const SegmentKey& key, absl::string_view bytes) {
  if (!IsBlock(0, bytes, kDropBytes, kDropMagic)) return std::nullopt;
  Fields fields(bytes);
  fields.Skip(kDropMagic.size());
  if (fields.Get64() != key.epoch || fields.Get64() != key.first) return std::nullopt;
  Drop drop;
  drop.from = fields.Get64();
  drop.to = fields.Get64();
  const std::uint32_t reason = fields.Get32();
  if (!IsReason(reason) || drop.from == 0 || drop.from > drop.to || drop.to > kSequenceMax) return std::nullopt;
  drop.reason = static_cast<GapReason>(reason);
  return drop;
}

void AppendRecord(const SegmentKey& key, std::uint64_t offset, RecordHeader header, absl::string_view payload,
                  std::string& out) {
  const std::size_t begin = out.size();
  absl::StrAppend(&out, kRecordMagic);
  Put32(static_cast<std::uint32_t>(payload.size()), out);
  Put64(header.sequence, out);
  Put64(static_cast<std::uint64_t>(header.observed_ms), out);
  Put32(static_cast<std::uint32_t>(header.record_class), out);
  Put32(Crc32c(0, payload), out);
  Seal(KeyCrc(key, offset), begin, out);
  absl::StrAppend(&out, payload);
}

std::optional<RecordHeader> DecodeRecordHeader(const SegmentKey& key, std::uint64_t offset, absl::string_view bytes) {
  if (!absl::StartsWith(bytes, kRecordMagic)) return std::nullopt;  // before the seed: a search asks often
  if (!IsBlock(KeyCrc(key, offset), bytes, kRecordHeaderBytes, kRecordMagic)) return std::nullopt;
  Fields fields(bytes);
  fields.Skip(kRecordMagic.size());
  RecordHeader header;
  header.length = fields.Get32();
  header.sequence = fields.Get64();
  header.observed_ms = static_cast<std::int64_t>(fields.Get64());
  const std::uint32_t record_class = fields.Get32();
  header.payload_crc = fields.Get32();
  if (header.length > kPayloadBytesMax || header.sequence > kSequenceMax || !IsClass(record_class)) return std::nullopt;
  header.record_class = static_cast<RecordClass>(record_class);
  return header;
}

std::string EncodeSegmentName(const SegmentName& name) {
  return absl::StrCat(name.record_class == RecordClass::kCritical ? "critical-" : "bulk-",
                      absl::Hex(name.first, absl::kZeroPad16), ".seg");
}

std::optional<SegmentName> DecodeSegmentName(absl::string_view name) {
  SegmentName decoded;
  decoded.record_class = absl::StartsWith(name, "critical-") ? RecordClass::kCritical : RecordClass::kBulk;
  const std::size_t begin = name.find('-');
  if (begin == absl::string_view::npos || name.size() < begin + 17) return std::nullopt;
  for (const char c : name.substr(begin + 1, 16)) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return std::nullopt;
    decoded.first = decoded.first << 4 | static_cast<std::uint64_t>(digit);
  }
  if (decoded.first == 0 || decoded.first > kSequenceMax || EncodeSegmentName(decoded) != name) return std::nullopt;
  return decoded;
}

}  // namespace paritect::spool_format
