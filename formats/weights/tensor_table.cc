// A table of tensors (TSV, CSV, semicolons): a header names the columns, each row is one tensor: name, dtype, shape as
// 64x3x7x7, digests, statistics. What people print from a framework that cannot be read here; it has no elements, only
// what it states. A row that does not fit makes the table incomplete.
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/digest.h"
#include "common/numbers.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/table_row.h"
#include "formats/weights/weights_format.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr std::uint64_t kTableBytesMax = 64 << 20;
constexpr std::size_t kColumnsMax = 64;

enum class Column { kOther, kName, kDtype, kShape, kXxh3, kSha256, kMd5, kMin, kMax, kMean, kL2, kNan, kInf, kZero };

struct ColumnWord {
  absl::string_view word;
  Column column;
};
constexpr ColumnWord kWords[] = {
    {"name", Column::kName},     {"tensor", Column::kName},    {"parameter", Column::kName}, {"param", Column::kName},
    {"key", Column::kName},      {"dtype", Column::kDtype},    {"type", Column::kDtype},     {"shape", Column::kShape},
    {"size", Column::kShape},    {"xxh3", Column::kXxh3},      {"xxh3_128", Column::kXxh3},  {"xxh128", Column::kXxh3},
    {"sha256", Column::kSha256}, {"sha-256", Column::kSha256}, {"md5", Column::kMd5},        {"min", Column::kMin},
    {"max", Column::kMax},       {"mean", Column::kMean},      {"l2", Column::kL2},          {"norm", Column::kL2},
    {"l2norm", Column::kL2},     {"l2_norm", Column::kL2},     {"nan", Column::kNan},        {"inf", Column::kInf},
    {"zero", Column::kZero},     {"zeros", Column::kZero},
};

// Spellings of types by frameworks.
struct TypeWord {
  absl::string_view word;
  absl::string_view dtype;
};
constexpr TypeWord kTypes[] = {
    {"float32", "F32"},
    {"float", "F32"},
    {"fp32", "F32"},
    {"float16", "F16"},
    {"half", "F16"},
    {"fp16", "F16"},
    {"bfloat16", "BF16"},
    {"float64", "F64"},
    {"double", "F64"},
    {"fp64", "F64"},
    {"int64", "I64"},
    {"long", "I64"},
    {"int32", "I32"},
    {"int", "I32"},
    {"int16", "I16"},
    {"short", "I16"},
    {"int8", "I8"},
    {"uint8", "U8"},
    {"bool", "BOOL"},
    {"complex64", "C64"},
    {"uint16", "U16"},
    {"uint32", "U32"},
    {"uint64", "U64"},
    {"complex128", "C128"},
    {"float8_e4m3fn", "F8_E4M3"},
    {"float8_e5m2", "F8_E5M2"},
};

// "torch.float32", "Float32", "F32", "mindspore.bfloat16" as a word of safetensors; others as they stand.
std::string DtypeWordOf(absl::string_view text) {
  if (DTypeOfWord(text)) return std::string(text);
  std::string word = absl::AsciiStrToLower(text);
  const std::size_t dot = word.rfind('.');
  if (dot != std::string::npos) word.erase(0, dot + 1);
  for (const TypeWord& one : kTypes) {
    if (one.word == word) return std::string(one.dtype);
  }
  const std::string upper = absl::AsciiStrToUpper(word);
  return DTypeOfWord(upper) ? upper : DisplayBytes(text);
}

Column ColumnOf(absl::string_view header) {
  const std::string word = absl::AsciiStrToLower(absl::StripAsciiWhitespace(header));
  for (const ColumnWord& one : kWords) {
    if (one.word == word) return one.column;
  }
  return Column::kOther;
}

bool IsTelling(Column column) {
  return column != Column::kOther && column != Column::kName && column != Column::kDtype && column != Column::kShape;
}

std::vector<Column> ColumnsOf(const TableRow& header) {
  std::vector<Column> columns;
  for (const std::string& field : header.fields) {
    const Column column = ColumnOf(field);
    const bool twice = std::find(columns.begin(), columns.end(), column) != columns.end();
    columns.push_back(twice ? Column::kOther : column);  // the first of two counts
  }
  return columns;
}

// A name, a shape or type, and something that tells of the values.
bool IsHeader(const std::vector<Column>& columns) {
  const auto has = [&](Column column) { return std::find(columns.begin(), columns.end(), column) != columns.end(); };
  return has(Column::kName) && (has(Column::kShape) || has(Column::kDtype)) &&
         std::any_of(columns.begin(), columns.end(), &IsTelling);
}

std::optional<char> SeparatorOf(absl::string_view text) {
  for (char separator : {'\t', ',', ';', '|'}) {
    absl::string_view rest = text;
    std::int64_t line = 1;
    if (IsHeader(ColumnsOf(TakeTableRow(rest, separator, line)))) return separator;
  }
  return std::nullopt;
}

// "64x3x7x7", "[64, 3, 7, 7]", "(64, 3)", "64*3", "64 3"; empty, "()", "[]" and "scalar": no dimension.
bool ReadShape(absl::string_view text, v1::TensorFingerprint& tensor) {
  text = absl::StripAsciiWhitespace(text);
  if (text.empty() || absl::EqualsIgnoreCase(text, "scalar")) return true;
  const bool bracketed = absl::StartsWith(text, "[") || absl::StartsWith(text, "(");
  if (bracketed) text = text.substr(1, text.size() - 2);
  for (absl::string_view part : absl::StrSplit(text, absl::ByAnyChar("xX*, "), absl::SkipEmpty())) {
    const auto extent = ParseInt(part);
    if (!extent || *extent < 0 || static_cast<std::size_t>(tensor.shape_size()) >= kTensorRankMax) return false;
    tensor.add_shape(*extent);
  }
  return true;
}

bool ReadDigest(absl::string_view text, std::size_t digits, std::string& out) {
  const std::size_t colon = text.find(':');  // "sha256:..."
  if (colon != absl::string_view::npos) text.remove_prefix(colon + 1);
  if (text.size() != digits || !FromHex(text)) return false;
  out = absl::AsciiStrToLower(text);
  return true;
}

struct Moments {
  std::optional<double> mean;
  std::optional<double> l2;
};

bool ReadCount(absl::string_view text, std::optional<std::uint64_t>& out) {
  const auto count = ParseInt(text);
  if (!count || *count < 0) return false;
  out = static_cast<std::uint64_t>(*count);
  return true;
}

bool ReadStatistic(Column column, absl::string_view text, v1::TensorStatistics& statistics, Moments& moments) {
  std::optional<std::uint64_t> count;
  if (column == Column::kNan || column == Column::kInf || column == Column::kZero) {
    if (!ReadCount(text, count)) return false;
    if (column == Column::kNan) statistics.set_nan(*count);
    if (column == Column::kZero) statistics.set_zero(*count);
    if (column == Column::kInf && *count == 0) {  // of which sign they are is not told
      statistics.set_positive_infinity(0);
      statistics.set_negative_infinity(0);
    }
    return true;
  }
  const auto number = ParseDouble(text);
  if (!number) return false;
  if (column == Column::kMin) statistics.set_min(*number);
  if (column == Column::kMax) statistics.set_max(*number);
  if (column == Column::kMean) moments.mean = *number;
  if (column == Column::kL2) moments.l2 = *number;
  return true;
}

bool ReadField(Column column, absl::string_view text, v1::TensorFingerprint& tensor, Moments& moments) {
  text = absl::StripAsciiWhitespace(text);
  switch (column) {
    case Column::kOther: return true;
    case Column::kName:
      tensor.set_name(IsValidUtf8(text) ? std::string(text) : DisplayBytes(text));
      return !text.empty();
    case Column::kDtype: tensor.set_dtype(DtypeWordOf(text)); return !text.empty();
    case Column::kShape: return ReadShape(text, tensor);
    case Column::kXxh3: return text.empty() || ReadDigest(text, 32, *tensor.mutable_xxh3());
    case Column::kSha256: return text.empty() || ReadDigest(text, 64, *tensor.mutable_sha256());
    case Column::kMd5: return text.empty() || ReadDigest(text, 32, *tensor.mutable_md5());
    default: return text.empty() || ReadStatistic(column, text, *tensor.mutable_statistics(), moments);
  }
}

// Sums from what people print: mean and norm.
void SetSums(const Moments& moments, v1::TensorFingerprint& tensor) {
  if (!tensor.has_statistics()) return;
  double elements = 1;
  for (const std::int64_t extent : tensor.shape()) elements *= static_cast<double>(extent);
  v1::TensorStatistics& statistics = *tensor.mutable_statistics();
  if (moments.mean) statistics.set_sum(*moments.mean * elements);
  if (moments.l2) statistics.set_sum_of_squares(*moments.l2 * *moments.l2);
}

std::optional<v1::TensorFingerprint> ReadRow(const TableRow& row, const std::vector<Column>& columns) {
  v1::TensorFingerprint tensor;
  Moments moments;
  if (!row.whole || row.fields.size() > columns.size()) return std::nullopt;
  for (std::size_t i = 0; i < row.fields.size(); ++i) {
    if (!ReadField(columns[i], row.fields[i], tensor, moments)) return std::nullopt;
  }
  if (tensor.name().empty() || tensor.name().size() > kTensorNameBytesMax) return std::nullopt;
  SetSums(moments, tensor);
  return tensor;
}

bool IsBlank(const TableRow& row) {
  return row.fields.size() == 1 && (row.fields[0].empty() || row.fields[0][0] == '#');
}

bool Sniff(const WeightsSample& sample) {
  absl::string_view text = sample.head;
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");
  return !sample.is_folder && absl::StrContains(text, '\n') && SeparatorOf(text).has_value();
}

absl::StatusOr<std::unique_ptr<StoredTensors>> Open(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(const SharedBytes bytes, OpenRandomBytes(fs, path));
  PARITECT_ASSIGN_OR_RETURN(const std::string whole, bytes->ReadText(0, bytes->size(), kTableBytesMax));
  absl::string_view text = whole;
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");
  const auto separator = SeparatorOf(text);
  if (!separator) return absl::DataLossError("no header of a table of tensors");
  std::int64_t line = 1;
  const std::vector<Column> columns = ColumnsOf(TakeTableRow(text, *separator, line));
  if (columns.size() > kColumnsMax) return absl::DataLossError(StrCat("more than ", kColumnsMax, " columns"));
  auto out = std::make_unique<StoredTensors>("tensor-table");
  v1::Weights& about = out->mutable_about();
  while (!text.empty()) {
    const std::int64_t at = line;
    const TableRow row = TakeTableRow(text, *separator, line);
    if (IsBlank(row)) continue;
    auto tensor = ReadRow(row, columns);
    if (!tensor) {
      out->AddIncomplete("weights_table_row", {{"line", StrCat(at)}});
      return out;
    }
    if (static_cast<std::size_t>(about.tensors_size()) >= kTensorsMax) {
      return absl::ResourceExhaustedError(StrCat("more than ", kTensorsMax, " tensors"));
    }
    *about.add_tensors() = *std::move(tensor);
  }
  PARITECT_RETURN_IF_ERROR(bytes->CheckUnchanged());
  return out;
}

}  // namespace

extern const WeightsFormat kTensorTableWeights;
const WeightsFormat kTensorTableWeights = {"tensor-table", &Sniff, &Open};

}  // namespace paritect
