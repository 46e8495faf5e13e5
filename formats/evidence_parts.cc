#include "formats/evidence_parts.h"

#include "absl/strings/str_cat.h"
#include "common/digest.h"
#include "common/message_bytes.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr std::size_t kDigestBytes = 32;
// A payload below this is not worth a part of its own.
constexpr std::size_t kOwnPartBytesMin = 1024;
// Files of one part of a file list, in the middle: about 10 KiB.
constexpr std::uint64_t kFilesOfPart = 128;

void AddPart(std::string bytes, EvidenceParts& out) {
  out.piece.add_part_sha256(Sha256(bytes));
  out.parts.push_back(std::move(bytes));
}

void AddParts(absl::string_view bytes, EvidenceParts& out) {
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kContentPartBytesMax))) {
    AddPart(std::string(bytes.substr(0, kContentPartBytesMax)), out);
  }
}

// A number of Protobuf's wire form; false at the end of the bytes.
bool TakeVarint(absl::string_view bytes, std::size_t& at, std::uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && at < bytes.size(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

// Whether a part begins before the file of this entry: decided by its name, so that it is the same on every node and
// for every version of the list.
bool BeginsPart(absl::string_view entry) {
  std::size_t at = 0;
  std::uint64_t tag = 0;
  std::uint64_t length = 0;
  if (!TakeVarint(entry, at, tag) || tag != 0x0A || !TakeVarint(entry, at, length)) return false;
  std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
  for (char c : entry.substr(at, length)) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return (hash >> 32) % kFilesOfPart == 0;
}

// Where a serialized file list is cut: before its first file, before files whose name says so, behind the last one.
// Lists that differ in few files so have all other parts in common. Empty: no file list.
std::vector<std::size_t> ListCuts(absl::string_view body) {
  constexpr std::uint64_t kFilesTag = v1::Evidence::kFilesFieldNumber << 3 | 2;
  constexpr std::uint64_t kEntryTag = v1::FileList::kFilesFieldNumber << 3 | 2;
  std::vector<std::size_t> cuts;
  std::size_t at = 0;
  std::uint64_t tag = 0;
  std::uint64_t length = 0;
  if (!TakeVarint(body, at, tag) || tag != kFilesTag || !TakeVarint(body, at, length)) return cuts;
  bool inside = false;
  while (at < body.size()) {
    const std::size_t begin = at;
    if (!TakeVarint(body, at, tag) || !TakeVarint(body, at, length)) return {};
    const std::size_t kind = tag & 7;
    if (kind != 0 && kind != 2) return {};
    if (kind == 2 && length > body.size() - at) return {};
    const bool entry = tag == kEntryTag;
    if (entry != inside || (entry && BeginsPart(body.substr(at, length)))) cuts.push_back(begin);
    inside = entry;
    if (kind == 2) at += length;
  }
  return cuts;
}

void AddBody(absl::string_view body, EvidenceParts& out) {
  std::size_t begin = 0;
  for (std::size_t cut : ListCuts(body)) {
    AddParts(body.substr(begin, cut - begin), out);
    begin = cut;
  }
  AddParts(body.substr(begin), out);
}

// What was found, without where, changes its owner; no copy of what may be large.
void SwapPayload(v1::Evidence& from, v1::Evidence& to) {
  const google::protobuf::Reflection* reflection = from.GetReflection();
  const auto* which = from.GetDescriptor()->FindOneofByName("payload");
  if (const auto* field = reflection->GetOneofFieldDescriptor(from, which); field != nullptr) {
    reflection->SwapFields(&from, &to, {field});
  }
}

std::string NameOf(const v1::Piece& piece) {
  return absl::StrCat("piece ", piece.index(), " (", v1::EvidenceKind_Name(piece.kind()), " of ",
                      DisplayBytes(piece.source()), ")");
}

absl::Status Lost(const v1::Piece& piece, absl::string_view what) {
  return absl::DataLossError(absl::StrCat(NameOf(piece), ": ", what));
}

absl::StatusOr<std::string> Concatenate(
    const v1::Piece& piece, absl::FunctionRef<absl::StatusOr<std::string>(absl::string_view sha256)> part) {
  std::string whole;
  for (int i = 0; i < piece.part_sha256_size(); ++i) {
    const absl::StatusOr<std::string> bytes = part(piece.part_sha256(i));
    if (absl::IsNotFound(bytes.status())) {
      return Lost(piece, absl::StrCat("part ", i + 1, " of ", piece.part_sha256_size(), " is missing"));
    }
    if (!bytes.ok()) return Annotate(bytes.status(), NameOf(piece));
    if (whole.size() + bytes->size() > static_cast<std::size_t>(piece.total_bytes())) {
      return Lost(piece, "its parts are longer than the whole");
    }
    absl::StrAppend(&whole, *bytes);
  }
  return whole;
}

}  // namespace

absl::StatusOr<EvidenceParts> TakeApart(v1::Evidence& evidence) {
  EvidenceParts out;
  out.piece.set_kind(evidence.kind());
  out.piece.set_outcome(evidence.outcome());
  out.piece.set_source(evidence.source());
  if (evidence.has_rank()) out.piece.set_rank(evidence.rank());

  v1::Evidence payload;
  SwapPayload(evidence, payload);
  std::string head = SerializeStable(evidence);
  std::string body = SerializeStable(payload);
  SwapPayload(payload, evidence);
  out.piece.set_subject(evidence.subject());  // UTF-8 now
  const std::size_t total = head.size() + body.size();
  if (total > static_cast<std::size_t>(kEvidenceBytesMax)) {
    return absl::ResourceExhaustedError(absl::StrCat("evidence of ", total, " bytes; at most ", kEvidenceBytesMax));
  }
  Digest whole(DigestKind::kSha256);
  whole.Update(head);
  whole.Update(body);
  out.piece.set_sha256(whole.Finish());
  out.piece.set_total_bytes(static_cast<std::int64_t>(total));
  if (body.size() < kOwnPartBytesMin) {
    absl::StrAppend(&head, body);
    body.clear();
  }
  AddParts(head, out);
  AddBody(body, out);
  return out;
}

absl::Status CheckPiece(const v1::Piece& piece) {
  if (piece.task_id().empty()) return absl::InvalidArgumentError("a piece of no task");
  if (piece.index() < 0) return absl::InvalidArgumentError("a piece with a negative index");
  if (piece.sha256().size() != kDigestBytes) return absl::InvalidArgumentError("a piece without its SHA-256");
  if (piece.total_bytes() < 0 || piece.total_bytes() > kEvidenceBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("a piece of ", piece.total_bytes(), " bytes"));
  }
  for (const std::string& digest : piece.part_sha256()) {
    if (digest.size() != kDigestBytes) return absl::InvalidArgumentError("a piece with a part without its SHA-256");
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::Evidence> PutTogether(
    const v1::Piece& piece, absl::FunctionRef<absl::StatusOr<std::string>(absl::string_view sha256)> part) {
  const std::int64_t total = piece.total_bytes();
  if (total < 0 || total > kEvidenceBytesMax) return Lost(piece, "its size is not possible");
  PARITECT_ASSIGN_OR_RETURN(const std::string whole, Concatenate(piece, part));
  if (whole.size() != static_cast<std::size_t>(piece.total_bytes())) {
    return Lost(piece, absl::StrCat("it has ", whole.size(), " of ", piece.total_bytes(), " bytes"));
  }
  if (Sha256(whole) != piece.sha256()) return Lost(piece, "its SHA-256 differs");
  v1::Evidence evidence;
  if (!ParseStable(whole, evidence)) return Lost(piece, "it is no evidence message");
  return evidence;
}

}  // namespace paritect
