// Evidence bundles (.pbundle): what `paritect-agent collect` gathered, carried as one file.
//
// Layout (docs/bundle_format.md has it with the reasons; integers are little-endian):
//   file    := magic[8] version:u32 record* end
//   record  := type:u8 length:u32 payload[length] crc:u32      crc: CRC-32 (zlib) of type, length and payload
//   type 1  plan       the Bundle message without its evidence; first record, exactly once
//   type 2  evidence   one Evidence message; any number, in the order of collection
//   type 255 end       count:u64 of the records before it, then SHA-256 of every byte before this record
// Nothing follows the end record: a cut or lengthened file is seen whatever the place of the cut.
#ifndef PARITECT_FORMATS_BUNDLE_H_
#define PARITECT_FORMATS_BUNDLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/message_bytes.h"
#include "formats/evidence_parts.h"
#include "paritect/v1/evidence.pb.h"

namespace paritect {

// Begins with a byte that is no text and holds both kinds of line end, so that a transfer "as text"
// is noticed at once (the idea is PNG's signature).
inline constexpr absl::string_view kBundleMagic = "\x89PBL\r\n\x1a\n";
inline constexpr std::uint32_t kBundleVersion = 1;
inline constexpr std::uint32_t kBundleRecordBytesMax = 1u << 30;
inline constexpr std::uint64_t kBundleRecordsMax = 4'000'000;
inline constexpr std::uint64_t kBundleBytesMax = std::uint64_t{4} << 30;

// Whether a file that begins with these bytes is (or was) a bundle.
bool LooksLikeBundle(absl::string_view head);

// A bundle's bytes, piece by piece, so that no more of its evidence than one piece need be in memory as a message.
class BundleWriter {
 public:
  // What `bundle` says beside its evidence.
  explicit BundleWriter(const v1::Bundle& bundle);
  // Texts that are not UTF-8 get their display form in `evidence`. ResourceExhausted: a record above the limit.
  absl::Status Add(v1::Evidence& evidence);
  // `evidence` has its list without files.
  absl::Status Add(v1::Evidence& evidence, FilesOfList files);
  // The bytes of all that was added, in pieces that follow one another; the writer has no further use.
  absl::StatusOr<std::vector<std::string>> Finish();

 private:
  absl::Status AddRecord(int type, std::vector<std::string> payload);

  std::vector<std::string> bytes_;
  std::uint64_t records_ = 0;
  absl::Status status_;
};

// The bundle's bytes: the same bundle gives the same bytes. Texts that are not UTF-8 (protobuf would
// refuse them on reading) are written in their display form. ResourceExhausted: a record above the limit.
absl::StatusOr<std::string> SerializeBundle(const v1::Bundle& bundle);

// DataLoss "byte N: ..." for what is cut, damaged or not a bundle; Unimplemented for a later version;
// ResourceExhausted above a limit. Memory: bounded by the budget, never by a length that the bundle states.
absl::StatusOr<v1::Bundle> ParseBundle(absl::string_view bytes, MessageBudget budget = {});

}  // namespace paritect

#endif  // PARITECT_FORMATS_BUNDLE_H_
