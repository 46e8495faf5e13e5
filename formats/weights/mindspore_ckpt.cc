// MindSpore .ckpt: one protobuf message after the other, each a Checkpoint with one value {tag, tensor {dims,
// tensor_type, tensor_content}}. A parameter above 512 MiB is cut into consecutive values of the same tag and dims;
// with crc_check the file ends with "crc_num" and ten bytes of CRC-32, big-endian. dims [0] with content is a scalar.
// Source: mindspore, ccsrc/utils/checkpoint.proto; python/mindspore/train/serialization.py.
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/crc.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/weights/scalar_value.h"
#include "formats/weights/weights_format.h"
#include "formats/weights/wire_reader.h"

namespace paritect {
namespace {

using absl::StrCat;
using Kind = FileWireField::Kind;

constexpr absl::string_view kCrcMark = "crc_num";
constexpr std::uint64_t kCrcTailBytes = 17;
constexpr std::uint64_t kTextBytesMax = 4096;  // names, type words, texts that are kept
constexpr std::size_t kSlicesMax = 1'000'000;
// Begin of an encrypted file's blocks (mindspore, ccsrc/utils/crypto.h), little-endian.
constexpr absl::string_view kEncryptedMagics[] = {absl::string_view("\xd8\x5e\x3a\x7f", 4),
                                                  absl::string_view("\xda\x5e\x3a\x7f", 4),
                                                  absl::string_view("\xd9\x5e\x3a\x7f", 4)};

struct TypeWord {
  absl::string_view word;
  DType type;
};
constexpr TypeWord kTypes[] = {
    {"Bool", DType::kBool},         {"Int8", DType::kI8},
    {"UInt8", DType::kU8},          {"Int16", DType::kI16},
    {"UInt16", DType::kU16},        {"Int32", DType::kI32},
    {"UInt32", DType::kU32},        {"Int64", DType::kI64},
    {"UInt64", DType::kU64},        {"Float16", DType::kF16},
    {"Float32", DType::kF32},       {"Float64", DType::kF64},
    {"BFloat16", DType::kBF16},     {"Float8E4M3FN", DType::kF8E4M3},
    {"Float8E5M2", DType::kF8E5M2}, {"Complex64", DType::kC64},
    {"Complex128", DType::kC128},
};

std::optional<DType> TypeOf(absl::string_view word) {
  for (const TypeWord& one : kTypes) {
    if (absl::EqualsIgnoreCase(one.word, word)) return one.type;
  }
  return std::nullopt;
}

struct Slice {
  std::string tag;
  std::string type;
  std::vector<std::int64_t> dims;
  BytePiece content;
  bool has_tensor = false;
  bool has_map = false;
};

// The roles that MindSpore's optimizers and training cells give to their names.
v1::TensorRole RoleOf(absl::string_view tag) {
  for (absl::string_view prefix : {"moments.", "moment1.", "moment2.", "adam_m.", "adam_v.", "accu_grads.", "accum."}) {
    if (absl::StartsWith(tag, prefix)) return v1::TENSOR_ROLE_OPTIMIZER_STATE;
  }
  for (absl::string_view ending : {".moving_mean", ".moving_variance"}) {
    if (absl::EndsWith(tag, ending)) return v1::TENSOR_ROLE_BUFFER;
  }
  return v1::TENSOR_ROLE_UNSPECIFIED;
}

class CheckpointReader {
 public:
  explicit CheckpointReader(SharedBytes bytes)
      : bytes_(std::move(bytes)), out_(std::make_unique<StoredTensors>("mindspore-ckpt")) {}

  absl::StatusOr<std::unique_ptr<StoredTensors>> Read() {
    PARITECT_ASSIGN_OR_RETURN(const std::uint64_t end, CheckCrc());
    FileWireReader wire(*bytes_, 0, end);
    while (!wire.done()) {
      PARITECT_ASSIGN_OR_RETURN(const FileWireField value, wire.Next());
      if (value.number != 1 || value.kind != Kind::kBytes) {
        return absl::DataLossError(StrCat("field ", value.number, " before byte ", wire.at(),
                                          " is none of a checkpoint's (damaged, or another kind of file)"));
      }
      PARITECT_ASSIGN_OR_RETURN(Slice slice, ReadValue(value));
      PARITECT_RETURN_IF_ERROR(Take(std::move(slice)));
    }
    PARITECT_RETURN_IF_ERROR(Flush());
    return std::move(out_);
  }

 private:
  // Where the messages end; DataLoss where the checksum is another one.
  absl::StatusOr<std::uint64_t> CheckCrc() {
    if (bytes_->size() < kCrcTailBytes) return bytes_->size();
    const std::uint64_t end = bytes_->size() - kCrcTailBytes;
    PARITECT_ASSIGN_OR_RETURN(const std::string tail, bytes_->ReadText(end, kCrcTailBytes, kCrcTailBytes));
    if (!absl::StartsWith(tail, kCrcMark)) return bytes_->size();
    std::uint64_t wanted = 0;
    for (std::size_t i = tail.size() - 8; i < tail.size(); ++i)
      wanted = wanted << 8 | static_cast<unsigned char>(tail[i]);
    std::uint32_t crc = 0;
    PARITECT_RETURN_IF_ERROR(ReadPiece({bytes_, 0, end}, [&](absl::string_view block) {
      crc = Crc32(crc, block);
      return absl::OkStatus();
    }));
    if (crc == wanted) return end;
    return absl::DataLossError(StrCat("the checksum of the file is ", crc, ", its end states ", wanted,
                                      " (the file is damaged: copy or save it again)"));
  }

  absl::StatusOr<Slice> ReadValue(const FileWireField& value) {
    Slice slice;
    FileWireReader wire(*bytes_, value.offset, value.length);
    while (!wire.done()) {
      PARITECT_ASSIGN_OR_RETURN(const FileWireField field, wire.Next());
      if (field.kind != Kind::kBytes) continue;
      if (field.number == 1) {
        PARITECT_ASSIGN_OR_RETURN(slice.tag, bytes_->ReadText(field.offset, field.length, kTextBytesMax));
      } else if (field.number == 2) {
        slice.has_tensor = true;
        PARITECT_RETURN_IF_ERROR(ReadTensor(field, slice));
      } else if (field.number == 3) {
        slice.has_map = true;
      }
    }
    if (slice.tag.empty()) return absl::DataLossError(StrCat("a value without a name at byte ", value.offset));
    return slice;
  }

  absl::Status ReadTensor(const FileWireField& tensor, Slice& slice) {
    FileWireReader wire(*bytes_, tensor.offset, tensor.length);
    slice.content = {bytes_, tensor.offset, 0};
    while (!wire.done()) {
      PARITECT_ASSIGN_OR_RETURN(const FileWireField field, wire.Next());
      if (field.number == 1) PARITECT_RETURN_IF_ERROR(ReadDims(field, slice.dims));
      if (field.kind != Kind::kBytes) continue;
      if (field.number == 2) {
        PARITECT_ASSIGN_OR_RETURN(slice.type, bytes_->ReadText(field.offset, field.length, kTextBytesMax));
      }
      if (field.number == 3) slice.content = {bytes_, field.offset, field.length};
    }
    return absl::OkStatus();
  }

  absl::Status ReadDims(const FileWireField& field, std::vector<std::int64_t>& dims) {
    if (field.kind == Kind::kVarint) {
      dims.push_back(static_cast<std::int64_t>(field.value));
    } else if (field.kind == Kind::kBytes) {  // packed
      FileWireReader packed(*bytes_, field.offset, field.length);
      while (!packed.done() && dims.size() <= kTensorRankMax) {
        PARITECT_ASSIGN_OR_RETURN(const std::uint64_t extent, packed.Varint());
        dims.push_back(static_cast<std::int64_t>(extent));
      }
    }
    if (dims.size() > kTensorRankMax) return absl::DataLossError(StrCat("more than ", kTensorRankMax, " dimensions"));
    return absl::OkStatus();
  }

  // Slices of one parameter follow each other.
  absl::Status Take(Slice slice) {
    const bool goes_on = !pending_.empty() && pending_.back().tag == slice.tag && pending_.back().dims == slice.dims &&
                         pending_.back().type == slice.type;
    if (!goes_on) PARITECT_RETURN_IF_ERROR(Flush());
    if (pending_.size() >= kSlicesMax) return absl::ResourceExhaustedError(StrCat("more than ", kSlicesMax, " slices"));
    pending_.push_back(std::move(slice));
    return absl::OkStatus();
  }

  absl::Status Flush() {
    if (pending_.empty()) return absl::OkStatus();
    const Slice first = pending_.front();
    std::vector<BytePiece> pieces;
    std::uint64_t length = 0;
    for (const Slice& slice : pending_) {
      pieces.push_back(slice.content);
      length += slice.content.length;
    }
    pending_.clear();
    if (first.has_tensor && first.type == "str") return AddText(first);
    TensorInfo info;
    info.name = first.tag;
    info.role = RoleOf(first.tag);
    if (first.has_map || !first.has_tensor) {
      info.dtype = DType::kBlocks;
      info.dtype_word = "MapTensor";
      return out_->AddUnreadable(info, "a map parameter, which has no plain form");
    }
    if (first.type.empty()) {
      return absl::DataLossError(StrCat("parameter ", DisplayBytes(first.tag), " has no type (the file is damaged)"));
    }
    info.shape = first.dims;
    const auto type = TypeOf(first.type);
    if (!type) {
      info.dtype = DType::kBlocks;
      info.dtype_word = DisplayBytes(first.type);
      return out_->AddUnreadable(info,
                                 StrCat("a parameter of the type ", DisplayBytes(first.type), ", which is not read"));
    }
    info.dtype = *type;
    if (info.shape == std::vector<std::int64_t>{0} && length > 0) info.shape.clear();
    if (const absl::Status sized = SizeTensor(info); !sized.ok()) {
      return absl::DataLossError(StrCat("parameter ", DisplayBytes(first.tag), ": ", sized.message()));
    }
    if (names_[info.name]++ > 0) {
      return absl::DataLossError(StrCat("two parameters of the name ", DisplayBytes(info.name)));
    }
    PARITECT_RETURN_IF_ERROR(AddScalarFact(info, pieces));
    return out_->AddPieces(std::move(info), std::move(pieces));
  }

  // UTF-32, little-endian.
  absl::Status AddText(const Slice& slice) {
    if (slice.content.length > kTextBytesMax || slice.content.length % 4 != 0) {
      out_->AddNote("text_left_out", StrCat(DisplayBytes(slice.tag), ": a text of ", slice.content.length, " bytes"));
      return absl::OkStatus();
    }
    PARITECT_ASSIGN_OR_RETURN(const std::string raw,
                              bytes_->ReadText(slice.content.offset, slice.content.length, kTextBytesMax));
    const auto text = DecodeCharset(raw, "UTF-32LE");
    out_->AddFact(slice.tag, TextValue(text ? *text : DisplayBytes(raw)));
    return absl::OkStatus();
  }

  // learning_rate, scale_sense, current_iterator_step and the like are tensors of one element: also facts.
  absl::Status AddScalarFact(const TensorInfo& info, const std::vector<BytePiece>& pieces) {
    if (info.elements != 1 || info.shape.size() > 1 || pieces.size() != 1 || pieces[0].length != info.bytes) {
      return absl::OkStatus();
    }
    PARITECT_ASSIGN_OR_RETURN(const std::string raw, bytes_->ReadText(pieces[0].offset, pieces[0].length, 16));
    if (auto value = ScalarValue(info.dtype, raw)) out_->AddFact(info.name, *std::move(value));
    return absl::OkStatus();
  }

  SharedBytes bytes_;
  std::unique_ptr<StoredTensors> out_;
  std::vector<Slice> pending_;
  std::map<std::string, int> names_;
};

// Whether `head` is a value whose tensor has a type that MindSpore writes: "\x0a LEN \x0a LEN name \x12 LEN ...".
bool LooksLikeCheckpoint(const WeightsSample& sample) {
  const SharedBytes head = BytesInMemory("head", sample.head);
  const auto varint = [&](std::uint64_t at, std::uint64_t& next) -> std::optional<std::uint64_t> {
    if (at >= head->size()) return std::nullopt;
    FileWireReader wire(*head, at, head->size() - at);
    const auto value = wire.Varint();
    if (!value.ok()) return std::nullopt;
    next = wire.at();
    return *value;
  };
  // The value may be longer than the head, or the file damaged: its beginning decides.
  std::uint64_t at = 0;
  if (sample.head[0] != '\x0a' || !varint(1, at) || at >= head->size() || sample.head[at] != '\x0a') return false;
  const auto tag = varint(at + 1, at);
  if (!tag || *tag == 0 || *tag > kTextBytesMax || *tag >= head->size() - at) return false;
  if (!IsValidUtf8(absl::string_view(sample.head).substr(at, *tag))) return false;
  at += *tag;
  if (at >= head->size() || sample.head[at] != '\x12' || !varint(at + 1, at)) return false;
  while (at < head->size() && sample.head[at] == '\x08') {
    if (!varint(at + 1, at)) return false;
  }
  if (at < head->size() && sample.head[at] == '\x0a') {  // packed dims
    const auto dims = varint(at + 1, at);
    if (!dims || *dims > head->size() - at) return false;
    at += *dims;
  }
  if (at >= head->size() || sample.head[at] != '\x12') return false;
  const auto word = varint(at + 1, at);
  if (!word || *word > head->size() - at) return false;
  const absl::string_view type = absl::string_view(sample.head).substr(at, *word);
  return TypeOf(type) || type == "str" || absl::StartsWith(type, "qint") || type == "random_op";
}

bool IsEncrypted(absl::string_view head) {
  for (absl::string_view magic : kEncryptedMagics) {
    if (absl::StartsWith(head, magic)) return true;
  }
  return false;
}

bool Sniff(const WeightsSample& sample) {
  if (sample.is_folder || sample.head.empty()) return false;
  return IsEncrypted(sample.head) || LooksLikeCheckpoint(sample);
}

absl::StatusOr<std::unique_ptr<StoredTensors>> Open(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(const SharedBytes bytes, OpenRandomBytes(fs, path));
  PARITECT_ASSIGN_OR_RETURN(const std::string magic, bytes->ReadText(0, std::min<std::uint64_t>(4, bytes->size()), 4));
  if (IsEncrypted(magic)) {
    return absl::UnimplementedError("an encrypted checkpoint: save it without enc_key, or decrypt it first");
  }
  return CheckpointReader(bytes).Read();
}

}  // namespace

extern const WeightsFormat kMindsporeCkptWeights;
const WeightsFormat kMindsporeCkptWeights = {"mindspore-ckpt", &Sniff, &Open};

}  // namespace paritect
