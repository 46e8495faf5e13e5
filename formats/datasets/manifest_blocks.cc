// Lists with several lines a file: "key : value" (Get-FileHash, gcloud storage hash, git lfs ls-files -d), a title with
// keys below (gsutil hash, gsutil ls -L) or with the digest alone (certutil). A record ends where the next title
// stands, where a key comes again, and at an empty line or "---".
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/datasets/list_fields.h"
#include "formats/datasets/list_lines.h"
#include "formats/datasets/manifest_builder.h"

namespace paritect {
namespace {

using absl::string_view;

struct Title {
  std::string name;
  std::string algorithm;
};

// Takes what stands before `literal` off `text`.
std::optional<string_view> TakeUntil(string_view literal, bool last, string_view& text) {
  const auto at = literal.empty() ? text.size() : last ? text.rfind(literal) : text.find(literal);
  if (at == string_view::npos || (last && at + literal.size() != text.size())) return std::nullopt;
  const string_view taken = text.substr(0, at);
  text.remove_prefix(at + literal.size());
  return taken;
}

// The line as one of the known titles: literal parts around {algorithm} and {name}.
std::optional<Title> ReadTitle(string_view line) {
  line = absl::StripTrailingAsciiWhitespace(line);
  for (string_view pattern : BuiltInListWords().titles) {
    string_view rest = line;
    Title title;
    bool ok = true;
    const auto algorithm = pattern.find("{algorithm}");
    if (algorithm != string_view::npos) {
      pattern.remove_prefix(algorithm + 11);
      const auto taken = TakeUntil(pattern.substr(0, pattern.find('{')), false, rest);
      ok = taken && IsAlgorithmName(*taken);
      if (ok) title.algorithm = std::string(*taken);
    } else {
      ok = absl::ConsumePrefix(&rest, pattern.substr(0, pattern.find('{')));
    }
    const auto name = ok ? TakeUntil(pattern.substr(pattern.find('}') + 1), true, rest) : std::nullopt;
    if (!name || name->empty()) continue;
    title.name = std::string(*name);
    return title;
  }
  // "gs://bucket/a/1.bin:", keys below.
  if (absl::StrContains(line, "://") && absl::ConsumeSuffix(&line, ":") && !absl::StrContains(line, " :")) {
    return Title{std::string(line), ""};
  }
  return std::nullopt;
}

struct KeyValue {
  ListColumn column = ListColumn::kOther;
  string_view key;
  string_view value;
};

std::optional<KeyValue> ReadKeyValue(string_view line) {
  line = absl::StripAsciiWhitespace(line);
  absl::ConsumePrefix(&line, "- ");
  constexpr std::size_t kKeyBytesMax = 40;
  auto colon = line.find(':');
  std::size_t width = 1;
  // "：" of Chinese
  if (const auto wide = line.find("\xEF\xBC\x9A"); wide < colon) {
    colon = wide;
    width = 3;
  }
  if (colon == string_view::npos || colon == 0 || colon > kKeyBytesMax) return std::nullopt;
  KeyValue pair;
  pair.key = absl::StripAsciiWhitespace(line.substr(0, colon));
  pair.value = absl::StripAsciiWhitespace(line.substr(colon + width));
  const bool end = colon + width == line.size();
  if (!end && width == 1 && line[colon + 1] != ' ' && line[colon + 1] != '\t') return std::nullopt;  // "D:\x", "x://"
  pair.column = ListColumnOf(pair.key);
  return pair;
}

bool IsDigestColumn(ListColumn column) {
  return column == ListColumn::kDigest || column == ListColumn::kSha256 || column == ListColumn::kEtag;
}

bool IsNameColumn(ListColumn column) {
  return column == ListColumn::kPath || column == ListColumn::kName || column == ListColumn::kUrl;
}

// The lines of one file.
struct Block {
  TextLine begin;
  bool titled = false;
  std::vector<std::pair<ListColumn, std::string>> fields;
  std::set<std::string> keys;
};

// Puts the blocks together, line by line.
class Blocks {
 public:
  explicit Blocks(ManifestBuilder& sink) : sink_(sink) {}

  void See(const TextLine& line) {
    const string_view text = absl::StripAsciiWhitespace(line.text);
    open_ = line.open;
    if (text.empty() || text == "---") {
      if (line.open && !line.text.empty()) Bad(line);
      if (!block_.titled) Close(false);
    } else if (const auto title = ReadTitle(line.text)) {
      Close(false);
      block_.begin = line;
      block_.titled = true;
      block_.fields.emplace_back(ListColumn::kPath, title->name);
      if (!title->algorithm.empty()) block_.fields.emplace_back(ListColumn::kAlgorithm, title->algorithm);
    } else if (!IsListRemark(line.text)) {
      SeeWithin(line, text);
    }
  }

  void Close(bool at_end) {
    const Block block = std::exchange(block_, Block());
    bool ok = true;
    bool digest = false;
    ListFields fields;
    for (const auto& [column, value] : block.fields) {
      ok = fields.Put(column, value) && ok;
      digest = digest || (IsDigestColumn(column) && !value.empty());
    }
    // A block that names neither a file nor a digest is about something else.
    const bool begun = at_end && (!block.fields.empty() || (open_ && !block.keys.empty()));
    if (!block.titled && !digest && !fields.has_name() && !begun) return;
    std::optional<ManifestFile> file = ok ? fields.Finish() : std::nullopt;
    // Objects that were composed have no MD5, and their other keys say so; a block that is cut says nothing.
    const bool whole = digest || (block.titled && !block.keys.empty() && !at_end);
    if (!file || !whole) {
      ++bad_;
      return sink_.BadLine(block.begin.number, block.begin.text, at_end);
    }
    ++records_;
    firm_ += block.titled || block.fields.size() == block.keys.size() ? 1 : 0;
    const bool folder = absl::EndsWith(file->path, "/");
    if (folder && at_end && open_) return sink_.BadLine(block.begin.number, block.begin.text, true);
    file->name_may_be_cut = at_end && open_ && !block.titled && IsNameColumn(block.fields.back().first);
    if (!file->directory && !folder) sink_.Add(*std::move(file));
  }

  std::size_t records() const { return records_; }
  std::size_t bad() const { return bad_; }
  // Blocks of nothing but what lists state.
  std::size_t firm() const { return firm_; }

 private:
  void SeeWithin(const TextLine& line, string_view text) {
    if (block_.titled && IsDigestText(text)) {
      block_.fields.emplace_back(ListColumn::kDigest, std::string(text));
    } else if (const auto pair = ReadKeyValue(line.text)) {
      Put(line, *pair);
      // Tools end their lines: one without its end that is neither name nor digest is cut.
      const bool last =
          IsNameColumn(pair->column) || (IsDigestColumn(pair->column) && pair->column != ListColumn::kEtag);
      if (line.open && !last) Bad(line);
    } else if (!WentOn(line, text) && !(block_.titled && text.find_first_not_of("[]{}, ") == string_view::npos)) {
      Bad(line);
    }
  }

  void Bad(const TextLine& line) {
    ++bad_;
    sink_.BadLine(line.number, line.text, line.open);
  }

  void Put(const TextLine& line, const KeyValue& pair) {
    const std::string key(pair.key);
    const bool known = pair.column != ListColumn::kOther;
    if (known && !block_.titled && block_.keys.contains(key)) Close(false);
    if (block_.fields.empty() && block_.keys.empty()) block_.begin = line;
    block_.keys.insert(key);
    if (!known || (block_.titled && IsNameColumn(pair.column))) return;  // the title names the file
    block_.fields.emplace_back(pair.column, std::string(pair.value));
  }

  // Format-List of PowerShell breaks long values: the rest stands indented on the next line. Where there are blanks,
  // one may have stood at the break.
  bool WentOn(const TextLine& line, string_view text) {
    if (!absl::StartsWith(line.text, "    ") || block_.titled || block_.fields.empty()) return false;
    std::string& value = block_.fields.back().second;
    if (absl::StrContains(value, " ") || absl::StrContains(text, " ")) return false;
    absl::StrAppend(&value, text);
    return true;
  }

  ManifestBuilder& sink_;
  Block block_;
  bool open_ = false;
  std::size_t records_ = 0;
  std::size_t bad_ = 0;
  std::size_t firm_ = 0;
};

bool FitsBlocks(string_view head, string_view) {
  ManifestBuilder sink;
  Blocks blocks(sink);
  for (const TextLine& line : SplitLines(head)) blocks.See(line);
  blocks.Close(true);
  // A configuration may state one path and one digest among its keys.
  return blocks.records() + blocks.firm() >= 2 && blocks.records() >= blocks.bad();
}

absl::Status ReadBlocks(string_view text, ManifestBuilder& sink) {
  Blocks blocks(sink);
  ListWhole whole;
  for (const TextLine& line : SplitLines(text)) {
    whole.See(line);
    blocks.See(line);
  }
  blocks.Close(true);
  whole.Finish(blocks.records(), sink);
  return sink.size() == 0 ? absl::InvalidArgumentError("no block with a name and a digest") : absl::OkStatus();
}

}  // namespace

const ManifestForm kBlocksForm = {"manifest-blocks", &FitsBlocks, &ReadBlocks};

}  // namespace paritect
