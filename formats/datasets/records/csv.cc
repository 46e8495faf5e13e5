// CSV by RFC 4180: quoted fields may hold line ends and doubled quotes. TSV: one row a line. The header row counts as
// a row: which files have one, nobody says.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "formats/datasets/records/record_form.h"

namespace paritect {
namespace {

bool Fits(const RecordHead& head) {
  if (head.extension != "csv" && head.extension != "tsv") return false;
  return !head.bytes.empty() && !absl::StrContains(head.bytes, '\0');
}

// The separator that the first line holds most often.
char SeparatorOf(absl::string_view text) {
  const absl::string_view line = text.substr(0, text.find('\n'));
  char best = ',';
  for (char c : {',', ';', '\t', '|'}) {
    if (std::count(line.begin(), line.end(), c) > std::count(line.begin(), line.end(), best)) best = c;
  }
  return best;
}

class Rows {
 public:
  Rows(char separator, bool quotes) : separator_(separator), quotes_(quotes) {}

  void Take(char c) {
    if (in_quotes_) {
      if (c != '"') return;
      in_quotes_ = false;
      closed_ = true;
      return;
    }
    if (closed_ && c == '"') {  // doubled
      in_quotes_ = true;
      closed_ = false;
      return;
    }
    closed_ = false;
    if (c == separator_) {
      ++fields_;
      field_empty_ = true;
      row_empty_ = false;
    } else if (quotes_ && c == '"' && field_empty_) {
      in_quotes_ = true;
      field_empty_ = false;
      row_empty_ = false;
    } else if (c != '\r') {
      field_empty_ = false;
      row_empty_ = false;
    }
  }
  // At a line end outside quotes; true where a row ended.
  bool EndLine() {
    const bool row = !row_empty_;
    if (row && first_fields_ == 0) first_fields_ = fields_;
    fields_ = 1;
    field_empty_ = row_empty_ = true;
    closed_ = false;
    return row;
  }
  bool in_quotes() const { return in_quotes_; }
  bool shorter_than_first() const { return !row_empty_ && fields_ < first_fields_; }

 private:
  const char separator_;
  const bool quotes_;
  bool in_quotes_ = false;
  bool closed_ = false;  // the last character ended a quoted part
  bool field_empty_ = true;
  bool row_empty_ = true;
  int fields_ = 1;
  int first_fields_ = 0;
};

absl::Status Scan(RecordReader& reader, RecordScan& scan) {
  PARITECT_ASSIGN_OR_RETURN(const absl::string_view head, reader.Peek(0, kRecordHeadBytes));
  const bool tsv = absl::EndsWithIgnoreCase(reader.path(), ".tsv");
  std::uint64_t at = absl::StartsWith(head, "\xEF\xBB\xBF") ? 3 : 0;
  Rows rows(tsv ? '\t' : SeparatorOf(head), !tsv);
  // Old Macintosh programs end lines with CR alone.
  const bool cr = !absl::StrContains(head, '\n') && absl::StrContains(head, '\r');
  const char line_end = cr ? '\r' : '\n';
  std::uint64_t begin = at;
  scan.records = 0;
  for (;;) {
    PARITECT_ASSIGN_OR_RETURN(const absl::string_view piece, reader.Next(at));
    if (piece.empty()) break;
    for (char c : piece) {
      ++at;
      if (c == '\0') scan.Garbled(at - 1, absl::StrCat("row ", *scan.records + 1));
      if (c != line_end || rows.in_quotes()) {
        rows.Take(c);
        continue;
      }
      if (rows.EndLine()) ++*scan.records;
      begin = at;
    }
  }
  if (rows.in_quotes() || rows.shorter_than_first()) {
    scan.Cut(begin, absl::StrCat("row ", *scan.records + 1));
  } else if (rows.EndLine()) {
    ++*scan.records;
  }
  return absl::OkStatus();
}

}  // namespace

extern const RecordForm kCsvRecords;
const RecordForm kCsvRecords = {"csv", true, &Fits, &Scan};

}  // namespace paritect
