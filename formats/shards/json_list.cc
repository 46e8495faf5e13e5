// JSON Lines {"rank","world_size","files"}, the same objects in one array or spread over lines, an array
// of names or numbers, and {"0": [...], "1": [...]} (lists by rank).
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/document.h"
#include "common/numbers.h"
#include "common/status_macros.h"
#include "formats/shards/shard_assembler.h"
#include "formats/shards/shard_format.h"

namespace paritect {
namespace {

constexpr absl::string_view kListKeys[] = {"files",   "paths", "shards", "filenames",  "urls", "samples",
                                           "indices", "idx",   "index",  "sample_ids", "items"};
constexpr absl::string_view kWorldKeys[] = {"world_size", "world", "num_replicas", "nranks"};

absl::string_view FirstLine(absl::string_view text) {
  for (;;) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const absl::string_view line = absl::StripAsciiWhitespace(text.substr(0, end));
    if (!line.empty() || end == text.size()) return line;
    text.remove_prefix(end + 1);
  }
}

// A printed Python list also begins with '['; then the quotes are others and the printed form reads it.
bool Sniff(absl::string_view bytes) {
  const absl::string_view line = FirstLine(bytes);
  if (absl::StartsWith(line, "{")) return true;
  return absl::StartsWith(line, "[") && ParseJson(bytes).ok();
}

std::optional<std::int64_t> ReadInt(const DocumentNode& object, absl::Span<const absl::string_view> keys) {
  for (absl::string_view key : keys) {
    const DocumentNode* value = object.Find(key);
    if (value != nullptr && value->is_scalar()) return ParseInt(value->text);
  }
  return std::nullopt;
}

std::optional<std::int32_t> ReadInt32(const DocumentNode& object, absl::Span<const absl::string_view> keys) {
  auto value = ReadInt(object, keys);
  if (!value || *value < INT32_MIN || *value > INT32_MAX) return std::nullopt;
  return static_cast<std::int32_t>(*value);
}

absl::Status ReadItems(const DocumentNode& list, ShardRecord& record) {
  record.numbers = true;
  for (const DocumentNode& item : list.items) {
    if (!item.is_scalar()) return ErrorAt(item, "a list entry that is neither a name nor a number");
    const bool number = !item.quoted && ParseInt(item.text).value_or(-1) >= 0;
    record.numbers = record.numbers && number;
    record.items.push_back(item.text);
  }
  return absl::OkStatus();
}

// Lists by rank: every key a number, every value a list.
bool IsByRank(const DocumentNode& object) {
  for (const auto& [key, value] : object.fields) {
    if (!value.is_list() || !ParseInt(key.text)) return false;
  }
  return !object.fields.empty();
}

absl::Status ReadObject(const DocumentNode& object, std::int64_t line, ShardAssembler& assembler) {
  if (IsByRank(object)) {
    for (const auto& [key, value] : object.fields) {
      ShardRecord record;
      record.line = line;
      record.rank = static_cast<std::int32_t>(std::clamp<std::int64_t>(*ParseInt(key.text), -1, INT32_MAX));
      PARITECT_RETURN_IF_ERROR(ReadItems(value, record));
      assembler.Add(std::move(record));
    }
    return absl::OkStatus();
  }
  const DocumentNode* list = nullptr;
  bool files = false;
  for (absl::string_view key : kListKeys) {
    const DocumentNode* value = object.Find(key);
    if (list != nullptr || value == nullptr || !value->is_list()) continue;
    list = value;
    // The contract's form: one object a rank. Samples may be printed batch by batch.
    files = key == "files" || key == "paths" || key == "shards" || key == "filenames" || key == "urls";
  }
  if (list == nullptr) return ErrorAt(object, "an object without a list of files or samples");
  ShardRecord record;
  record.line = line;
  record.rank = ReadInt32(object, {"rank", "global_rank"});
  record.world_size = ReadInt32(object, kWorldKeys);
  record.epoch = ReadInt32(object, {"epoch"});
  record.step = ReadInt(object, {"step", "iteration"});
  record.whole = files && !record.step;
  PARITECT_RETURN_IF_ERROR(ReadItems(*list, record));
  assembler.Add(std::move(record));
  return absl::OkStatus();
}

absl::StatusOr<ShardLists> ReadWhole(absl::string_view bytes) {
  PARITECT_ASSIGN_OR_RETURN(DocumentNode root, ParseJson(bytes));
  ShardAssembler assembler;
  if (root.is_map()) {
    PARITECT_RETURN_IF_ERROR(ReadObject(root, 1, assembler));
  } else if (root.is_list() && !root.items.empty() && root.items[0].is_map()) {
    for (const DocumentNode& one : root.items) {
      if (!one.is_map()) return ErrorAt(one, "objects and other values in one array");
      PARITECT_RETURN_IF_ERROR(ReadObject(one, one.line, assembler));
    }
  } else if (root.is_list()) {
    ShardRecord record;
    PARITECT_RETURN_IF_ERROR(ReadItems(root, record));
    assembler.Add(std::move(record));
  }
  return std::move(assembler).Finish("shard-list");
}

absl::StatusOr<ShardLists> Read(absl::string_view bytes) {
  // One object a line, where the first line is a whole object; else the whole file is one value.
  if (!absl::StartsWith(FirstLine(bytes), "{") || !ParseJson(FirstLine(bytes)).ok()) return ReadWhole(bytes);
  ShardAssembler assembler;
  std::int64_t line = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
    const absl::string_view text = absl::StripAsciiWhitespace(bytes.substr(at, end - at));
    at = end + 1;
    ++line;
    if (text.empty()) continue;
    auto object = ParseJson(text);
    const absl::Status status = !object.ok()       ? object.status()
                                : object->is_map() ? ReadObject(*object, line, assembler)
                                                   : ErrorAt(*object, "not an object");
    if (!status.ok()) assembler.AddIncomplete(line, status.message());
    if (assembler.full()) break;
  }
  if (assembler.empty()) return absl::UnimplementedError("JSON lines without a list of files or samples");
  return std::move(assembler).Finish("shard-list");
}

}  // namespace

extern const ShardFormat kJsonShardFormat;
const ShardFormat kJsonShardFormat = {"json", &Sniff, &Read};

}  // namespace paritect
