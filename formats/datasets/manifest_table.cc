// Lists as tables: CSV (RFC 4180), semicolons, tabs or bars. A header names the columns, in English or Chinese; what it
// does not name, or where there is none (md5deep -c, rclone lsf), the content of the columns tells: digests are known
// by their form, and the name is the one column that is no digest, number, date or word that repeats.
#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "formats/datasets/list_fields.h"
#include "formats/datasets/manifest_builder.h"
#include "formats/table_row.h"

namespace paritect {
namespace {

using absl::string_view;

// "#TYPE ..." (Export-Csv of PowerShell 5), "sep=;" of spreadsheets, comments and empty lines.
bool IsRemark(const TableRow& row) {
  if (!row.whole) return false;
  if (row.line == 1 && absl::StartsWith(row.fields[0], "sep=")) return true;
  if (row.fields.size() == 1 && row.fields[0].find_first_not_of("-+ \t") == std::string::npos) return true;
  return row.fields.size() == 1 && row.fields[0][0] == '#';
}

struct Table {
  char separator = '\0';  // 0: none
  std::vector<ListColumn> columns;
  bool header = false;  // the first row names the columns
};

bool IsContent(ListColumn column) {
  return column == ListColumn::kDigest || column == ListColumn::kEtag || column == ListColumn::kSha256 ||
         column == ListColumn::kSize;
}

bool IsName(ListColumn column) {
  return column == ListColumn::kPath || column == ListColumn::kName || column == ListColumn::kPathBase64 ||
         column == ListColumn::kUrl;
}

template <typename Is>
bool Any(const std::vector<ListColumn>& columns, Is is) {
  return std::any_of(columns.begin(), columns.end(), is);
}

std::vector<TableRow> RowsOf(string_view head, char separator) {
  constexpr std::size_t kRowsTried = 20;
  std::vector<TableRow> rows;
  std::int64_t line = 1;
  while (!head.empty() && rows.size() < kRowsTried) {
    TableRow row = TakeTableRow(head, separator, line);
    if (!IsRemark(row)) rows.push_back(std::move(row));
  }
  // Half a row says nothing of the columns, where there are whole ones.
  if (rows.size() > 1 && (rows.back().open || !rows.back().whole)) rows.pop_back();
  return rows;
}

// A row has more fields than the table has columns where a name holds the separator: the name is then the last column,
// or the first. `path` is where the names stand.
std::vector<std::string> Fitted(const TableRow& row, std::size_t columns, std::size_t path, char separator) {
  std::vector<std::string> fields = row.fields;
  if (fields.size() <= columns || (path != 0 && path + 1 != columns)) return fields;
  const auto begin = fields.begin() + static_cast<std::ptrdiff_t>(path);
  const auto end = begin + static_cast<std::ptrdiff_t>(fields.size() - columns + 1);
  const std::string name = absl::StrJoin(begin, end, string_view(&separator, 1));
  *begin = name;
  fields.erase(begin + 1, end);
  return fields;
}

bool IsPlainValue(string_view value) {
  return value.find_first_not_of("0123456789-+:./, TZ") == string_view::npos || IsAlgorithmName(value) ||
         ReadSize(value).has_value();
}

// What the cells of a column tell of it. `names` gets how many different ones there are, where they may be names.
ListColumn ColumnByContent(const std::vector<TableRow>& rows, std::size_t from, std::size_t at, std::size_t& names) {
  std::set<std::string> different;
  std::size_t digests = 0;
  std::size_t plain = 0;
  std::size_t sizes = 0;
  std::size_t algorithms = 0;
  for (std::size_t i = from; i < rows.size(); ++i) {
    const string_view value = absl::StripAsciiWhitespace(rows[i].fields[at]);
    digests += IsDigestText(value) ? 1 : 0;
    sizes += ReadSize(value) ? 1 : 0;
    algorithms += IsAlgorithmName(value) ? 1 : 0;
    plain += value.empty() || IsPlainValue(value) ? 1 : 0;
    different.insert(std::string(value));
  }
  const std::size_t count = rows.size() - from;
  names = 0;
  if (digests * 2 > count) return ListColumn::kDigest;  // most: a damaged one is no other column
  if (algorithms == count) return ListColumn::kAlgorithm;
  if (sizes == count) return ListColumn::kSize;
  if (plain < count) names = different.size();
  return ListColumn::kOther;
}

// The columns by their content: one holds digests, and one alone may hold names (or holds more different ones than any
// other).
bool FillByContent(const std::vector<TableRow>& rows, std::size_t from, std::vector<ListColumn>& columns) {
  std::size_t best = 0;
  std::size_t most = 0;
  bool alone = false;
  int digests = 0;
  int sizes = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::size_t names = 0;
    const ListColumn told = ColumnByContent(rows, from, i, names);
    const bool digest = told == ListColumn::kDigest && (columns[i] == ListColumn::kOther || IsContent(columns[i]));
    digests += digest ? 1 : 0;
    if (columns[i] != ListColumn::kOther) continue;
    sizes += told == ListColumn::kSize ? 1 : 0;
    columns[i] = told;
    if (names > most) {
      best = i;
      alone = true;
    } else if (names == most && names > 0) {
      alone = false;
    }
    most = std::max(most, names);
  }
  if (digests == 0) return false;
  // Two columns of numbers: which one is the size, nobody said.
  if (sizes > 1) std::replace(columns.begin(), columns.end(), ListColumn::kSize, ListColumn::kOther);
  if (Any(columns, &IsName)) return true;
  if (!alone || most == 0) return false;
  columns[best] = ListColumn::kPath;
  return true;
}

// Whether a row without a digest names the columns, in words that are not known: a record whose digest is damaged has a
// name or a number in it.
bool IsHeader(const TableRow& row) {
  bool known = false;
  bool words = true;
  for (const std::string& cell : row.fields) {
    known = known || ListColumnOf(cell) != ListColumn::kOther;
    words = words && !cell.empty() && cell.find_first_of("/\\.") == std::string::npos && !IsPlainValue(cell);
  }
  return known || words;
}

std::size_t FewestFields(const std::vector<TableRow>& rows) {
  std::size_t least = rows[0].fields.size();
  for (const TableRow& row : rows) {
    if (row.fields.size() >= 2) least = std::min(least, row.fields.size());
  }
  return least;
}

bool IsDigestColumn(ListColumn column) {
  return IsContent(column) && column != ListColumn::kSize;
}

// The table under this separator, or none.
Table TableUnder(string_view head, char separator) {
  Table table;
  std::vector<TableRow> rows = RowsOf(head, separator);
  if (rows.empty() || rows[0].fields.size() < 2) return table;
  bool digest = false;
  for (const std::string& cell : rows[0].fields) {
    if (absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(cell), "dtype")) return table;  // a table of tensors
    digest = digest || IsDigestText(cell);
    table.columns.push_back(ListColumnOf(cell));
  }
  table.header = !digest && IsHeader(rows[0]);
  if (!table.header) table.columns.assign(FewestFields(rows), ListColumn::kOther);
  const bool named = Any(table.columns, &IsName) && Any(table.columns, &IsContent);
  if (!named || !Any(table.columns, &IsDigestColumn)) {
    const std::size_t count = table.columns.size();
    // Names that hold separators stand last behind a digest, else first.
    const std::size_t name = IsDigestText(rows.back().fields[0]) ? count - 1 : 0;
    std::vector<TableRow> whole;
    for (std::size_t i = table.header ? 1 : 0; i < rows.size(); ++i) {
      rows[i].fields = Fitted(rows[i], count, name, separator);
      if (rows[i].fields.size() == count) whole.push_back(rows[i]);
    }
    std::vector<ListColumn> told = table.columns;
    const bool fits = !whole.empty() && FillByContent(whole, 0, told);
    if (!fits && !named) return Table();
    if (fits) table.columns = told;
  }
  table.separator = separator;
  return table;
}

Table TableOf(string_view head, bool by_header) {
  for (const char separator : {',', '\t', ';', '|'}) {
    Table table = TableUnder(head, separator);
    if (table.separator == '\0') continue;
    if (!by_header || (table.header && Any(table.columns, &IsName))) return table;
  }
  return Table();
}

bool FitsCsv(string_view head, string_view) {
  return TableOf(head, false).separator != '\0';
}

bool FitsCsvHeader(string_view head, string_view) {
  return TableOf(head, true).separator != '\0';
}

absl::Status ReadCsv(string_view text, ManifestBuilder& sink) {
  constexpr std::size_t kHeadBytes = 64 << 10;
  Table table = TableOf(text.substr(0, kHeadBytes), true);
  if (table.separator == '\0') table = TableOf(text.substr(0, kHeadBytes), false);
  const std::vector<ListColumn>& columns = table.columns;
  const std::size_t path =
      static_cast<std::size_t>(std::find_if(columns.begin(), columns.end(), &IsName) - columns.begin());
  std::int64_t line = 1;
  bool header = table.header;
  while (!text.empty()) {
    const string_view before = text;
    const TableRow row = TakeTableRow(text, table.separator, line);
    if (IsRemark(row)) continue;
    if (header) {
      header = false;
      if (row.open) sink.BadLine(row.line, before, true);
      continue;
    }
    const std::vector<std::string> cells =
        table.header ? row.fields : Fitted(row, columns.size(), path, table.separator);
    ListFields fields;
    bool ok = row.whole && cells.size() == columns.size() && !(row.open && cells.back().empty());
    for (std::size_t i = 0; ok && i < columns.size(); ++i) ok = fields.Put(columns[i], cells[i]);
    std::optional<ManifestFile> file = ok ? fields.Finish() : std::nullopt;
    if (!file) {
      sink.BadLine(row.line, before.substr(0, before.find('\n')), row.open || !row.whole);
      continue;
    }
    const ListColumn last = columns.back();
    file->name_may_be_cut = row.open && (IsName(last) || last == ListColumn::kSize);
    if (!file->directory) sink.Add(*std::move(file));
  }
  return sink.size() == 0 && !table.header ? absl::InvalidArgumentError("no row with a name") : absl::OkStatus();
}

}  // namespace

const ManifestForm kCsvForm = {"manifest-csv", &FitsCsvHeader, &ReadCsv};
const ManifestForm kBareCsvForm = {"manifest-csv", &FitsCsv, &ReadCsv};

}  // namespace paritect
