// Lists as tables: CSV (RFC 4180), semicolons or tabs, with a header that names the columns.
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "formats/datasets/manifest_builder.h"

namespace paritect {
namespace {

using absl::string_view;

enum class Column { kOther, kPath, kPathBase64, kMd5, kEtag, kSha256, kSize, kRecords };

Column ColumnOf(string_view header) {
  const std::string name = absl::AsciiStrToLower(absl::StripAsciiWhitespace(header));
  for (string_view word : {"path", "name", "file", "filename", "file_name", "relpath", "relative_path", "key"}) {
    if (name == word) return Column::kPath;
  }
  for (string_view word : {"md5", "md5sum", "md5_hash", "md5hash", "hash", "checksum", "digest"}) {
    if (name == word) return Column::kMd5;
  }
  if (name == "etag" || name == "e_tag") return Column::kEtag;
  for (string_view word : {"size", "bytes", "size_bytes", "length", "filesize", "file_size"}) {
    if (name == word) return Column::kSize;
  }
  if (name == "path_b64") return Column::kPathBase64;
  if (name == "sha256") return Column::kSha256;
  return name == "records" ? Column::kRecords : Column::kOther;
}

struct Row {
  std::vector<std::string> fields;
  std::int64_t line = 0;
  bool open = false;  // ended by the end of the file
  bool whole = true;  // false: a quote was not closed
};

// Takes one row off `text`.
Row TakeRow(string_view& text, char separator, std::int64_t& line) {
  Row row;
  row.line = line;
  std::string field;
  bool quoted = false;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (quoted) {
      if (c != '"') {
        field.push_back(c);
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        field.push_back('"');
        ++i;
      } else {
        quoted = false;
      }
    } else if (c == '"' && field.empty()) {
      quoted = true;
    } else if (c == separator) {
      row.fields.push_back(std::move(field));
      field.clear();
    } else if (c == '\n') {
      break;
    } else {
      field.push_back(c);
    }
  }
  row.open = i == text.size();
  row.whole = !quoted;
  text.remove_prefix(std::min(i + 1, text.size()));
  if (!field.empty() && field.back() == '\r') field.pop_back();
  row.fields.push_back(std::move(field));
  return row;
}

// The separator under which the first line names a path and a digest or size; 0: none.
char SeparatorOf(string_view head) {
  for (char separator : {',', '\t', ';', '|'}) {
    string_view rest = head;
    std::int64_t line = 1;
    bool path = false;
    bool content = false;
    for (const std::string& name : TakeRow(rest, separator, line).fields) {
      if (absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(name), "dtype")) return '\0';  // a table of tensors
      const Column column = ColumnOf(name);
      path = path || column == Column::kPath || column == Column::kPathBase64;
      content = content || column == Column::kMd5 || column == Column::kEtag || column == Column::kSha256 ||
                column == Column::kSize;
    }
    if (path && content) return separator;
  }
  return '\0';
}

bool FitsCsv(string_view head, string_view) {
  return SeparatorOf(head) != '\0';
}

bool ReadField(Column column, string_view value, ManifestFile& file) {
  std::uint64_t number = 0;
  switch (column) {
    case Column::kPath:
      if (!file.exact_name) file.path = std::string(value);
      return true;
    case Column::kPathBase64:
      file.exact_name = !value.empty();
      return value.empty() || absl::Base64Unescape(value, &file.path);
    case Column::kEtag: return SetEtag(value, file);
    case Column::kMd5:
    case Column::kSha256: {
      const string_view hex = absl::StripAsciiWhitespace(absl::StripPrefix(absl::StripSuffix(value, "\""), "\""));
      return hex.empty() || (absl::StrContains(hex, "-") ? SetEtag(hex, file) : SetDigest(hex, file));
    }
    case Column::kSize:
    case Column::kRecords:
      if (value.empty()) return true;
      if (!absl::SimpleAtoi(value, &number)) return false;
      (column == Column::kSize ? file.size_bytes : file.records) = number;
      return true;
    case Column::kOther: return true;
  }
  return true;
}

absl::Status ReadCsv(string_view text, ManifestBuilder& sink) {
  const char separator = SeparatorOf(text);
  std::int64_t line = 1;
  std::vector<Column> columns;
  for (const std::string& name : TakeRow(text, separator, line).fields) columns.push_back(ColumnOf(name));
  while (!text.empty()) {
    const string_view before = text;
    const Row row = TakeRow(text, separator, line);
    if (row.fields.size() == 1 && (row.fields[0].empty() || row.fields[0][0] == '#')) continue;
    ManifestFile file;
    bool ok = row.whole && row.fields.size() == columns.size();
    for (std::size_t i = 0; ok && i < columns.size(); ++i) ok = ReadField(columns[i], row.fields[i], file);
    if (!ok || file.path.empty()) {
      sink.BadLine(row.line, before.substr(0, before.find('\n')), row.open || !row.whole);
      continue;
    }
    file.name_may_be_cut = row.open && (columns.back() == Column::kPath || columns.back() == Column::kSize);
    sink.Add(std::move(file));
  }
  return absl::OkStatus();
}

}  // namespace

const ManifestForm kCsvForm = {"manifest-csv", &FitsCsv, &ReadCsv};

}  // namespace paritect
