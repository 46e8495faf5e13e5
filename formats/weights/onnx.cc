// ONNX: ModelProto {graph = 7}, GraphProto {initializer = 5}, TensorProto {dims = 1, data_type = 2, data by type,
// name = 8, raw_data = 9, external_data = 13, data_location = 14}. Data outside of the file is read from its folder
// alone. Source: onnx/onnx, onnx/onnx.proto.
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/little_endian.h"
#include "common/numbers.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/weights/weights_format.h"
#include "formats/weights/wire_reader.h"

namespace paritect {
namespace {

using absl::StrCat;
using Kind = FileWireField::Kind;

constexpr std::uint64_t kTextBytesMax = 4096;
constexpr std::uint64_t kLocationExternal = 1;
constexpr std::size_t kPackedFieldsMax = 1 << 16;

// TensorProto.DataType, by number from 1 on; nullopt: no plain form.
std::optional<DType> TypeOf(std::uint64_t number) {
  switch (number) {
    case 1: return DType::kF32;
    case 2: return DType::kU8;
    case 3: return DType::kI8;
    case 4: return DType::kU16;
    case 5: return DType::kI16;
    case 6: return DType::kI32;
    case 7: return DType::kI64;
    case 9: return DType::kBool;
    case 10: return DType::kF16;
    case 11: return DType::kF64;
    case 12: return DType::kU32;
    case 13: return DType::kU64;
    case 14: return DType::kC64;
    case 15: return DType::kC128;
    case 16: return DType::kBF16;
    case 17: return DType::kF8E4M3;
    case 18: return DType::kF8E4M3Fnuz;
    case 19: return DType::kF8E5M2;
    case 20: return DType::kF8E5M2Fnuz;
    case 24: return DType::kF8E8M0;
    default: return std::nullopt;
  }
}

struct Numbers {  // of int32_data, int64_data, uint64_data: varints, packed or alone
  std::vector<std::pair<std::uint64_t, std::uint64_t>> packed;  // offset and length
  std::vector<std::uint64_t> alone;
};

struct Tensor {
  TensorInfo info;
  std::uint64_t type = 0;
  std::vector<BytePiece> pieces;  // raw_data, float_data, double_data
  std::string floats;             // float_data and double_data that are not packed
  Numbers numbers;
  bool external = false;
  std::string location;
  std::uint64_t external_offset = 0;
  std::optional<std::uint64_t> external_length;
};

class OnnxReader {
 public:
  OnnxReader(FileSystem& fs, std::string path, SharedBytes bytes)
      : fs_(fs), path_(std::move(path)), bytes_(std::move(bytes)), out_(std::make_unique<StoredTensors>("onnx")) {}

  absl::StatusOr<std::unique_ptr<StoredTensors>> Read() {
    FileWireReader model(*bytes_);
    while (!model.done()) {
      PARITECT_ASSIGN_OR_RETURN(const FileWireField field, model.Next());
      if (field.kind != Kind::kBytes) {
        if (field.number == 1) out_->AddFact("ir_version", IntegerValue(static_cast<std::int64_t>(field.value)));
        continue;
      }
      if (field.number == 7) PARITECT_RETURN_IF_ERROR(Graph(field));
      if ((field.number == 2 || field.number == 3) && field.length <= kTextBytesMax) {
        PARITECT_ASSIGN_OR_RETURN(const std::string text, bytes_->ReadText(field.offset, field.length, kTextBytesMax));
        out_->AddFact(field.number == 2 ? "producer_name" : "producer_version", TextValue(text));
      }
    }
    return std::move(out_);
  }

 private:
  absl::Status Graph(const FileWireField& graph) {
    FileWireReader wire(*bytes_, graph.offset, graph.length);
    while (!wire.done()) {
      PARITECT_ASSIGN_OR_RETURN(const FileWireField field, wire.Next());
      if (field.number != 5 || field.kind != Kind::kBytes) continue;
      PARITECT_ASSIGN_OR_RETURN(Tensor tensor, ReadTensor(field));
      PARITECT_RETURN_IF_ERROR(Add(std::move(tensor)));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Tensor> ReadTensor(const FileWireField& message) {
    Tensor tensor;
    FileWireReader wire(*bytes_, message.offset, message.length);
    while (!wire.done()) {
      PARITECT_ASSIGN_OR_RETURN(const FileWireField field, wire.Next());
      switch (field.number) {
        case 1: PARITECT_RETURN_IF_ERROR(Dims(field, tensor.info.shape)); break;
        case 2: tensor.type = field.value; break;
        case 4: Floats(field, 4, tensor); break;
        case 10: Floats(field, 8, tensor); break;
        case 5:
        case 7:
        case 11: PARITECT_RETURN_IF_ERROR(AddNumbers(field, tensor.numbers)); break;
        case 8: {
          PARITECT_ASSIGN_OR_RETURN(tensor.info.name, bytes_->ReadText(field.offset, field.length, kTextBytesMax));
          break;
        }
        case 9: tensor.pieces.push_back({bytes_, field.offset, field.length}); break;
        case 13: PARITECT_RETURN_IF_ERROR(External(field, tensor)); break;
        case 14: tensor.external = field.value == kLocationExternal; break;
        default: break;
      }
    }
    return tensor;
  }

  absl::Status Dims(const FileWireField& field, std::vector<std::int64_t>& dims) {
    if (field.kind == Kind::kVarint) dims.push_back(static_cast<std::int64_t>(field.value));
    FileWireReader packed(*bytes_, field.offset, field.kind == Kind::kBytes ? field.length : 0);
    while (!packed.done() && dims.size() <= kTensorRankMax) {
      PARITECT_ASSIGN_OR_RETURN(const std::uint64_t extent, packed.Varint());
      dims.push_back(static_cast<std::int64_t>(extent));
    }
    if (dims.size() > kTensorRankMax) return absl::DataLossError(StrCat("more than ", kTensorRankMax, " dimensions"));
    return absl::OkStatus();
  }

  // float_data and double_data lie as the tensor's own bytes.
  void Floats(const FileWireField& field, int size, Tensor& tensor) {
    if (field.kind == Kind::kBytes) {
      tensor.pieces.push_back({bytes_, field.offset, field.length});
      return;
    }
    tensor.floats += LittleEndianBytes(field.value, static_cast<std::size_t>(size));
  }

  absl::Status AddNumbers(const FileWireField& field, Numbers& numbers) {
    if (numbers.packed.size() >= kPackedFieldsMax || numbers.alone.size() >= kPackedFieldsMax) {
      return absl::ResourceExhaustedError(StrCat("more than ", kPackedFieldsMax, " fields of numbers in one tensor"));
    }
    if (field.kind == Kind::kBytes) numbers.packed.emplace_back(field.offset, field.length);
    if (field.kind == Kind::kVarint) numbers.alone.push_back(field.value);
    return absl::OkStatus();
  }

  absl::Status External(const FileWireField& pair, Tensor& tensor) {
    std::string key, value;
    FileWireReader wire(*bytes_, pair.offset, pair.length);
    while (!wire.done()) {
      PARITECT_ASSIGN_OR_RETURN(const FileWireField field, wire.Next());
      if (field.kind != Kind::kBytes) continue;
      PARITECT_ASSIGN_OR_RETURN(std::string text, bytes_->ReadText(field.offset, field.length, kTextBytesMax));
      (field.number == 1 ? key : value) = std::move(text);
    }
    if (key == "location") tensor.location = value;
    if (key != "offset" && key != "length") return absl::OkStatus();
    const auto number = ParseInt(value);
    if (!number || *number < 0)
      return absl::DataLossError(StrCat("external_data.", key, " is no count: ", DisplayBytes(value)));
    if (key == "offset") tensor.external_offset = static_cast<std::uint64_t>(*number);
    if (key == "length") tensor.external_length = static_cast<std::uint64_t>(*number);
    return absl::OkStatus();
  }

  absl::Status Add(Tensor tensor) {
    const std::string label = StrCat("initializer ", DisplayBytes(tensor.info.name));
    if (!names_.insert(tensor.info.name).second) return absl::DataLossError(StrCat("two of the name ", label));
    const auto type = TypeOf(tensor.type);
    if (!type) {
      tensor.info.dtype = DType::kBlocks;
      tensor.info.dtype_word = tensor.type == 8 ? "STRING" : StrCat("ONNX_", tensor.type);
      return out_->AddUnreadable(std::move(tensor.info),
                                 StrCat("elements of ONNX's type ", tensor.type, ", which is not read"));
    }
    tensor.info.dtype = *type;
    if (const absl::Status sized = SizeTensor(tensor.info); !sized.ok()) {
      return absl::DataLossError(StrCat(label, ": ", sized.message()));
    }
    if (tensor.external) return Annotate(AddExternal(std::move(tensor)), label);
    if (!tensor.numbers.packed.empty() || !tensor.numbers.alone.empty())
      return Annotate(AddVarints(std::move(tensor)), label);
    if (!tensor.floats.empty()) tensor.pieces.push_back({BytesInMemory(path_, tensor.floats), 0, tensor.floats.size()});
    return out_->AddPieces(std::move(tensor.info), std::move(tensor.pieces));
  }

  absl::Status AddExternal(Tensor tensor) {
    const absl::string_view place = tensor.location;
    if (place.empty() || absl::StartsWith(place, "/") || absl::StrContains(place, "\\") || place == ".." ||
        absl::StartsWith(place, "../") || absl::StrContains(place, "/../") || absl::EndsWith(place, "/..") ||
        absl::StrContains(place, absl::string_view("\0", 1))) {
      return absl::DataLossError(StrCat("its data are said to stand in \"", DisplayBytes(place),
                                        "\", which is not in the folder of the model"));
    }
    const std::string path = JoinPath(DirName(path_), place);
    auto& file = external_[path];
    if (file == nullptr) {
      auto opened = OpenRandomBytes(fs_, path);
      if (!opened.ok()) {
        std::string why(opened.status().message());
        return out_->AddUnreadable(std::move(tensor.info), why);
      }
      file = *opened;
    }
    const std::uint64_t length = tensor.external_length.value_or(tensor.info.bytes);
    tensor.info.file = std::string(place);
    return out_->AddPieces(std::move(tensor.info), {{file, tensor.external_offset, length}});
  }

  // int32_data holds every type of up to 32 bits (fp16 and bf16 as their bits), one varint an element.
  absl::Status AddVarints(Tensor tensor) {
    const int size = DTypeBits(tensor.info.dtype) / 8;
    const std::uint64_t elements = tensor.info.elements;
    if (size > 8 || tensor.info.dtype == DType::kC64 || tensor.info.dtype == DType::kF32 ||
        tensor.info.dtype == DType::kF64) {
      return absl::DataLossError("whole numbers as the data of another type");
    }
    std::uint64_t bytes = tensor.numbers.alone.size();
    for (const auto& [offset, length] : tensor.numbers.packed) bytes += length;
    if (bytes < elements)
      return absl::DataLossError(StrCat(elements, " elements are stated, ", bytes, " bytes are there"));
    auto read = [file = bytes_, numbers = std::move(tensor.numbers), size, elements](BlockSink sink) -> absl::Status {
      BlockWriter writer(sink);
      std::uint64_t count = 0;
      const auto add = [&](std::uint64_t value) {
        ++count;
        return writer.Add(LittleEndianBytes(value, static_cast<std::size_t>(size)));
      };
      for (const std::uint64_t value : numbers.alone) PARITECT_RETURN_IF_ERROR(add(value));
      for (const auto& [offset, length] : numbers.packed) {
        FileWireReader wire(*file, offset, length);
        while (!wire.done() && count <= elements) {
          PARITECT_ASSIGN_OR_RETURN(const std::uint64_t value, wire.Varint());
          PARITECT_RETURN_IF_ERROR(add(value));
        }
      }
      if (count != elements)
        return absl::DataLossError(StrCat(elements, " elements are stated, ", count, " are there"));
      return writer.Finish();
    };
    return out_->Add(std::move(tensor.info), std::move(read));
  }

  FileSystem& fs_;
  std::string path_;
  SharedBytes bytes_;
  std::unique_ptr<StoredTensors> out_;
  std::set<std::string> names_;
  std::map<std::string, SharedBytes> external_;
};

// A model begins with its ir_version and holds a graph; what the first bytes hold of its fields must fit.
bool Sniff(const WeightsSample& sample) {
  if (sample.is_folder || sample.head.size() < 4 || sample.head[0] != '\x08') return false;
  const SharedBytes head = BytesInMemory("head", sample.head);
  FileWireReader wire(*head, 0, sample.size_bytes);  // lengths may point beyond the head
  bool telling = false;
  while (wire.at() < head->size()) {
    const std::uint64_t begin = wire.at();
    const auto field = wire.Next();
    if (!field.ok()) return telling && begin > 0;
    const bool number = field->kind == Kind::kVarint;
    const bool bytes = field->kind == Kind::kBytes;
    if (field->number == 1 && (!number || field->value == 0 || field->value > 1000)) return false;
    if (field->number == 5 ? !number : field->number > 1 && !bytes) return false;
    if (field->number > 26) return false;
    telling = telling || field->number == 7 || field->number == 8;
  }
  return telling;
}

absl::StatusOr<std::unique_ptr<StoredTensors>> Open(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(SharedBytes bytes, OpenRandomBytes(fs, path));
  return OnnxReader(fs, path, std::move(bytes)).Read();
}

}  // namespace

extern const WeightsFormat kOnnxWeights;
const WeightsFormat kOnnxWeights = {"onnx", &Sniff, &Open};

}  // namespace paritect
