// NumPy .npy: "\x93NUMPY", version, length of the header, a Python dictionary of three keys, data.
// Refused: arrays of objects (pickles), of records and of texts, shapes that the file cannot hold.
#include "formats/weights/npy.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/little_endian.h"
#include "common/numbers.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/weights/strided.h"
#include "formats/weights/weights_format.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr absl::string_view kMagic("\x93NUMPY", 6);
constexpr std::size_t kHeaderBytesMax = 10'000;  // numpy's own max_header_size

struct NumpyType {
  absl::string_view code;  // without the byte order
  DType type;
};
// Source: numpy, the array interface (typestr).
constexpr NumpyType kTypes[] = {{"b1", DType::kBool}, {"i1", DType::kI8},   {"u1", DType::kU8},  {"i2", DType::kI16},
                                {"u2", DType::kU16},  {"i4", DType::kI32},  {"u4", DType::kU32}, {"i8", DType::kI64},
                                {"u8", DType::kU64},  {"f2", DType::kF16},  {"f4", DType::kF32}, {"f8", DType::kF64},
                                {"c8", DType::kC64},  {"c16", DType::kC128}};

// The dictionary literal: strings, True, False and a tuple of whole numbers.
class LiteralScanner {
 public:
  explicit LiteralScanner(absl::string_view text) : rest_(text) {}

  absl::Status Scan(std::string& descr, bool& fortran, std::vector<std::int64_t>& shape) {
    bool seen_descr = false, seen_order = false, seen_shape = false;
    if (!Take("{")) return Wrong("'{'");
    while (!Take("}")) {
      std::string key;
      PARITECT_RETURN_IF_ERROR(Text(key));
      if (!Take(":")) return Wrong("':'");
      if (key == "descr" && !std::exchange(seen_descr, true)) {
        PARITECT_RETURN_IF_ERROR(Descr(descr));
      } else if (key == "fortran_order" && !std::exchange(seen_order, true)) {
        fortran = Take("True");
        if (!fortran && !Take("False")) return Wrong("True or False");
      } else if (key == "shape" && !std::exchange(seen_shape, true)) {
        PARITECT_RETURN_IF_ERROR(Shape(shape));
      } else {
        return absl::DataLossError(
            StrCat("the header has the key '", DisplayBytes(key), "', which is unknown or stands twice"));
      }
      if (!Take(",")) {
        if (!Take("}")) return Wrong("'}'");
        break;
      }
    }
    rest_ = absl::StripAsciiWhitespace(rest_);
    if (!rest_.empty()) return Wrong("the end");
    if (seen_descr && seen_order && seen_shape) return absl::OkStatus();
    return absl::DataLossError("the header lacks descr, fortran_order or shape");
  }

 private:
  absl::Status Wrong(absl::string_view wanted) const {
    return absl::DataLossError(
        StrCat(wanted, " is wanted in the header, found \"", DisplayBytes(rest_.substr(0, 16)), "\""));
  }
  bool Take(absl::string_view token) {
    rest_ = absl::StripLeadingAsciiWhitespace(rest_);
    return absl::ConsumePrefix(&rest_, token);
  }
  absl::Status Text(std::string& out) {
    const char quote = Take("'") ? '\'' : Take("\"") ? '"' : '\0';
    const std::size_t end = quote == '\0' ? absl::string_view::npos : rest_.find(quote);
    if (end == absl::string_view::npos) return Wrong("a text");
    out = std::string(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return absl::OkStatus();
  }
  absl::Status Descr(std::string& descr) {
    if (Take("[")) return absl::UnimplementedError("an array of records, which is no plain tensor");
    return Text(descr);
  }
  absl::Status Shape(std::vector<std::int64_t>& shape) {
    if (!Take("(")) return Wrong("a tuple");
    while (!Take(")")) {
      rest_ = absl::StripLeadingAsciiWhitespace(rest_);
      std::size_t digits = 0;
      while (digits < rest_.size() && absl::ascii_isdigit(static_cast<unsigned char>(rest_[digits]))) ++digits;
      const auto extent = ParseInt(rest_.substr(0, digits));
      if (!extent) return Wrong("a dimension");
      rest_.remove_prefix(digits);
      Take("L");  // Python 2
      if (shape.size() >= kTensorRankMax)
        return absl::DataLossError(StrCat("more than ", kTensorRankMax, " dimensions"));
      shape.push_back(*extent);
      if (!Take(",")) {
        if (!Take(")")) return Wrong("')'");
        break;
      }
    }
    return absl::OkStatus();
  }

  absl::string_view rest_;
};

bool Sniff(const WeightsSample& sample) {
  return !sample.is_folder && LooksLikeNpy(sample.head);
}

absl::StatusOr<std::unique_ptr<StoredTensors>> Open(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(const SharedBytes bytes, OpenRandomBytes(fs, path));
  auto out = std::make_unique<StoredTensors>("npy");
  PARITECT_RETURN_IF_ERROR(AddNpy(bytes, "", *out));
  return out;
}

}  // namespace

bool LooksLikeNpy(absl::string_view head) {
  return absl::StartsWith(head, kMagic);
}

absl::StatusOr<DType> DTypeOfNumpy(absl::string_view descr, bool& swap) {
  absl::string_view code = descr;
  swap = absl::ConsumePrefix(&code, ">");
  if (!swap && !absl::ConsumePrefix(&code, "<") && !absl::ConsumePrefix(&code, "=")) absl::ConsumePrefix(&code, "|");
  for (const NumpyType& one : kTypes) {
    if (one.code == code) return one.type;
  }
  if (absl::StartsWith(code, "O")) {
    return absl::UnimplementedError("an array of Python objects, which is a pickle: save it as plain numbers");
  }
  return absl::UnimplementedError(
      StrCat("elements of the type '", DisplayBytes(descr), "', which are no plain numbers"));
}

absl::StatusOr<NpyHeader> ReadNpyHeader(absl::string_view head) {
  if (!LooksLikeNpy(head) || head.size() < 10) return absl::DataLossError("no header of a .npy file");
  const int major = static_cast<unsigned char>(head[6]);
  if (major < 1 || major > 3) return absl::UnimplementedError(StrCat("version ", major, " of the format is not known"));
  const std::size_t begin = major == 1 ? 10 : 12;
  if (head.size() < begin) return absl::DataLossError("the header is cut off");
  const std::uint64_t length = LittleEndian(head, 8, major == 1 ? 2 : 4);
  if (length > kHeaderBytesMax) {
    return absl::DataLossError(
        StrCat("a header of ", length, " bytes is stated, at most ", kHeaderBytesMax, " are read"));
  }
  if (length > head.size() - begin) {
    return absl::DataLossError(StrCat("a header of ", length, " bytes is stated, ", head.size() - begin, " are there"));
  }
  NpyHeader header;
  std::string descr;
  LiteralScanner scanner(head.substr(begin, static_cast<std::size_t>(length)));
  PARITECT_RETURN_IF_ERROR(scanner.Scan(descr, header.fortran_order, header.info.shape));
  PARITECT_ASSIGN_OR_RETURN(header.info.dtype, DTypeOfNumpy(descr, header.swap));
  if (const absl::Status sized = SizeTensor(header.info); !sized.ok()) return absl::DataLossError(sized.message());
  header.data_at = begin + length;
  return header;
}

absl::Status AddNpy(const SharedBytes& bytes, absl::string_view name, StoredTensors& out) {
  const std::uint64_t head_bytes = std::min<std::uint64_t>(kNpyHeadBytesMax, bytes->size());
  PARITECT_ASSIGN_OR_RETURN(const std::string head, bytes->ReadText(0, head_bytes, head_bytes));
  PARITECT_ASSIGN_OR_RETURN(NpyHeader header, ReadNpyHeader(head));
  const std::uint64_t data_bytes = bytes->size() - header.data_at;
  if (data_bytes < header.info.bytes) {
    return absl::DataLossError(
        StrCat("the shape takes ", header.info.bytes, " bytes, ", data_bytes, " follow the header (file cut off?)"));
  }
  if (data_bytes > header.info.bytes) {
    out.AddNote("bytes_left_over", StrCat(data_bytes - header.info.bytes, " bytes after the array"));
  }
  header.info.name = std::string(name);
  StridedView view = {bytes, header.data_at, header.info.dtype, header.info.shape, {}, header.swap};
  view.strides = ContiguousStrides(view.shape);
  if (header.fortran_order) {
    std::vector<std::int64_t> reversed(view.shape.rbegin(), view.shape.rend());
    const std::vector<std::int64_t> strides = ContiguousStrides(reversed);
    view.strides.assign(strides.rbegin(), strides.rend());
  }
  return AddView(std::move(header.info), std::move(view), out);
}

extern const WeightsFormat kNpyWeights;
const WeightsFormat kNpyWeights = {"npy", &Sniff, &Open};

}  // namespace paritect
