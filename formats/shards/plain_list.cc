// One path a line, or one sample number a line; NUL in place of line ends (find -print0) is read too.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/numbers.h"
#include "formats/shards/list_scanner.h"
#include "formats/shards/shard_format.h"

namespace paritect {
namespace {

constexpr std::size_t kPathBytesMax = 64 << 10;

bool HasNul(absl::string_view bytes) {
  return bytes.find('\0') != absl::string_view::npos;
}

// NUL-separated names, each short and without control characters, or lines without any NUL.
bool Sniff(absl::string_view bytes) {
  // UTF-16 has NULs too, which separate nothing.
  if (absl::StartsWith(bytes, "\xff\xfe") || absl::StartsWith(bytes, "\xfe\xff")) return false;
  const absl::string_view head = bytes.substr(0, 1 << 16);
  for (char c : head) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\0') return false;
  }
  return !HasNul(bytes) || (bytes.back() == '\0' && head.find("\0\0", 0, 2) == absl::string_view::npos);
}

bool IsSampleNumber(absl::string_view text) {
  auto value = ParseInt(text);
  return value && *value >= 0 && text.find_first_not_of("0123456789") == absl::string_view::npos;
}

// What stands on a line that is more than a plain name: a printed list, several numbers, a quoted name, a number
// between blanks. False: the line is a name as it stands.
bool TakeApart(absl::string_view line, v1::ShardList& list, std::vector<std::string>& items) {
  const absl::string_view text = absl::StripAsciiWhitespace(line);
  if (text.empty()) return false;
  if (text.front() == '[') {
    auto printed = ScanList(text, 0);
    if (!printed || printed->end != text.size()) return false;
    if (printed->cut || printed->elided) {
      v1::Problem& problem = *list.add_incomplete();
      problem.set_id("shard_list_incomplete");
      (*problem.mutable_args())["line"] = "1";
      (*problem.mutable_args())["why"] = "a printed list is shortened or cut off";
    }
    items = std::move(printed->items);
    return true;
  }
  if (text.find_first_not_of("0123456789, \t") == absl::string_view::npos) {
    for (absl::string_view number : absl::StrSplit(text, absl::ByAnyChar(", \t"), absl::SkipEmpty())) {
      items.emplace_back(number);
    }
    return !items.empty();
  }
  absl::string_view quoted = text;
  absl::ConsumeSuffix(&quoted, ",");
  const char quote = quoted.front();
  if ((quote == '"' || quote == '\'') && quoted.size() > 2 && quoted.back() == quote) {
    items.emplace_back(quoted.substr(1, quoted.size() - 2));
    return true;
  }
  return false;
}

// "rank 0 reads /d/a", "0 /d/a": words before a path are no part of a name that anybody gives.
bool HoldsMoreThanAPath(absl::string_view line) {
  if (line.empty() || line[0] == '/' || absl::StartsWith(line, "./")) return false;
  const std::size_t blank = line.find_first_of(" \t");
  return blank != absl::string_view::npos &&
         (absl::StrContains(line.substr(blank), " /") || absl::StrContains(line.substr(blank), "\t/"));
}

void AddNote(v1::ShardList& list, absl::string_view kind, std::int64_t line, absl::string_view message) {
  v1::Note& note = *list.add_notes();
  note.set_kind(std::string(kind));
  note.set_line(line);
  note.set_message(std::string(message));
}

absl::StatusOr<ShardLists> Read(absl::string_view bytes) {
  v1::ShardList list;
  list.set_format("shard-list");
  const char separator = HasNul(bytes) ? '\0' : '\n';
  std::int64_t line = 0, numbers = 0, first_number = 0, first_path = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    std::size_t end = bytes.find(separator, at);
    if (end == absl::string_view::npos) end = bytes.size();
    absl::string_view item = bytes.substr(at, end - at);
    at = end + 1;
    ++line;
    if (separator == '\n' && absl::EndsWith(item, "\r")) item.remove_suffix(1);
    // "# ..." is a remark; a name may begin with '#'.
    if (item.empty() || (separator == '\n' && absl::StartsWith(item, "# "))) continue;
    if (item.size() > kPathBytesMax)
      return absl::UnimplementedError(absl::StrCat("line ", line, " is longer than any path"));
    if (static_cast<std::size_t>(list.items_size()) >= kShardItemsMax) {
      return absl::ResourceExhaustedError(absl::StrCat("more than ", kShardItemsMax, " entries"));
    }
    std::vector<std::string> items;
    if (separator != '\n' || !TakeApart(item, list, items)) {
      if (separator == '\n' && !absl::StartsWith(item, "pipe:") && HoldsMoreThanAPath(item)) {
        return absl::UnimplementedError(absl::StrCat("line ", line, " holds more than a path or a sample number"));
      }
      items.emplace_back(item);
    }
    for (std::string& one : items) {
      if (!TakeNameOutOfPipe(one)) {
        return absl::UnimplementedError(absl::StrCat("line ", line, " is a command that names no single file"));
      }
      if (IsSampleNumber(one)) {
        if (numbers++ == 0) first_number = line;
      } else if (first_path == 0) {
        first_path = line;
      }
      list.add_items(std::move(one));
    }
  }
  list.set_sample_numbers(numbers > 0 && numbers == list.items_size());
  if (numbers > 0 && first_path > 0) {
    AddNote(list, "numbers_and_paths", std::max(first_number, first_path),
            "sample numbers and paths in one list: all are taken as paths");
  }
  if (!bytes.empty() && bytes.back() != separator)
    AddNote(list, "no_final_line_end", line, "the last line has no line end");
  return ShardLists{std::move(list)};
}

}  // namespace

extern const ShardFormat kPlainShardFormat;
const ShardFormat kPlainShardFormat = {"plain", &Sniff, &Read};

}  // namespace paritect
