// Lists in columns that blanks separate: md5deep -z, rclone hashsum --base64, s3cmd ls --list-md5, ossutil ls, obsutil
// ls (whose long names stand on a line of their own), Get-FileHash as a table. The digest is known by its form; the
// name is what follows it, or else what stands before the other columns.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "formats/datasets/list_fields.h"
#include "formats/datasets/list_lines.h"
#include "formats/datasets/manifest_builder.h"

namespace paritect {
namespace {

using absl::string_view;

constexpr std::size_t kSha1Digits = 40;

struct Word {
  string_view text;
  std::size_t begin = 0;
};

std::vector<Word> WordsOf(string_view line) {
  std::vector<Word> words;
  std::size_t at = 0;
  while ((at = line.find_first_not_of(" \t", at)) != string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    words.push_back({line.substr(at, end - at), at});
    at = end;
  }
  return words;
}

struct ColumnsLine {
  bool ok = false;  // it holds a digest
  bool name_last = false;
  ManifestFile file;  // without a path where the name stands on the line before
};

// Where the text in front of the columns ends: at the first run of two blanks, or a tab.
string_view FrontOf(string_view text) {
  const auto end = std::min(text.find("  "), text.find('\t'));
  return absl::StripTrailingAsciiWhitespace(text.substr(0, end));
}

// PowerShell cuts what does not fit its window.
bool IsCutName(string_view name) {
  return absl::EndsWith(name, "...") || absl::EndsWith(name, "\xE2\x80\xA6");
}

// Whether the text in front of the columns can be a name: a date, a number and an algorithm are columns.
bool IsFrontName(string_view name) {
  const string_view first = name.substr(0, name.find_first_of(" \t"));
  return !first.empty() && first.find_first_not_of("0123456789-+:.") != string_view::npos && !IsAlgorithmName(first);
}

ColumnsLine ReadColumnsLine(string_view line) {
  ColumnsLine result;
  const std::vector<Word> words = WordsOf(line);
  std::size_t at = 0;
  while (at < words.size() && !IsDigestText(words[at].text)) ++at;
  if (at == words.size()) return result;
  string_view algorithm;
  std::optional<std::uint64_t> size;
  // FCIV states MD5 and SHA-1 side by side.
  std::size_t last = at;
  if (at == 0 && words.size() > 2 && words[1].text.size() == kSha1Digits && IsDigestText(words[1].text)) last = 1;
  string_view name = absl::StripAsciiWhitespace(line.substr(words[last].begin + words[last].text.size()));
  result.name_last = !name.empty();
  const string_view before = line.substr(0, words[at].begin);
  const bool name_first = !result.name_last && IsFrontName(before);
  if (name_first) name = FrontOf(before);
  for (std::size_t i = 0; i < at; ++i) {
    if (name_first && words[i].begin < name.size()) continue;
    if (IsAlgorithmName(words[i].text)) algorithm = words[i].text;
    const auto read = ReadSize(words[i].text);
    if (read && read->known && words[i].text.front() != '+') size = read->bytes;
  }
  if (!SetAnyDigest(words[at].text, algorithm, result.file) || IsCutName(name)) return result;
  result.file.size_bytes = size;
  result.file.path = std::string(name);
  // What a bucket's listing states is the ETag.
  result.file.etag = result.file.etag || absl::StrContains(name, "://");
  result.ok = true;
  return result;
}

// A name on a line of its own, whose columns stand on the next.
bool IsLoneName(string_view line) {
  const auto scheme = line.find("://");
  return scheme != string_view::npos && scheme > 0 && line.substr(0, scheme).find_first_of(" \t") == string_view::npos;
}

bool IsComment(string_view line) {
  line = absl::StripLeadingAsciiWhitespace(line);
  return line.empty() || line.front() == '#';
}

bool IsAround(const TextLine& line) {
  return IsListRemark(line.text) || (!line.open && IsListHeader(line.text));
}

bool FitsColumns(string_view head, string_view) {
  constexpr int kLinesTried = 40;
  int lines = 0;
  int records = 0;
  for (const TextLine& line : SplitLines(head)) {
    if (lines == kLinesTried) break;
    const bool record = !IsComment(line.text) && ReadColumnsLine(line.text).ok;
    if (!record && IsAround(line)) continue;
    records += record ? 1 : 0;
    lines += record || !IsLoneName(line.text) ? 1 : 0;
  }
  return records * 2 > lines;
}

absl::Status ReadColumns(string_view text, ManifestBuilder& sink) {
  ListWhole whole;
  std::optional<TextLine> lone;
  std::size_t records = 0;
  for (const TextLine& line : SplitLines(text)) {
    whole.See(line);
    if (IsComment(line.text)) {
      // The blanks before the first column of a record that is cut.
      if (line.open && line.text.find_first_not_of(" \t") == string_view::npos) sink.BadLine(line.number, "", true);
      continue;
    }
    ColumnsLine one = ReadColumnsLine(line.text);
    // A name may begin as a remark does.
    if (!one.ok && IsAround(line)) continue;
    if (!one.ok || !one.file.path.empty()) {
      if (lone) sink.BadLine(lone->number, lone->text, false);
      lone.reset();
    }
    if (!one.ok && IsLoneName(line.text) && !line.open) {
      lone = line;
      continue;
    }
    if (one.ok && one.file.path.empty() && lone) {
      one.file.path = std::string(absl::StripTrailingAsciiWhitespace(lone->text));
      one.file.etag = true;
      lone.reset();
    }
    if (!one.ok || one.file.path.empty()) {
      sink.BadLine(line.number, line.text, line.open);
      continue;
    }
    ++records;
    if (absl::EndsWith(one.file.path, "/")) {  // a folder's mark
      if (line.open && one.name_last) sink.BadLine(line.number, line.text, true);
      continue;
    }
    one.file.name_may_be_cut = one.name_last && line.open;
    sink.Add(std::move(one.file));
  }
  if (lone) sink.BadLine(lone->number, lone->text, true);
  whole.Finish(records, sink);
  return sink.size() == 0 ? absl::InvalidArgumentError("no line of a digest and a name") : absl::OkStatus();
}

}  // namespace

const ManifestForm kColumnsForm = {"manifest-table", &FitsColumns, &ReadColumns};

}  // namespace paritect
