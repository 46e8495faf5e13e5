// Log lines that print a list of files or of sample numbers, with rank, world size, step and epoch where
// the line names them. Other lines of the log are passed over.
#include <re2/re2.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "common/numbers.h"
#include "common/status_macros.h"
#include "formats/shards/list_scanner.h"
#include "formats/shards/shard_assembler.h"
#include "formats/shards/shard_format.h"

namespace paritect {
namespace {

constexpr std::size_t kSniffLists = 200;      // '[' looked at before giving up
constexpr std::size_t kPrefixBytesMax = 512;  // of a line, before its list

re2::StringPiece ToPiece(absl::string_view text) {
  return {text.data(), text.size()};
}

std::optional<std::int64_t> ReadField(const re2::RE2& pattern, absl::string_view text) {
  std::string digits;
  if (!re2::RE2::PartialMatch(ToPiece(text), pattern, &digits)) return std::nullopt;
  return ParseInt(digits);
}

std::optional<std::int32_t> ReadField32(const re2::RE2& pattern, absl::string_view text) {
  auto value = ReadField(pattern, text);
  if (!value || *value > INT32_MAX) return std::nullopt;
  return static_cast<std::int32_t>(*value);
}

// "rank 3", "[rank3]", "global_rank=3". The rank within a node or within a group of parallel ranks is another thing;
// two ranks that differ leave it open, unless one is said to be the global one.
std::optional<std::int32_t> ReadRank(absl::string_view text) {
  static const re2::RE2* const pattern = new re2::RE2(
      R"((?i)(?:\b(global|local|node|group|role|intra|inter|dp|ddp|tp|pp|ep|cp|mp|vp|)"
      R"(data[ _-]?parallel|tensor[ _-]?parallel|)"
      R"(pipeline[ _-]?parallel|model[ _-]?parallel|expert[ _-]?parallel|context[ _-]?parallel)[ _-]?)?\b)"
      R"((?:(global)[ _]?)?rank[ _]?(?:id)?\s*[=:#]?\s*(\d{1,9}))");
  re2::StringPiece rest = ToPiece(text);
  std::string kind, global, digits;
  std::optional<std::int32_t> found;
  bool several = false;
  while (re2::RE2::FindAndConsume(&rest, *pattern, &kind, &global, &digits)) {
    const auto rank = static_cast<std::int32_t>(*ParseInt(digits));
    if (!global.empty() || absl::EqualsIgnoreCase(kind, "global")) return rank;
    if (!kind.empty()) continue;
    several = several || (found && *found != rank);
    if (!found) found = rank;
  }
  return several ? std::nullopt : found;
}

// The word before "[", without "=", ":" and blanks: what the list is said to hold.
absl::string_view KeyBefore(absl::string_view prefix) {
  while (!prefix.empty() && (absl::ascii_isspace(static_cast<unsigned char>(prefix.back())) ||
                             absl::StrContains("=:\"'(", prefix.substr(prefix.size() - 1)))) {
    prefix.remove_suffix(1);
  }
  std::size_t begin = prefix.size();
  while (begin > 0 && (absl::ascii_isalnum(static_cast<unsigned char>(prefix[begin - 1])) || prefix[begin - 1] == '_'))
    --begin;
  return prefix.substr(begin);
}

bool SaysWhatItHolds(absl::string_view key) {
  static constexpr absl::string_view kStems[] = {"idx",    "index", "indic",  "sample", "file", "shard", "path",
                                                 "tensor", "url",   "record", "list",   "ids",  "array"};
  for (absl::string_view stem : kStems) {
    if (absl::StrContains(absl::AsciiStrToLower(key), stem)) return true;
  }
  return false;
}

bool LooksLikePaths(const ScannedList& list) {
  for (const std::string& item : list.items) {
    if (item.find_first_of("/.") == std::string::npos) return false;
  }
  return !list.items.empty() && !list.numbers;
}

// "files [1]/a.tar" is a name.
bool IsNamePart(char c) {
  return c == '/' || c == '.' || absl::ascii_isalnum(static_cast<unsigned char>(c));
}

// Visits every list of the text: its prefix on the line, and the list.
template <typename Visit>
void ForEachList(absl::string_view text, Visit visit) {
  std::size_t line_begin = 0;
  std::int64_t line = 1;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\n') {
      ++line;
      line_begin = ++at;
      continue;
    }
    if (text[at] != '[') {
      ++at;
      continue;
    }
    auto list = ScanList(text, at);
    const std::size_t from = at - line_begin > kPrefixBytesMax ? at - kPrefixBytesMax : line_begin;
    const absl::string_view prefix = text.substr(from, at - from);
    if (list && list->end < text.size() && IsNamePart(text[list->end])) list.reset();
    if (!list || !(SaysWhatItHolds(KeyBefore(prefix)) || LooksLikePaths(*list))) {
      ++at;
      continue;
    }
    // What follows on the line may name the rank as well.
    const std::size_t end = list->end;
    const std::size_t line_end = std::min(text.find('\n', end), text.size());
    if (!visit(line, prefix, text.substr(end, std::min(line_end - end, kPrefixBytesMax)), *list)) return;
    for (; at < end; ++at) {
      if (text[at] != '\n') continue;
      ++line;
      line_begin = at + 1;
    }
  }
}

bool Sniff(absl::string_view bytes) {
  if (absl::StrContains(bytes.substr(0, 1 << 16), absl::string_view("\0", 1))) return false;
  bool found = false;
  std::size_t looked = 0;
  ForEachList(bytes.substr(0, 4 << 20), [&](std::int64_t, absl::string_view prefix, absl::string_view,
                                            const ScannedList& list) {
    // A path with brackets in it ("run[1]/a.tar") is no list: a list stands alone, after a key or a blank.
    const bool stands_alone = prefix.empty() || absl::StrContains("=: \t(", prefix.substr(prefix.size() - 1));
    found = stands_alone && (!list.items.empty() || list.cut || list.elided);
    return !found && ++looked < kSniffLists;
  });
  return found;
}

ShardRecord ReadRecord(std::int64_t line, absl::string_view before, absl::string_view after, ScannedList list) {
  static const re2::RE2* const world = new re2::RE2(
      R"((?i)(?:\bworld[ _-]?size|\bworld|\bnum_replicas|\bnranks|\brank[ =:]*\d+\s*(?:/|of))\s*[=:]?\s*(\d{1,9}))");
  static const re2::RE2* const step =
      new re2::RE2(R"((?i)\b(?:global[ _])?(?:step|iteration|iter|batch_idx)\s*[=:#]?\s*(\d{1,18}))");
  static const re2::RE2* const epoch = new re2::RE2(R"((?i)\bepoch\s*[=:#]?\s*(\d{1,9}))");
  const std::string text = absl::StrCat(before, " ", after);
  ShardRecord record;
  record.line = line;
  record.step = ReadField(*step, text);
  record.rank = ReadRank(text);
  record.world_size = ReadField32(*world, text);
  record.epoch = ReadField32(*epoch, text);
  record.items = std::move(list.items);
  record.numbers = list.numbers;
  record.elided = list.elided;
  return record;
}

absl::StatusOr<ShardLists> Read(absl::string_view bytes) {
  ShardAssembler assembler;
  ForEachList(bytes, [&](std::int64_t line, absl::string_view before, absl::string_view after, ScannedList& list) {
    if (list.cut) assembler.AddIncomplete(line, "the list is cut off");
    assembler.Add(ReadRecord(line, before, after, std::move(list)));
    return !assembler.full();
  });
  return std::move(assembler).Finish("shard-list");
}

}  // namespace

extern const ShardFormat kPrintedShardFormat;
const ShardFormat kPrintedShardFormat = {"printed", &Sniff, &Read};

}  // namespace paritect
