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

void AddPart(std::string bytes, EvidenceParts& out) {
  out.piece.add_part_sha256(Sha256(bytes));
  out.parts.push_back(std::move(bytes));
}

void AddParts(absl::string_view bytes, EvidenceParts& out) {
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kContentPartBytesMax))) {
    AddPart(std::string(bytes.substr(0, kContentPartBytesMax)), out);
  }
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
  AddParts(body, out);
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
