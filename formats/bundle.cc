#include "formats/bundle.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/crc.h"
#include "common/digest.h"
#include "common/little_endian.h"
#include "common/message_bytes.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

enum RecordType : std::uint8_t { kPlanRecord = 1, kEvidenceRecord = 2, kEndRecord = 255 };

constexpr std::size_t kHeaderBytes = 12;     // magic, version
constexpr std::size_t kRecordHeadBytes = 5;  // type, length
constexpr std::size_t kCrcBytes = 4;
constexpr std::size_t kEndPayloadBytes = 40;  // count, SHA-256

// --- reading ----------------------------------------------------------------------------------------

absl::Status Damaged(std::size_t at, absl::string_view what) {
  return absl::DataLossError(absl::StrCat("byte ", at, ": ", what));
}

struct Record {
  std::uint8_t type = 0;
  absl::string_view payload;
};

class Reader {
 public:
  explicit Reader(absl::string_view bytes) : bytes_(bytes) {}

  std::size_t at() const { return at_; }
  bool done() const { return at_ == bytes_.size(); }

  absl::Status ReadHeader() {
    if (!absl::StartsWith(bytes_, kBundleMagic)) return Damaged(0, "this is not an evidence bundle");
    if (bytes_.size() < kHeaderBytes) return Damaged(bytes_.size(), "cut off within the header");
    const std::uint64_t version = LittleEndian(bytes_, 8, 4);
    if (version != kBundleVersion) {
      return absl::UnimplementedError(
          absl::StrCat("bundle format ", version, "; this version reads format ", kBundleVersion));
    }
    at_ = kHeaderBytes;
    return absl::OkStatus();
  }

  absl::StatusOr<Record> Next() {
    const std::size_t left = bytes_.size() - at_;
    if (left == 0) return Damaged(at_, "cut off: the end record is missing");
    if (left < kRecordHeadBytes) return Damaged(at_, "cut off within a record's head");
    const std::uint64_t length = LittleEndian(bytes_, at_ + 1, 4);
    if (length > kBundleRecordBytesMax) {
      return absl::ResourceExhaustedError(absl::StrCat("byte ", at_, ": a record of ", length, " bytes"));
    }
    if (left < kRecordHeadBytes + length + kCrcBytes) {
      return Damaged(at_, absl::StrCat("a record of ", length, " bytes is cut off"));
    }
    const std::size_t crc_at = at_ + kRecordHeadBytes + length;
    if (Crc32(0, bytes_.substr(at_, kRecordHeadBytes + length)) != LittleEndian(bytes_, crc_at, kCrcBytes)) {
      return Damaged(at_, "the record's CRC-32 does not fit: its bytes were changed");
    }
    Record record = {static_cast<std::uint8_t>(bytes_[at_]), bytes_.substr(at_ + kRecordHeadBytes, length)};
    at_ = crc_at + kCrcBytes;
    return record;
  }

 private:
  absl::string_view bytes_;
  std::size_t at_ = 0;
};

absl::Status ParseMessage(absl::string_view payload, std::size_t at, MessageBudget& budget,
                          google::protobuf::Message& message) {
  PARITECT_RETURN_IF_ERROR(Annotate(TakeFromBudget(payload, message, budget), absl::StrCat("byte ", at)));
  if (!ParseStable(payload, message)) return Damaged(at, "the record is not a message of this format");
  return absl::OkStatus();
}

absl::Status CheckEnd(absl::string_view bytes, const Record& end, std::size_t at, std::uint64_t records) {
  if (end.payload.size() != kEndPayloadBytes) return Damaged(at, "the end record has another size");
  const std::uint64_t stated = LittleEndian(end.payload, 0, 8);
  if (stated != records) {
    return Damaged(at, absl::StrCat("the end record counts ", stated, " records; there are ", records));
  }
  if (Sha256(bytes.substr(0, at)) != end.payload.substr(8)) {
    return Damaged(at, "the SHA-256 of the bundle does not fit: its bytes were changed");
  }
  return absl::OkStatus();
}

}  // namespace

bool LooksLikeBundle(absl::string_view head) {
  // What a transfer as text leaves of the magic is still a (damaged) bundle.
  return absl::StartsWith(head, kBundleMagic.substr(0, 4));
}

BundleWriter::BundleWriter(const v1::Bundle& bundle) {
  bytes_.push_back(absl::StrCat(kBundleMagic, LittleEndianBytes(kBundleVersion, 4)));
  v1::Bundle head;
  *head.mutable_plan() = bundle.plan();
  head.set_collected_by(bundle.collected_by());
  head.set_collected_at_unix_ms(bundle.collected_at_unix_ms());
  status_ = AddRecord(kPlanRecord, {SerializeStable(head)});
}

absl::Status BundleWriter::AddRecord(int type, std::vector<std::string> payload) {
  std::size_t bytes = 0;
  for (const std::string& one : payload) bytes += one.size();
  if (bytes > kBundleRecordBytesMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a record of ", bytes, " bytes; at most ", kBundleRecordBytesMax, " fit into a bundle"));
  }
  bytes_.push_back(absl::StrCat(std::string(1, static_cast<char>(type)), LittleEndianBytes(bytes, 4)));
  std::uint32_t crc = Crc32(0, bytes_.back());
  for (std::string& one : payload) {
    crc = Crc32(crc, one);
    bytes_.push_back(std::move(one));
  }
  bytes_.push_back(LittleEndianBytes(crc, 4));
  ++records_;
  return absl::OkStatus();
}

absl::Status BundleWriter::Add(v1::Evidence& evidence) {
  PARITECT_RETURN_IF_ERROR(status_);
  status_ = AddRecord(kEvidenceRecord, {SerializeStable(evidence)});
  return status_;
}

absl::Status BundleWriter::Add(v1::Evidence& evidence, FilesOfList files) {
  PARITECT_RETURN_IF_ERROR(status_);
  auto parts = TakeApart(evidence, files, SIZE_MAX);
  if (!parts.ok()) return status_ = parts.status();
  std::vector<std::string> payload;
  payload.reserve(parts->contents.size());
  for (EvidenceParts::Content& one : parts->contents) payload.push_back(std::move(one.bytes));
  status_ = AddRecord(kEvidenceRecord, std::move(payload));
  return status_;
}

absl::StatusOr<std::vector<std::string>> BundleWriter::Finish() {
  PARITECT_RETURN_IF_ERROR(status_);
  Digest digest(DigestKind::kSha256);
  for (const std::string& part : bytes_) digest.Update(part);
  const std::string end = absl::StrCat(LittleEndianBytes(records_, 8), digest.Finish());
  PARITECT_RETURN_IF_ERROR(AddRecord(kEndRecord, {end}));
  return std::move(bytes_);
}

absl::StatusOr<std::string> SerializeBundle(const v1::Bundle& bundle) {
  BundleWriter writer(bundle);
  for (const v1::Evidence& one : bundle.evidence()) {
    v1::Evidence evidence = one;
    PARITECT_RETURN_IF_ERROR(writer.Add(evidence));
  }
  PARITECT_ASSIGN_OR_RETURN(const std::vector<std::string> pieces, writer.Finish());
  return absl::StrJoin(pieces, "");
}

absl::StatusOr<v1::Bundle> ParseBundle(absl::string_view bytes, MessageBudget budget) {
  if (bytes.size() > kBundleBytesMax) {
    return absl::ResourceExhaustedError(absl::StrCat("a bundle of ", bytes.size(), " bytes"));
  }
  Reader reader(bytes);
  PARITECT_RETURN_IF_ERROR(reader.ReadHeader());
  v1::Bundle bundle;
  for (std::uint64_t records = 0;; ++records) {
    const std::size_t at = reader.at();
    if (records > kBundleRecordsMax)
      return absl::ResourceExhaustedError(absl::StrCat("byte ", at, ": too many records"));
    PARITECT_ASSIGN_OR_RETURN(Record record, reader.Next());
    if (record.type == kEndRecord) {
      if (records == 0) return Damaged(at, "the plan record is missing");
      PARITECT_RETURN_IF_ERROR(CheckEnd(bytes, record, at, records));
      if (!reader.done()) return Damaged(reader.at(), "bytes follow the end record");
      return bundle;
    }
    if (record.type == kPlanRecord && records == 0) {
      PARITECT_RETURN_IF_ERROR(ParseMessage(record.payload, at, budget, bundle));
      if (bundle.evidence_size() != 0) return Damaged(at, "the plan record holds evidence");
    } else if (record.type == kEvidenceRecord && records > 0) {
      PARITECT_RETURN_IF_ERROR(ParseMessage(record.payload, at, budget, *bundle.add_evidence()));
    } else {
      return Damaged(at, absl::StrCat("a record of type ", record.type, " has no place here"));
    }
  }
}

}  // namespace paritect
