// The spool's bytes on disk: encoding and decoding, no I/O. The reader is agent/spool/segment_scanner.h.
//
//   DIR/lock                   flock'ed by the one process that uses the spool; holds its pid
//   DIR/state                  two equal slots at 0 and 4096, each synced before it counts
//   DIR/mark                   one slot, written after every commit, not synced
//   DIR/critical-N.seg, DIR/bulk-N.seg   segments; N: the first sequence in 16 lower-case hex digits
//
// All integers are little-endian, all checksums CRC-32C.
//
//   slot    (48 bytes)  magic "PTSTATE1" · epoch u64 · reserved u64 · accepted u64 · low_water u64 · zero u32 · crc u32
//   segment             header · drop slot · drop slot · record*
//   header  (64 bytes)  magic "PTSPOOL1" · version u32 (1) · class u32 · epoch u64 · first u64 · created_ms i64 ·
//                       skip_from u64 · skip_to u64 · reason u32 · crc u32
//   drop    (64 bytes)  magic "PTDROP01" · epoch u64 · first u64 · from u64 · to u64 · reason u32 · zero u32 ·
//                       zero u64 · zero u32 · crc u32; all zero where nothing was dropped
//   record              header (36 bytes): magic "PREC" · length u32 · sequence u64 · observed_ms i64 · class u8 ·
//                       zero u8[3] · payload_crc u32 · crc u32; then `length` bytes of payload
//
// A record's header checksum starts from the epoch, the segment's first sequence and the record's own offset: a copy
// of a record elsewhere (another spool's block, a record inside a payload) is not a record, and the payload's checksum
// stands in the header, so that a payload cannot be taken for another record's. The header has a checksum of its own so
// that its length can be trusted when the payload is damaged, and so that the search for the next record after a
// damaged header costs 36 bytes a candidate, not a payload.
#ifndef PARITECT_AGENT_SPOOL_SPOOL_FORMAT_H_
#define PARITECT_AGENT_SPOOL_SPOOL_FORMAT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace paritect {

// Verdict-critical records are never dropped; bulk (step series, file lists) is, oldest first, when space runs out.
enum class RecordClass : std::uint8_t { kCritical = 0, kBulk = 1 };
inline constexpr int kRecordClasses = 2;

// Why numbers carry no record. Values are written to disk and sent: append only.
enum class GapReason : std::uint8_t {
  kNone = 0,
  kDamaged = 1,      // accepted, and its bytes are damaged, cut off or gone
  kDroppedFull = 2,  // accepted, bulk, dropped for space
  kDroppedAge = 3,   // accepted, bulk, dropped for its age
  kNotWritten = 4,   // never accepted: the write failed and its caller was told
  kInterrupted = 5,  // the process ended without closing (kill, power); as far as is known never given to an accepted
                     // record
};

// Whether accepted records were lost: the rest of the reasons only explain a jump in the numbers.
inline bool IsLoss(GapReason reason) {
  return reason == GapReason::kDamaged || reason == GapReason::kDroppedFull || reason == GapReason::kDroppedAge;
}

namespace spool_format {

inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kSlotBytes = 48;
inline constexpr std::uint64_t kSecondSlotOffset = 4096;  // another disk sector, another page
inline constexpr std::size_t kHeaderBytes = 64;
inline constexpr std::size_t kDropBytes = 64;
inline constexpr std::uint64_t kRecordsOffset = kHeaderBytes + 2 * kDropBytes;
inline constexpr std::uint64_t DropOffset(int slot) {
  return kHeaderBytes + static_cast<std::uint64_t>(slot) * kDropBytes;
}
inline constexpr std::size_t kRecordHeaderBytes = 36;
inline constexpr std::uint64_t kSequenceMax = std::uint64_t{1}
                                              << 62;          // decoders refuse higher numbers: sums do not wrap
inline constexpr std::uint32_t kPayloadBytesMax = 64u << 20;  // what a reader allocates at most

struct Slot {
  std::uint64_t epoch = 0;
  std::uint64_t reserved = 1;   // every number ever given is below it
  std::uint64_t accepted = 0;   // at least so far records were accepted
  std::uint64_t low_water = 0;  // acknowledged up to and including
};

struct SegmentHeader {
  RecordClass record_class = RecordClass::kBulk;
  std::uint64_t epoch = 0;
  std::uint64_t first = 0;  // no record of the segment has a lower number
  std::int64_t created_ms = 0;
  // skip_from..skip_to (both included; none when skip_from is 0) carry no record, whatever any segment holds.
  std::uint64_t skip_from = 0;
  std::uint64_t skip_to = 0;
  GapReason skip_reason = GapReason::kNone;
};

// The bulk records of from..to are gone; the segment's own records do not count any more.
struct Drop {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  GapReason reason = GapReason::kNone;
};

// What every record and drop of a segment is bound to.
struct SegmentKey {
  std::uint64_t epoch = 0;
  std::uint64_t first = 0;
};

struct RecordHeader {
  std::uint32_t length = 0;
  std::uint64_t sequence = 0;
  std::int64_t observed_ms = 0;
  RecordClass record_class = RecordClass::kBulk;
  std::uint32_t payload_crc = 0;
};

std::string EncodeSlot(const Slot& slot);
std::string EncodeSegmentHeader(const SegmentHeader& header);
std::string EncodeDrop(const SegmentKey& key, const Drop& drop);
// Appends header and payload to `out`; the record's first byte will stand at `offset` of its segment. Sets length and
// payload_crc itself.
void AppendRecord(const SegmentKey& key, std::uint64_t offset, RecordHeader header, absl::string_view payload,
                  std::string& out);

// Nothing where the bytes are not exactly what the encoder makes: wrong magic, checksum, version or size.
std::optional<Slot> DecodeSlot(absl::string_view bytes);
std::optional<SegmentHeader> DecodeSegmentHeader(absl::string_view bytes);
std::optional<Drop> DecodeDrop(const SegmentKey& key, absl::string_view bytes);
std::optional<RecordHeader> DecodeRecordHeader(const SegmentKey& key, std::uint64_t offset, absl::string_view bytes);

inline constexpr absl::string_view kRecordMagic = "PREC";

struct SegmentName {
  RecordClass record_class = RecordClass::kBulk;
  std::uint64_t first = 0;
};
std::string EncodeSegmentName(const SegmentName& name);  // "bulk-00000000000000ff.seg"
std::optional<SegmentName> DecodeSegmentName(absl::string_view name);

}  // namespace spool_format
}  // namespace paritect

#endif  // PARITECT_AGENT_SPOOL_SPOOL_FORMAT_H_
