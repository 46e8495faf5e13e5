// GGUF versions 2 and 3: "GGUF", u32 version, u64 tensors, u64 pairs; pairs {text key, u32 type, value}; infos {text
// name, u32 dimensions, u64 extents innermost first, u32 type, u64 offset}; data from the next multiple of
// general.alignment on. Quantised blocks are hashed as bytes and not interpreted.
// Source: ggml-org/ggml, docs/gguf.md; ggml.h (enum ggml_type), ggml-common.h (sizes of blocks).
#include <bit>
#include <set>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/little_endian.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/weights/scalar_value.h"
#include "formats/weights/weights_format.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr std::uint64_t kTextBytesMax = 16 << 20;  // of one text: vocabularies are arrays, templates are texts
constexpr std::uint64_t kFactBytesMax = 4096;
constexpr std::uint64_t kArrayDepthMax = 4;
constexpr std::uint64_t kAlignmentDefault = 32;
constexpr std::uint64_t kAlignmentMax = 1 << 20;
constexpr std::uint64_t kPairBytesMin = 8 + 4 + 1;
constexpr std::uint64_t kInfoBytesMin = 8 + 4 + 4 + 8;

struct BlockType {
  std::uint32_t number;
  absl::string_view word;
  std::uint32_t elements;  // of one block
  std::uint32_t bytes;
  DType type = DType::kBlocks;
};
constexpr BlockType kTypes[] = {
    {0, "F32", 1, 4, DType::kF32},
    {1, "F16", 1, 2, DType::kF16},
    {2, "Q4_0", 32, 18},
    {3, "Q4_1", 32, 20},
    {6, "Q5_0", 32, 22},
    {7, "Q5_1", 32, 24},
    {8, "Q8_0", 32, 34},
    {9, "Q8_1", 32, 36},
    {10, "Q2_K", 256, 84},
    {11, "Q3_K", 256, 110},
    {12, "Q4_K", 256, 144},
    {13, "Q5_K", 256, 176},
    {14, "Q6_K", 256, 210},
    {15, "Q8_K", 256, 292},
    {16, "IQ2_XXS", 256, 66},
    {17, "IQ2_XS", 256, 74},
    {18, "IQ3_XXS", 256, 98},
    {19, "IQ1_S", 256, 50},
    {20, "IQ4_NL", 32, 18},
    {21, "IQ3_S", 256, 110},
    {22, "IQ2_S", 256, 82},
    {23, "IQ4_XS", 256, 136},
    {24, "I8", 1, 1, DType::kI8},
    {25, "I16", 1, 2, DType::kI16},
    {26, "I32", 1, 4, DType::kI32},
    {27, "I64", 1, 8, DType::kI64},
    {28, "F64", 1, 8, DType::kF64},
    {29, "IQ1_M", 256, 56},
    {30, "BF16", 1, 2, DType::kBF16},
    {34, "TQ1_0", 256, 54},
    {35, "TQ2_0", 256, 66},
    {39, "MXFP4", 32, 17},
};

const BlockType* TypeOf(std::uint64_t number) {
  for (const BlockType& type : kTypes) {
    if (type.number == number) return &type;
  }
  return nullptr;
}

// Types of values, by number: bytes of the fixed ones, and as what they are read.
constexpr std::uint64_t kTypeText = 8;
constexpr std::uint64_t kTypeArray = 9;
constexpr DType kScalars[] = {DType::kU8,   DType::kI8, DType::kU16, DType::kI16, DType::kU32, DType::kI32, DType::kF32,
                              DType::kBool, DType::kU8, DType::kU8,  DType::kU64, DType::kI64, DType::kF64};

class GgufReader {
 public:
  explicit GgufReader(SharedBytes bytes) : bytes_(std::move(bytes)), out_(std::make_unique<StoredTensors>("gguf")) {}

  absl::StatusOr<std::unique_ptr<StoredTensors>> Read() {
    at_ = 4;
    PARITECT_ASSIGN_OR_RETURN(const std::uint64_t version, Number(4));
    if (version < 2 || version > 3) {
      return absl::UnimplementedError(StrCat("version ", version, " (2 and 3 are read, little-endian)"));
    }
    PARITECT_ASSIGN_OR_RETURN(const std::uint64_t tensors, Number(8));
    PARITECT_ASSIGN_OR_RETURN(const std::uint64_t pairs, Number(8));
    const std::uint64_t rest = bytes_->size() - at_;
    if (pairs > rest / kPairBytesMin || tensors > rest / kInfoBytesMin) {
      return absl::DataLossError(
          StrCat(tensors, " tensors and ", pairs, " pairs are stated, ", rest, " bytes follow (file cut off?)"));
    }
    for (std::uint64_t i = 0; i < pairs; ++i) PARITECT_RETURN_IF_ERROR(Pair());
    std::vector<Info> infos;
    for (std::uint64_t i = 0; i < tensors; ++i) {
      PARITECT_ASSIGN_OR_RETURN(Info info, ReadInfo());
      infos.push_back(std::move(info));
    }
    const std::uint64_t data_at = (at_ + alignment_ - 1) / alignment_ * alignment_;
    for (Info& info : infos) PARITECT_RETURN_IF_ERROR(AddTensor(std::move(info), data_at));
    return std::move(out_);
  }

 private:
  struct Info {
    TensorInfo tensor;
    std::uint64_t offset = 0;
  };

  // Reads ahead: keys and infos are small and many.
  absl::StatusOr<std::uint64_t> Number(int size) {
    if (at_ < window_at_ || at_ + static_cast<std::uint64_t>(size) > window_at_ + window_.size()) {
      window_at_ = at_;
      const std::uint64_t left = at_ < bytes_->size() ? bytes_->size() - at_ : 0;
      PARITECT_ASSIGN_OR_RETURN(window_, bytes_->ReadText(at_, std::min<std::uint64_t>(left, 4096), 4096));
      if (window_.size() < static_cast<std::size_t>(size)) {
        return absl::DataLossError(StrCat("cut off at byte ", at_, ", ", size, " more are wanted"));
      }
    }
    const std::uint64_t value =
        LittleEndian(window_, static_cast<std::size_t>(at_ - window_at_), static_cast<std::size_t>(size));
    at_ += static_cast<std::uint64_t>(size);
    return value;
  }
  absl::StatusOr<std::string> Text(std::uint64_t length_max) {
    PARITECT_ASSIGN_OR_RETURN(const std::uint64_t length, Number(8));
    PARITECT_ASSIGN_OR_RETURN(std::string text, bytes_->ReadText(at_, length, length_max));
    at_ += length;
    return text;
  }
  absl::Status Skip(std::uint64_t bytes) {
    if (bytes > bytes_->size() - at_) {
      return absl::DataLossError(StrCat(bytes, " bytes are stated at ", at_, ", ", bytes_->size() - at_, " are left"));
    }
    at_ += bytes;
    return absl::OkStatus();
  }

  absl::Status Pair() {
    PARITECT_ASSIGN_OR_RETURN(const std::string key, Text(kTensorNameBytesMax));
    PARITECT_ASSIGN_OR_RETURN(const std::uint64_t type, Number(4));
    if (type == kTypeArray) return SkipArray();
    if (type >= std::size(kScalars)) return absl::DataLossError(StrCat(DisplayBytes(key), ": a value of type ", type));
    if (type == kTypeText) {
      PARITECT_ASSIGN_OR_RETURN(const std::string text, Text(kTextBytesMax));
      if (text.size() <= kFactBytesMax) out_->AddFact(key, TextValue(text));
      return absl::OkStatus();
    }
    const int size = DTypeBits(kScalars[type]) / 8;
    PARITECT_ASSIGN_OR_RETURN(const std::uint64_t bits, Number(size));
    const std::string raw = LittleEndianBytes(bits, static_cast<std::size_t>(size));
    if (auto value = ScalarValue(kScalars[type], raw)) out_->AddFact(key, *std::move(value));
    if (key != "general.alignment") return absl::OkStatus();
    if (!std::has_single_bit(bits) || bits > kAlignmentMax) {
      return absl::DataLossError(
          StrCat("general.alignment is ", bits, ", a power of two up to ", kAlignmentMax, " is wanted"));
    }
    alignment_ = bits;
    return absl::OkStatus();
  }

  // Arrays (vocabularies) tell nothing of the training.
  absl::Status SkipArray() {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> open;  // type and count that are left
    do {
      PARITECT_ASSIGN_OR_RETURN(const std::uint64_t type, Number(4));
      PARITECT_ASSIGN_OR_RETURN(const std::uint64_t count, Number(8));
      if (type >= std::size(kScalars)) return absl::DataLossError(StrCat("an array of type ", type));
      if (count > bytes_->size() - at_)
        return absl::DataLossError(StrCat("an array of ", count, " values, ", bytes_->size() - at_, " bytes are left"));
      if (type == kTypeArray) {
        if (open.size() >= kArrayDepthMax) return absl::DataLossError("arrays within arrays, too deep");
        open.emplace_back(type, count);
      } else if (type == kTypeText) {
        for (std::uint64_t i = 0; i < count; ++i) {
          PARITECT_ASSIGN_OR_RETURN(const std::uint64_t length, Number(8));
          PARITECT_RETURN_IF_ERROR(Skip(length));
        }
      } else {
        PARITECT_RETURN_IF_ERROR(Skip(count * static_cast<std::uint64_t>(DTypeBits(kScalars[type]) / 8)));
      }
      while (!open.empty() && open.back().second == 0) open.pop_back();
      if (!open.empty()) --open.back().second;
    } while (!open.empty());
    return absl::OkStatus();
  }

  absl::StatusOr<Info> ReadInfo() {
    Info info;
    PARITECT_ASSIGN_OR_RETURN(info.tensor.name, Text(kTensorNameBytesMax));
    const auto wrong = [&](absl::string_view why) {
      return absl::DataLossError(StrCat("tensor ", DisplayBytes(info.tensor.name), ": ", why));
    };
    PARITECT_ASSIGN_OR_RETURN(const std::uint64_t dimensions, Number(4));
    if (dimensions > kTensorRankMax) return wrong(StrCat(dimensions, " dimensions"));
    for (std::uint64_t i = 0; i < dimensions; ++i) {
      PARITECT_ASSIGN_OR_RETURN(const std::uint64_t extent, Number(8));
      if (extent > INT64_MAX) return wrong("a dimension of more than 2^63");
      info.tensor.shape.insert(info.tensor.shape.begin(), static_cast<std::int64_t>(extent));
    }
    PARITECT_ASSIGN_OR_RETURN(const std::uint64_t number, Number(4));
    PARITECT_ASSIGN_OR_RETURN(info.offset, Number(8));
    const BlockType* type = TypeOf(number);
    if (type == nullptr)
      return absl::UnimplementedError(
          StrCat("tensor ", DisplayBytes(info.tensor.name), ": the type ", number, " is not known"));
    info.tensor.dtype = type->type;
    info.tensor.dtype_word = std::string(type->word);
    if (const absl::Status sized = SizeTensor(info.tensor); !sized.ok()) return wrong(sized.message());
    const std::uint64_t row = info.tensor.shape.empty() ? 1 : static_cast<std::uint64_t>(info.tensor.shape.back());
    if (row % type->elements != 0) return wrong(StrCat("rows of ", row, " elements, blocks hold ", type->elements));
    const absl::uint128 bytes = static_cast<absl::uint128>(info.tensor.elements / type->elements) * type->bytes;
    if (bytes > INT64_MAX) return wrong("more than 2^63 bytes");
    info.tensor.bytes = static_cast<std::uint64_t>(bytes);
    return info;
  }

  absl::Status AddTensor(Info info, std::uint64_t data_at) {
    if (!names_.insert(info.tensor.name).second) {
      return absl::DataLossError(StrCat("two tensors of the name ", DisplayBytes(info.tensor.name)));
    }
    if (info.offset > bytes_->size()) {
      return absl::DataLossError(StrCat("tensor ", DisplayBytes(info.tensor.name), ": begins at ", info.offset,
                                        ", the file has ", bytes_->size(), " bytes"));
    }
    const BytePiece piece = {bytes_, data_at + info.offset, info.tensor.bytes};
    return out_->AddPieces(std::move(info.tensor), {piece});
  }

  SharedBytes bytes_;
  std::unique_ptr<StoredTensors> out_;
  std::uint64_t at_ = 0;
  std::string window_;
  std::uint64_t window_at_ = 0;
  std::uint64_t alignment_ = kAlignmentDefault;
  std::set<std::string> names_;
};

bool Sniff(const WeightsSample& sample) {
  return !sample.is_folder && absl::StartsWith(sample.head, "GGUF");
}

absl::StatusOr<std::unique_ptr<StoredTensors>> Open(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(const SharedBytes bytes, OpenRandomBytes(fs, path));
  return GgufReader(bytes).Read();
}

}  // namespace

extern const WeightsFormat kGgufWeights;
const WeightsFormat kGgufWeights = {"gguf", &Sniff, &Open};

}  // namespace paritect
