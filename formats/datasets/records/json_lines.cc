// JSON Lines: one whole JSON value a line. Brackets and strings are followed, not the grammar in between.
// Source: jsonlines.org; RFC 8259.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "formats/datasets/records/record_form.h"

namespace paritect {
namespace {

// Where one line's value stands.
struct LineState {
  std::int64_t depth = 0;
  bool in_string = false;
  bool escaped = false;
  bool begun = false;
  bool ended = false;
  bool wrong = false;    // something behind the value, a bracket too many, a NUL
  bool scalars = false;  // numbers and words alone are records: the file's name says JSON Lines
  bool in_scalar = false;

  bool whole() const { return begun && (ended || in_scalar) && !wrong; }

  void Take(char c) {
    if (in_string) {
      if (c == '\0') wrong = true;
      if (escaped) {
        escaped = false;
      } else if (c == '\\') {
        escaped = true;
      } else if (c == '"') {
        in_string = false;
        ended = depth == 0;
      }
      return;
    }
    if (c == ' ' || c == '\t' || c == '\r') return;
    if (ended || c == '\0') wrong = true;
    if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      ended = --depth == 0;
      if (depth < 0) wrong = true;
    } else if (c == '"') {
      in_string = true;
    } else if (!begun) {
      in_scalar = scalars;
      wrong = !scalars;
    }
    begun = true;
  }
};

bool IsLinesName(const std::string& extension) {
  return extension == "jsonl" || extension == "ndjson" || extension == "jsonlines";
}

std::string ExtensionOf(absl::string_view path) {
  const auto dot = path.rfind('.');
  return dot == absl::string_view::npos ? "" : absl::AsciiStrToLower(path.substr(dot + 1));
}

// The first line is a whole object, and so begins the second; a name that says JSON Lines needs the beginning only.
bool Fits(const RecordHead& head) {
  absl::string_view text = absl::StripLeadingAsciiWhitespace(absl::StripPrefix(head.bytes, "\xEF\xBB\xBF"));
  const bool scalar = !text.empty() && absl::StrContains("\"-0123456789tfn", text[0]);
  const bool named = !text.empty() && (text[0] == '[' || scalar) && IsLinesName(head.extension);
  if (text.empty() || (text[0] != '{' && !named)) return false;
  const auto end = text.find('\n');
  if (end == absl::string_view::npos) return IsLinesName(head.extension);
  LineState line;
  for (char c : text.substr(0, end)) line.Take(c);
  if (!line.whole()) return IsLinesName(head.extension);
  text = absl::StripLeadingAsciiWhitespace(text.substr(end));
  return IsLinesName(head.extension) || (!text.empty() && text[0] == '{');
}

absl::Status Scan(RecordReader& reader, RecordScan& scan) {
  const bool scalars = IsLinesName(ExtensionOf(reader.path()));
  LineState line;
  line.scalars = scalars;
  std::uint64_t number = 1;
  std::uint64_t begin = 0;
  std::uint64_t at = 0;
  scan.records = 0;
  const auto End = [&](bool at_end) {
    if (line.whole()) {
      ++*scan.records;
    } else if (at_end && line.begun && !line.wrong) {
      scan.Cut(begin, absl::StrCat("line ", number));
    } else if (line.begun) {
      scan.Garbled(begin, absl::StrCat("line ", number));
    }
    line = LineState();
    line.scalars = scalars;
  };
  for (;;) {
    PARITECT_ASSIGN_OR_RETURN(absl::string_view piece, reader.Next(at));
    if (piece.empty()) break;
    if (at == 0 && piece.substr(0, 3) == "\xEF\xBB\xBF") {
      at = 3;
      continue;
    }
    for (char c : piece) {
      ++at;
      if (c != '\n') {
        line.Take(c);
        continue;
      }
      End(false);
      ++number;
      begin = at;
    }
  }
  End(true);
  return absl::OkStatus();
}

// One JSON document over many lines; the items of a list are its records.
bool FitsDocument(const RecordHead& head) {
  const absl::string_view text = absl::StripLeadingAsciiWhitespace(absl::StripPrefix(head.bytes, "\xEF\xBB\xBF"));
  return head.extension == "json" && !text.empty() && (text[0] == '{' || text[0] == '[');
}

absl::Status ScanDocument(RecordReader& reader, RecordScan& scan) {
  LineState state;
  bool list = false;
  bool item = false;
  std::uint64_t items = 0;
  for (std::uint64_t at = 0;;) {
    PARITECT_ASSIGN_OR_RETURN(absl::string_view piece, reader.Next(at));
    if (piece.empty()) break;
    at += piece.size();
    if (at == piece.size()) absl::ConsumePrefix(&piece, "\xEF\xBB\xBF");
    for (char c : piece) {
      if (c == '\n') c = ' ';
      if (!state.begun) list = c == '[';
      const bool top = state.depth == 1 && !state.in_string;
      if (top && c == ',') ++items;
      if (top && c != ' ' && c != '\t' && c != '\r' && c != ']') item = true;
      state.Take(c);
      if (state.wrong) break;
    }
    if (state.wrong) {
      scan.Garbled(at - piece.size(), "document");
      break;
    }
  }
  if (!state.wrong && !state.whole()) scan.Cut(*reader.size(), "document");
  scan.records = list ? items + (item ? 1 : 0) : 1;
  return absl::OkStatus();
}

}  // namespace

extern const RecordForm kJsonLinesRecords;
const RecordForm kJsonLinesRecords = {"jsonl", true, &Fits, &Scan};

extern const RecordForm kJsonDocumentRecords;
const RecordForm kJsonDocumentRecords = {"json", false, &FitsDocument, &ScanDocument};

}  // namespace paritect
