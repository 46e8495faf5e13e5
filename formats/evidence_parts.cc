#include "formats/evidence_parts.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/digest.h"
#include "common/message_bytes.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr std::size_t kDigestBytes = kTreeDigestBytes;
// A payload below this is not worth a part of its own.
constexpr std::size_t kOwnPartBytesMin = 1024;
// Files of one part of a file list, in the middle: about 10 KiB.
constexpr std::uint64_t kFilesOfPart = 32;

constexpr std::uint64_t kListTag = v1::Evidence::kFilesFieldNumber << 3 | 2;
constexpr std::uint64_t kFileTag = v1::FileList::kFilesFieldNumber << 3 | 2;

using Digests = google::protobuf::RepeatedPtrField<std::string>;

void AddContents(absl::string_view bytes, std::vector<EvidenceParts::Content>& out) {
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kContentPartBytesMax))) {
    std::string part(bytes.substr(0, kContentPartBytesMax));
    out.push_back({Sha256(part), std::move(part)});
  }
}

void AddContents(absl::string_view bytes, Digests& digests, std::vector<EvidenceParts::Content>& out) {
  const std::size_t before = out.size();
  AddContents(bytes, out);
  for (std::size_t i = before; i < out.size(); ++i) *digests.Add() = out[i].sha256;
}

void AppendVarint(std::uint64_t value, std::string& out) {
  for (; value > 0x7F; value >>= 7) out.push_back(static_cast<char>((value & 0x7F) | 0x80));
  out.push_back(static_cast<char>(value));
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

// Whether a part begins before the file of this name: so that it is the same on every node and for every version of the
// list.
bool BeginsPart(absl::string_view path) {
  std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
  for (char c : path) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return !path.empty() && (hash >> 32) % kFilesOfPart == 0;
}

// A list of so few parts is named by their digests.
constexpr std::size_t kTreePartsMin = 4;

// Names the files by a tree, where there are enough of them.
void AddFileDigests(EvidenceParts& out) {
  std::vector<std::string> leaves;
  for (std::size_t i = out.files_begin; i < out.files_end; ++i) leaves.push_back(out.contents[i].sha256);
  if (leaves.size() >= kTreePartsMin && leaves.size() <= kTreeLeavesMax) {
    out.tree = MakeContentTree(leaves);
    out.piece.set_tree_sha256(out.tree.root);
    out.piece.set_tree_depth(out.tree.depth);
  } else {
    for (std::string& leaf : leaves) *out.piece.add_part_sha256() = std::move(leaf);
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

using PartSource = absl::FunctionRef<absl::StatusOr<std::string>(absl::string_view sha256)>;

// All digests in the order of the whole.
absl::StatusOr<std::vector<std::string>> AllParts(const v1::Piece& piece, PartSource part) {
  std::vector<std::string> all(piece.part_sha256().begin(), piece.part_sha256().end());
  if (!piece.tree_sha256().empty()) {
    auto leaves = TreeLeaves(piece.tree_sha256(), piece.tree_depth(), part);
    if (absl::IsNotFound(leaves.status())) return Lost(piece, "a node of its tree is missing");
    if (!leaves.ok()) return Annotate(leaves.status(), NameOf(piece));
    for (std::string& leaf : *leaves) all.push_back(std::move(leaf));
  }
  all.insert(all.end(), piece.tail_sha256().begin(), piece.tail_sha256().end());
  return all;
}

struct Whole {
  std::string bytes;
  std::size_t tree_begin = 0;  // what the tree's leaves give stands here
  std::size_t tree_end = 0;
};

absl::StatusOr<Whole> Concatenate(const v1::Piece& piece, PartSource part) {
  PARITECT_ASSIGN_OR_RETURN(const std::vector<std::string> all, AllParts(piece, part));
  Whole out;
  std::string& whole = out.bytes;
  const auto first = static_cast<std::size_t>(piece.part_sha256_size());
  const std::size_t last = all.size() - static_cast<std::size_t>(piece.tail_sha256_size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const absl::StatusOr<std::string> bytes = part(all[i]);
    if (absl::IsNotFound(bytes.status())) {
      return Lost(piece, absl::StrCat("part ", i + 1, " of ", all.size(), " is missing"));
    }
    if (!bytes.ok()) return Annotate(bytes.status(), NameOf(piece));
    if (whole.size() + bytes->size() > static_cast<std::size_t>(piece.total_bytes())) {
      return Lost(piece, "its parts are longer than the whole");
    }
    absl::StrAppend(&whole, *bytes);
    if (i + 1 == first) out.tree_begin = whole.size();
    if (i + 1 == last) out.tree_end = whole.size();
  }
  return out;
}

absl::StatusOr<v1::Evidence> ReadWhole(const v1::Piece& piece, absl::string_view whole, MessageBudget& budget) {
  if (whole.size() != static_cast<std::size_t>(piece.total_bytes())) {
    return Lost(piece, absl::StrCat("it has ", whole.size(), " of ", piece.total_bytes(), " bytes"));
  }
  if (Sha256(whole) != piece.sha256()) return Lost(piece, "its SHA-256 differs");
  v1::Evidence evidence;
  PARITECT_RETURN_IF_ERROR(Annotate(TakeFromBudget(whole, evidence, budget), NameOf(piece)));
  if (!ParseStable(whole, evidence)) return Lost(piece, "it is no evidence message");
  return evidence;
}

// --- lists around files that are known ---------------------------------------------------------------

bool SkipValue(absl::string_view bytes, std::uint64_t tag, std::size_t& at) {
  std::uint64_t length = 0;
  switch (tag & 7) {
    case 0: return TakeVarint(bytes, at, length);
    case 1: length = 8; break;
    case 2:
      if (!TakeVarint(bytes, at, length)) return false;
      break;
    case 5: length = 4; break;
    default: return false;
  }
  if (length > bytes.size() - at) return false;
  at += length;
  return true;
}

// Whether these bytes are whole fields of a list, all of them files or none.
bool AreFields(absl::string_view bytes, bool files) {
  for (std::size_t at = 0; at < bytes.size();) {
    std::uint64_t tag = 0;
    if (!TakeVarint(bytes, at, tag) || !SkipValue(bytes, tag, at)) return false;
    if (files ? tag != kFileTag : tag >> 3 == v1::FileList::kFilesFieldNumber) {
      return false;
    }
  }
  return true;
}

// The evidence between whose `head` and `tail` all files of its list stand, `files` bytes, without them. nullopt: it is
// none. Nothing is taken on trust: whoever sent it may have cut it where files are not.
std::optional<std::string> WithoutFiles(absl::string_view head, std::size_t files, absl::string_view tail) {
  for (std::size_t at = 0; at < head.size();) {
    const std::size_t begin = at;
    std::uint64_t tag = 0;
    std::uint64_t length = 0;
    if (!TakeVarint(head, at, tag)) return std::nullopt;
    if (tag != kListTag) {
      if (!SkipValue(head, tag, at)) return std::nullopt;
      continue;
    }
    if (!TakeVarint(head, at, length) || length != head.size() - at + files + tail.size()) return std::nullopt;
    if (!AreFields(head.substr(at), false) || !AreFields(tail, false)) return std::nullopt;
    std::string out(head.substr(0, begin));
    AppendVarint(kListTag, out);
    AppendVarint(length - files, out);
    absl::StrAppend(&out, head.substr(at), tail);
    return out;
  }
  return std::nullopt;
}

std::string TreeName(const v1::Piece& piece) {
  return piece.tree_sha256().empty() ? "" : absl::StrCat("tree ", piece.tree_depth(), " ", piece.tree_sha256());
}

std::optional<std::string> Joined(const v1::Piece& piece, const Digests& digests, PartSource part) {
  std::string out;
  for (const std::string& digest : digests) {
    const absl::StatusOr<std::string> bytes = part(digest);
    if (!bytes.ok() || out.size() + bytes->size() > static_cast<std::size_t>(piece.total_bytes())) return std::nullopt;
    out += *bytes;
  }
  return out;
}

// nullopt: it cannot be had so; what is wrong with it, if anything is, shows where it is put together as a whole.
std::optional<v1::Evidence> PutAround(const v1::Piece& piece, const std::string& files, PartSource part,
                                      MessageBudget& budget) {
  const auto head = Joined(piece, piece.part_sha256(), part);
  const auto tail = Joined(piece, piece.tail_sha256(), part);
  if (!head || !tail) return std::nullopt;
  if (head->size() + files.size() + tail->size() != static_cast<std::size_t>(piece.total_bytes())) return std::nullopt;
  Digest digest(DigestKind::kSha256);
  for (const std::string* one : {&*head, &files, &*tail}) digest.Update(*one);
  if (digest.Finish() != piece.sha256()) return std::nullopt;
  const std::optional<std::string> rest = WithoutFiles(*head, files.size(), *tail);
  v1::Evidence evidence;
  if (!rest || !TakeFromBudget(*rest, evidence, budget).ok() || !ParseStable(*rest, evidence)) return std::nullopt;
  return evidence.has_files() ? std::optional(std::move(evidence)) : std::nullopt;
}

}  // namespace

namespace {

v1::Piece PieceOf(const v1::Evidence& evidence) {
  v1::Piece piece;
  piece.set_kind(evidence.kind());
  piece.set_outcome(evidence.outcome());
  piece.set_source(evidence.source());
  if (evidence.has_rank()) piece.set_rank(evidence.rank());
  piece.set_subject(evidence.subject());
  return piece;
}

absl::Status TooLarge(std::size_t bytes) {
  return absl::ResourceExhaustedError(absl::StrCat("evidence of ", bytes, " bytes; at most ", kEvidenceBytesMax));
}

// A list's bytes around its files: what tells where it is from stands apart from them, and so do the chaining states,
// which depend on the content alone.
struct ListFrame {
  std::string before;  // fields of the list
  std::string after;
  std::string states;
};

ListFrame FrameOf(v1::FileList& list) {
  v1::FileList front, states;
  front.set_dataset(list.dataset());
  front.set_format(list.format());
  front.set_part(list.part());
  states.mutable_states()->Swap(list.mutable_states());
  v1::FileList after = list;
  after.clear_dataset();
  after.clear_format();
  after.clear_part();
  ListFrame frame = {SerializeStable(front), SerializeStable(after), SerializeStable(states)};
  states.mutable_states()->Swap(list.mutable_states());
  return frame;
}

// What the bytes of a list's files come to.
struct FilesTold {
  std::size_t bytes = 0;
  std::size_t parts = 0;
  std::vector<std::string> held;  // the parts, where they are not too large
};

FilesTold TellFiles(FilesOfList files, std::size_t held_bytes_max) {
  FilesTold told;
  ForEachFilePart(files, [&](std::size_t, absl::string_view bytes) {
    told.bytes += bytes.size();
    ++told.parts;
    if (told.bytes <= held_bytes_max) told.held.emplace_back(bytes);
  });
  if (told.bytes > held_bytes_max) told.held = {};
  return told;
}

}  // namespace

void ForEachFilePart(FilesOfList files, absl::FunctionRef<void(std::size_t n, absl::string_view bytes)> visit) {
  std::string open;
  std::size_t n = 0;
  const auto close = [&] {
    for (std::size_t at = 0; at < open.size(); at += kContentPartBytesMax) {
      visit(n++, absl::string_view(open).substr(at, kContentPartBytesMax));
    }
    open.clear();
  };
  files([&](v1::FileEntry& file) {
    if (BeginsPart(file.path())) close();
    const std::string bytes = SerializeStable(file);
    AppendVarint(kFileTag, open);
    AppendVarint(bytes.size(), open);
    open += bytes;
  });
  close();
}

absl::StatusOr<EvidenceParts> TakeApart(v1::Evidence& evidence, FilesOfList files, std::size_t held_bytes_max) {
  MakeTextsUtf8(evidence);
  EvidenceParts out;
  out.piece = PieceOf(evidence);
  v1::FileList list;
  list.Swap(evidence.mutable_files());
  evidence.clear_payload();
  std::string head = SerializeStable(evidence);
  const ListFrame frame = FrameOf(list);
  evidence.mutable_files()->Swap(&list);

  FilesTold told = TellFiles(files, held_bytes_max);
  std::string before;
  AppendVarint(kListTag, before);
  AppendVarint(frame.before.size() + told.bytes + frame.after.size() + frame.states.size(), before);
  before += frame.before;
  const std::size_t body = before.size() + told.bytes + frame.after.size() + frame.states.size();
  const std::size_t total = head.size() + body;
  if (total > static_cast<std::size_t>(kEvidenceBytesMax)) return TooLarge(total);
  out.piece.set_total_bytes(static_cast<std::int64_t>(total));
  Digests& parts = *out.piece.mutable_part_sha256();
  Digest whole(DigestKind::kSha256);
  if (body < kOwnPartBytesMin) {
    absl::StrAppend(&head, before, absl::StrJoin(told.held, ""), frame.after, frame.states);
    whole.Update(head);
    out.piece.set_sha256(whole.Finish());
    AddContents(head, parts, out.contents);
    return out;
  }
  whole.Update(head);
  whole.Update(before);
  AddContents(head, parts, out.contents);
  AddContents(before, parts, out.contents);
  out.files_begin = out.contents.size();
  out.without_files = told.parts > told.held.size();
  const auto add = [&](absl::string_view bytes) {
    whole.Update(bytes);
    out.contents.push_back({Sha256(bytes), ""});
  };
  if (out.without_files) ForEachFilePart(files, [&](std::size_t, absl::string_view bytes) { add(bytes); });
  for (std::string& held : told.held) {
    add(held);
    out.contents.back().bytes = std::move(held);
  }
  out.files_end = out.contents.size();
  whole.Update(frame.after);
  whole.Update(frame.states);
  out.piece.set_sha256(whole.Finish());
  AddFileDigests(out);
  Digests& behind = out.tree.depth > 0 ? *out.piece.mutable_tail_sha256() : parts;
  AddContents(frame.after, behind, out.contents);
  AddContents(frame.states, behind, out.contents);
  return out;
}

absl::StatusOr<EvidenceParts> TakeApart(v1::Evidence& evidence) {
  if (evidence.has_files()) {
    google::protobuf::RepeatedPtrField<v1::FileEntry> files;
    files.Swap(evidence.mutable_files()->mutable_files());
    auto out = TakeApart(
        evidence,
        [&files](absl::FunctionRef<void(v1::FileEntry&)> visit) {
          for (v1::FileEntry& file : files) visit(file);
        },
        SIZE_MAX);
    files.Swap(evidence.mutable_files()->mutable_files());
    return out;
  }
  EvidenceParts out;
  v1::Evidence payload;
  SwapPayload(evidence, payload);
  std::string head = SerializeStable(evidence);
  std::string body = SerializeStable(payload);
  SwapPayload(payload, evidence);
  out.piece = PieceOf(evidence);  // its texts are UTF-8 now
  const std::size_t total = head.size() + body.size();
  if (total > static_cast<std::size_t>(kEvidenceBytesMax)) return TooLarge(total);
  Digest whole(DigestKind::kSha256);
  whole.Update(head);
  whole.Update(body);
  out.piece.set_sha256(whole.Finish());
  out.piece.set_total_bytes(static_cast<std::int64_t>(total));
  if (body.size() < kOwnPartBytesMin) {
    absl::StrAppend(&head, body);
    body.clear();
  }
  AddContents(head, *out.piece.mutable_part_sha256(), out.contents);
  AddContents(body, *out.piece.mutable_part_sha256(), out.contents);
  return out;
}

void WithoutTree(EvidenceParts& parts) {
  if (parts.tree.depth == 0) return;
  parts.tree = ContentTree();
  parts.piece.clear_tree_sha256();
  parts.piece.clear_tree_depth();
  parts.piece.clear_tail_sha256();
  parts.piece.clear_part_sha256();
  for (const EvidenceParts::Content& content : parts.contents) parts.piece.add_part_sha256(content.sha256);
}

std::vector<std::string> ReferencesOf(const v1::Piece& piece) {
  std::vector<std::string> all(piece.part_sha256().begin(), piece.part_sha256().end());
  if (!piece.tree_sha256().empty()) all.push_back(piece.tree_sha256());
  all.insert(all.end(), piece.tail_sha256().begin(), piece.tail_sha256().end());
  return all;
}

absl::Status CheckPiece(const v1::Piece& piece) {
  if (piece.task_id().empty()) return absl::InvalidArgumentError("a piece of no task");
  if (piece.index() < 0) return absl::InvalidArgumentError("a piece with a negative index");
  if (piece.sha256().size() != kDigestBytes) return absl::InvalidArgumentError("a piece without its SHA-256");
  if (piece.total_bytes() < 0 || piece.total_bytes() > kEvidenceBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("a piece of ", piece.total_bytes(), " bytes"));
  }
  for (const std::string& digest : ReferencesOf(piece)) {
    if (digest.size() != kDigestBytes) return absl::InvalidArgumentError("a piece with a part without its SHA-256");
  }
  const bool tree = !piece.tree_sha256().empty();
  if (tree ? piece.tree_depth() < 1 || piece.tree_depth() > kTreeDepthMax
           : piece.tree_depth() != 0 || piece.tail_sha256_size() > 0) {
    return absl::InvalidArgumentError("a piece whose tree cannot be");
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::Evidence> PutTogether(
    const v1::Piece& piece, absl::FunctionRef<absl::StatusOr<std::string>(absl::string_view sha256)> part) {
  MessageBudget budget;
  return PutTogether(piece, part, budget);
}

absl::StatusOr<v1::Evidence> PutTogether(const v1::Piece& piece,
                                         absl::FunctionRef<absl::StatusOr<std::string>(absl::string_view sha256)> part,
                                         MessageBudget& budget) {
  const std::int64_t total = piece.total_bytes();
  if (total < 0 || total > kEvidenceBytesMax) return Lost(piece, "its size is not possible");
  PARITECT_ASSIGN_OR_RETURN(const Whole whole, Concatenate(piece, part));
  return ReadWhole(piece, whole.bytes, budget);
}

const std::string* KnownLists::Find(const std::string& tree) const {
  const auto found = files_.find(tree);
  return found == files_.end() ? nullptr : &found->second;
}

void KnownLists::Keep(const std::string& tree, std::string files) {
  if (tree.empty() || files.size() > kBytesMax - bytes_) return;
  bytes_ += files.size();
  files_.emplace(tree, std::move(files));
}

absl::StatusOr<ListEvidence> PutTogetherList(
    const v1::Piece& piece, absl::FunctionRef<absl::StatusOr<std::string>(absl::string_view sha256)> part,
    MessageBudget& budget, const KnownLists& known) {
  const std::int64_t total = piece.total_bytes();
  if (total < 0 || total > kEvidenceBytesMax) return Lost(piece, "its size is not possible");
  ListEvidence out;
  out.tree = TreeName(piece);
  if (const std::string* files = out.tree.empty() ? nullptr : known.Find(out.tree); files != nullptr) {
    if (auto evidence = PutAround(piece, *files, part, budget)) {
      out.evidence = *std::move(evidence);
      out.without_files = true;
      return out;
    }
  }
  PARITECT_ASSIGN_OR_RETURN(const Whole whole, Concatenate(piece, part));
  PARITECT_ASSIGN_OR_RETURN(out.evidence, ReadWhole(piece, whole.bytes, budget));
  const absl::string_view bytes = whole.bytes;
  const absl::string_view files = bytes.substr(whole.tree_begin, whole.tree_end - whole.tree_begin);
  const bool named = !out.tree.empty() && out.evidence.has_files() && AreFields(files, true) &&
                     WithoutFiles(bytes.substr(0, whole.tree_begin), files.size(), bytes.substr(whole.tree_end));
  if (named) {
    out.files = std::string(files);
  } else {
    out.tree.clear();
  }
  return out;
}

}  // namespace paritect
