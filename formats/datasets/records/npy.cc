// npy: the first dimension counts as records; type and shape say how long the file must be.
// Source: numpy/lib/format.py, NEP 1.
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "formats/datasets/records/record_form.h"

namespace paritect {
namespace {

constexpr std::uint64_t kHeaderBytesMax = 1 << 20;

bool Fits(const RecordHead& head) {
  return head.size && head.bytes.size() >= 10 && absl::StartsWith(head.bytes, "\x93NUMPY");
}

// The text behind a key of the header, which is a Python dictionary.
absl::string_view After(absl::string_view text, absl::string_view key) {
  const auto at = text.find(absl::StrCat("'", key, "'"));
  if (at == absl::string_view::npos) return {};
  const auto colon = text.find(':', at);
  if (colon == absl::string_view::npos) return {};
  return absl::StripLeadingAsciiWhitespace(text.substr(colon + 1));
}

// Bytes of an element: "<f4", "|u1", "<U10" (4 bytes a character); nullopt: objects and structures.
std::optional<std::uint64_t> WidthOf(absl::string_view text) {
  if (text.size() < 4 || (text[0] != '\'' && text[0] != '"')) return std::nullopt;
  const auto end = text.find(text[0], 1);
  if (end == absl::string_view::npos || end < 4) return std::nullopt;
  const char kind = text[2];
  absl::string_view digits = text.substr(3, end - 3);
  digits = digits.substr(0, digits.find('['));  // datetime64: "<M8[ns]"
  std::uint64_t width = 0;
  if (kind == 'O' || !absl::SimpleAtoi(digits, &width) || width > 1 << 20) return std::nullopt;
  return kind == 'U' ? width * 4 : width;
}

std::optional<std::vector<std::uint64_t>> ShapeOf(absl::string_view text) {
  if (text.empty() || text[0] != '(') return std::nullopt;
  const auto end = text.find(')');
  if (end == absl::string_view::npos) return std::nullopt;
  std::vector<std::uint64_t> shape;
  for (absl::string_view part : absl::StrSplit(text.substr(1, end - 1), ',')) {
    part = absl::StripAsciiWhitespace(part);
    absl::ConsumeSuffix(&part, "L");  // Python 2
    if (part.empty()) continue;
    std::uint64_t n = 0;
    if (!absl::SimpleAtoi(part, &n) || n > INT64_MAX || shape.size() > 32) return std::nullopt;
    shape.push_back(n);
  }
  return shape;
}

absl::Status Scan(RecordReader& reader, RecordScan& scan) {
  PARITECT_ASSIGN_OR_RETURN(const absl::string_view head, reader.Peek(0, 12));
  const bool wide = head.size() >= 12 && head[6] != 1;
  const std::uint64_t length = LittleEndian(head, 8, wide ? 4 : 2);
  const std::uint64_t begin = wide ? 12 : 10;
  if (length > kHeaderBytesMax) {
    scan.Garbled(8, "length of the header");
    return absl::OkStatus();
  }
  PARITECT_ASSIGN_OR_RETURN(const absl::string_view text, reader.Peek(begin, length));
  if (text.size() < length) {
    scan.Cut(begin + text.size(), "header");
    return absl::OkStatus();
  }
  const auto shape = ShapeOf(After(text, "shape"));
  const absl::string_view type = After(text, "descr");
  if (!shape || type.empty()) {
    scan.Garbled(begin, "header");
    return absl::OkStatus();
  }
  scan.records = shape->empty() ? 1 : shape->front();
  const auto width = WidthOf(type);
  if (!width) {
    scan.not_all_checked = true;
    return absl::OkStatus();
  }
  std::uint64_t bytes = *width;
  for (std::uint64_t n : *shape) {
    if (n != 0 && bytes > INT64_MAX / n) {
      scan.Garbled(begin, "shape");
      return absl::OkStatus();
    }
    bytes *= n;
  }
  const std::uint64_t whole = begin + length + bytes;
  if (*reader.size() < whole) {
    scan.Cut(*reader.size(), absl::StrCat("array of ", bytes, " bytes"));
  } else if (*reader.size() > whole) {
    scan.Sizes("array", whole, *reader.size());
  }
  return absl::OkStatus();
}

}  // namespace

extern const RecordForm kNpyRecords;
const RecordForm kNpyRecords = {"npy", false, &Fits, &Scan};

}  // namespace paritect
