#include "formats/weights/stored_tensors.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/blake2b.h"
#include "common/status_macros.h"
#include "common/training_counters.h"
#include "common/utf8.h"

namespace paritect {

using absl::StrCat;

absl::Status SizeTensor(TensorInfo& info) {
  if (info.shape.size() > kTensorRankMax) {
    return absl::InvalidArgumentError(StrCat(info.shape.size(), " dimensions, at most ", kTensorRankMax, " are read"));
  }
  absl::uint128 elements = 1;
  bool empty = false;
  for (const std::int64_t extent : info.shape) {
    if (extent < 0) return absl::InvalidArgumentError(StrCat("a dimension of ", extent));
    empty = empty || extent == 0;
    if (extent > 0) elements *= static_cast<std::uint64_t>(extent);
    if (elements > INT64_MAX) return absl::InvalidArgumentError("a shape of more than 2^63 elements");
  }
  info.elements = empty ? 0 : static_cast<std::uint64_t>(elements);
  const absl::uint128 bits = static_cast<absl::uint128>(info.elements) * static_cast<unsigned>(DTypeBits(info.dtype));
  if (bits % 8 != 0) return absl::InvalidArgumentError("elements that fill no whole bytes");
  if (bits / 8 > INT64_MAX) return absl::InvalidArgumentError("more than 2^63 bytes");
  info.bytes = static_cast<std::uint64_t>(bits / 8);
  if (info.dtype_word.empty()) info.dtype_word = std::string(DTypeWord(info.dtype));
  return absl::OkStatus();
}

absl::Status StoredTensors::Read(std::size_t index, BlockSink sink) {
  if (!tensors_[index].unreadable.empty()) return absl::FailedPreconditionError(tensors_[index].unreadable);
  return readers_[index](sink);
}

std::string StoredTensors::BoundedName(std::string name) {
  if (name.size() <= kTensorNameBytesMax) return name;
  constexpr std::size_t kHashBytes = 8;
  const std::string hash = absl::BytesToHexString(Blake2b128(name).substr(0, kHashBytes));
  std::size_t keep = kTensorNameBytesMax - hash.size() - 1;
  constexpr auto kMore = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; };
  while (keep > 0 && kMore(name[keep])) --keep;  // no half of a character
  if (!name_cut_) {
    AddNote("name_cut", StrCat("a name of ", name.size(), " bytes, at most ", kTensorNameBytesMax,
                               " are kept: ", DisplayBytes(absl::string_view(name).substr(0, 80))));
  }
  name_cut_ = true;
  return StrCat(absl::string_view(name).substr(0, keep), "~", hash);
}

absl::Status StoredTensors::Add(TensorInfo info, ReadElements read) {
  if (tensors_.size() >= kTensorsMax) {
    return absl::ResourceExhaustedError(StrCat("more than ", kTensorsMax, " tensors"));
  }
  info.name = BoundedName(IsValidUtf8(info.name) ? std::move(info.name) : DisplayBytes(info.name));
  if (info.dtype_word.empty()) info.dtype_word = std::string(DTypeWord(info.dtype));
  tensors_.push_back(std::move(info));
  readers_.push_back(std::move(read));
  pieces_.emplace_back();
  return absl::OkStatus();
}

absl::Status StoredTensors::AddPieces(TensorInfo info, std::vector<BytePiece> pieces) {
  std::uint64_t length = 0;
  for (const BytePiece& piece : pieces) {
    if (piece.offset > piece.bytes->size() || piece.length > piece.bytes->size() - piece.offset) {
      return absl::DataLossError(StrCat("tensor ", DisplayBytes(info.name), ": ", piece.length, " bytes at ",
                                        piece.offset, " are stated, ", DisplayBytes(piece.bytes->name()), " has ",
                                        piece.bytes->size()));
    }
    length += piece.length;
  }
  if (length != info.bytes) {
    return absl::DataLossError(
        StrCat("tensor ", DisplayBytes(info.name), ": its shape takes ", info.bytes, " bytes, ", length, " are there"));
  }
  std::optional<BytePiece> plain;
  if (pieces.size() == 1) plain = pieces[0];
  auto read = [pieces = std::move(pieces)](BlockSink sink) -> absl::Status {
    BlockWriter writer(sink);
    for (const BytePiece& piece : pieces) {
      PARITECT_RETURN_IF_ERROR(ReadPiece(piece, [&](absl::string_view block) { return writer.Add(block); }));
    }
    PARITECT_RETURN_IF_ERROR(writer.Finish());
    for (const BytePiece& piece : pieces) PARITECT_RETURN_IF_ERROR(piece.bytes->CheckUnchanged());
    return absl::OkStatus();
  };
  PARITECT_RETURN_IF_ERROR(Add(std::move(info), std::move(read)));
  pieces_.back() = std::move(plain);
  return absl::OkStatus();
}

absl::Status StoredTensors::AddUnreadable(TensorInfo info, absl::string_view why) {
  info.unreadable = std::string(why);
  return Add(std::move(info), nullptr);
}

std::optional<BytePiece> StoredTensors::PieceOf(std::size_t index) const {
  return pieces_[index];
}

namespace {

// The info of a part, and where its rows stand.
absl::StatusOr<std::pair<TensorInfo, std::vector<BytePiece>>> PartOf(const TensorInfo& whole, const BytePiece& piece,
                                                                     RowPart part) {
  TensorInfo info = whole;
  if (!part.whole_shape.empty()) info.shape = std::move(part.whole_shape);
  PARITECT_RETURN_IF_ERROR(SizeTensor(info));
  if (info.elements != whole.elements || info.shape[0] <= 0) return absl::InternalError("rows of another whole");
  const std::int64_t rows = info.shape[0];
  const std::uint64_t row_bytes = whole.bytes / static_cast<std::uint64_t>(rows);
  info.name = std::move(part.name);
  info.shape[0] = 0;
  std::vector<BytePiece> pieces;
  for (const auto& [first, count] : part.runs) {
    if (first < 0 || count <= 0 || first > rows - count) {
      return absl::InternalError(StrCat("rows ", first, " + ", count, " of ", rows));
    }
    info.shape[0] += count;
    pieces.push_back({piece.bytes, piece.offset + static_cast<std::uint64_t>(first) * row_bytes,
                      static_cast<std::uint64_t>(count) * row_bytes});
  }
  PARITECT_RETURN_IF_ERROR(SizeTensor(info));
  return std::pair(std::move(info), std::move(pieces));
}

}  // namespace

absl::Status StoredTensors::SplitRows(const std::function<std::vector<RowPart>(const TensorInfo&)>& parts) {
  std::set<std::string> shared;
  for (const TensorInfo& info : tensors_) shared.insert(info.alias_of);
  const std::vector<TensorInfo> infos = std::exchange(tensors_, {});
  std::vector<ReadElements> readers = std::exchange(readers_, {});
  std::vector<std::optional<BytePiece>> pieces = std::exchange(pieces_, {});
  for (std::size_t i = 0; i < infos.size(); ++i) {
    const bool splits = pieces[i].has_value() && infos[i].alias_of.empty() && infos[i].bytes > 0 &&
                        !infos[i].shape.empty() && !shared.contains(infos[i].name);
    std::vector<RowPart> made = splits ? parts(infos[i]) : std::vector<RowPart>();
    if (made.empty()) {
      PARITECT_RETURN_IF_ERROR(Add(infos[i], std::move(readers[i])));
      pieces_.back() = std::move(pieces[i]);
    }
    for (RowPart& part : made) {
      PARITECT_ASSIGN_OR_RETURN(auto placed, PartOf(infos[i], *pieces[i], std::move(part)));
      PARITECT_RETURN_IF_ERROR(AddPieces(std::move(placed.first), std::move(placed.second)));
    }
  }
  return absl::OkStatus();
}

void StoredTensors::AddFact(absl::string_view name, v1::Value value) {
  if (static_cast<std::size_t>(about_.facts_size()) >= kCheckpointFactsMax) {
    if (!facts_left_out_)
      AddNote("facts_left_out", StrCat("more than ", kCheckpointFactsMax, " values beside the tensors"));
    facts_left_out_ = true;
    return;
  }
  v1::CheckpointFact& fact = *about_.add_facts();
  fact.set_name(BoundedName(IsValidUtf8(name) ? std::string(name) : DisplayBytes(name)));
  *fact.mutable_value() = std::move(value);
}

void StoredTensors::AddNote(absl::string_view kind, absl::string_view message) {
  v1::Note& note = *about_.add_notes();
  note.set_kind(std::string(kind));
  note.set_message(std::string(message));
}

void StoredTensors::AddIncomplete(absl::string_view id, absl::Span<const std::pair<std::string, std::string>> args) {
  v1::Problem& problem = *about_.add_incomplete();
  problem.set_id(std::string(id));
  for (const auto& [name, text] : args) (*problem.mutable_args())[name] = text;
}

namespace {

std::string NumberText(const v1::Value& value) {
  return value.has_integer() ? StrCat(value.integer()) : StrCat(value.number());
}

// Of two parts of one checkpoint. Single parameters' counters may stand behind: without a gradient none is counted.
bool SameStep(absl::string_view name, const v1::Value& a, const v1::Value& b) {
  const auto is_number = [](const v1::Value& value) { return value.has_integer() || value.has_number(); };
  if (!IsTrainingCounter(name) || absl::StrContains(name, "state.") || !is_number(a) || !is_number(b)) return true;
  return NumberText(a) == NumberText(b);
}

}  // namespace

absl::Status StoredTensors::Absorb(StoredTensors&& other, absl::string_view file, absl::string_view prefix) {
  for (std::size_t i = 0; i < other.tensors_.size(); ++i) {
    TensorInfo& info = other.tensors_[i];
    info.name = StrCat(prefix, info.name);
    if (!info.alias_of.empty()) info.alias_of = BoundedName(StrCat(prefix, info.alias_of));
    if (info.file.empty()) info.file = std::string(file);
    PARITECT_RETURN_IF_ERROR(Add(std::move(info), std::move(other.readers_[i])));
    pieces_.back() = std::move(other.pieces_[i]);
  }
  std::map<std::string, v1::Value> known;
  for (const v1::CheckpointFact& fact : about_.facts()) known.emplace(fact.name(), fact.value());
  bool agree = true;
  for (v1::CheckpointFact& fact : *other.about_.mutable_facts()) {
    const std::string name = StrCat(prefix, fact.name());
    const auto stands = known.find(name);
    if (stands == known.end()) {
      AddFact(name, std::move(*fact.mutable_value()));
    } else if (agree && !SameStep(name, stands->second, fact.value())) {
      AddIncomplete("weights_parts_of_other_steps", {{"name", name},
                                                     {"file", DisplayBytes(file)},
                                                     {"value", NumberText(fact.value())},
                                                     {"other", NumberText(stands->second)}});
      agree = false;
    }
  }
  for (v1::Note& note : *other.about_.mutable_notes()) *about_.add_notes() = std::move(note);
  for (v1::Problem& problem : *other.about_.mutable_incomplete()) *about_.add_incomplete() = std::move(problem);
  return absl::OkStatus();
}

v1::Value TextValue(absl::string_view text) {
  v1::Value value;
  value.set_text(IsValidUtf8(text) ? std::string(text) : DisplayBytes(text));
  return value;
}

v1::Value IntegerValue(std::int64_t integer) {
  v1::Value value;
  value.set_integer(integer);
  return value;
}

v1::Value RealValue(double number) {
  v1::Value value;
  value.set_number(number);
  return value;
}

v1::Value BooleanValue(bool boolean) {
  v1::Value value;
  value.set_boolean(boolean);
  return value;
}

absl::Status BlockWriter::Add(absl::string_view bytes) {
  while (!bytes.empty()) {
    if (buffer_.empty() && bytes.size() >= kTensorBlockBytesMax) {  // no copy
      PARITECT_RETURN_IF_ERROR(sink_(bytes.substr(0, kTensorBlockBytesMax)));
      bytes.remove_prefix(kTensorBlockBytesMax);
      continue;
    }
    const std::size_t take = std::min(bytes.size(), kTensorBlockBytesMax - buffer_.size());
    buffer_.append(bytes.data(), take);
    bytes.remove_prefix(take);
    if (buffer_.size() == kTensorBlockBytesMax) PARITECT_RETURN_IF_ERROR(Finish());
  }
  return absl::OkStatus();
}

absl::Status BlockWriter::Finish() {
  if (buffer_.empty()) return absl::OkStatus();
  const absl::Status status = sink_(buffer_);
  buffer_.clear();
  return status;
}

absl::Status ReadPiece(const BytePiece& piece, absl::FunctionRef<absl::Status(absl::string_view)> sink) {
  std::string buffer(static_cast<std::size_t>(std::min<std::uint64_t>(piece.length, kTensorBlockBytesMax)), '\0');
  for (std::uint64_t done = 0; done < piece.length;) {
    const auto take = static_cast<std::size_t>(std::min<std::uint64_t>(piece.length - done, buffer.size()));
    PARITECT_RETURN_IF_ERROR(piece.bytes->Read(piece.offset + done, absl::MakeSpan(buffer.data(), take)));
    PARITECT_RETURN_IF_ERROR(sink(absl::string_view(buffer.data(), take)));
    done += take;
  }
  return absl::OkStatus();
}

}  // namespace paritect
