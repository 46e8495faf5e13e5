#include "formats/observer/record.h"

#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/numbers.h"

namespace paritect {
namespace {

constexpr std::size_t kNodesMax = 400'000;  // of a line
constexpr int kDepthMax = 16;
constexpr std::size_t kUnknownMax = 200;  // names that are kept; further ones count under "..."

const std::vector<DocumentNode>& NoItems() {
  static const std::vector<DocumentNode> kNone;
  return kNone;
}

void CountUnknown(const std::string& name, RecordCounts& counts) {
  const bool room = counts.unknown.size() < kUnknownMax || counts.unknown.contains(name);
  ++counts.unknown[room ? name : "..."];
}

void LookForUnknown(const ObservedRecord& record, RecordCounts& counts) {
  const std::string kind = record.kind();
  if (!IsObservedKind(kind)) return CountUnknown(kind.empty() ? "(no kind)" : kind, counts);
  for (const auto& [name, value] : record.fields().fields) {
    if (!IsObservedField(kind, name.text)) CountUnknown(absl::StrCat(kind, ".", name.text), counts);
  }
}

}  // namespace

std::optional<double> NumberIn(const DocumentNode& node) {
  if (!node.is_scalar()) return std::nullopt;
  if (!node.quoted) return ParseDouble(node.text);
  if (node.text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (node.text == "inf") return std::numeric_limits<double>::infinity();
  if (node.text == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

std::optional<std::int64_t> IntegerIn(const DocumentNode& node) {
  return node.is_scalar() && !node.quoted ? ParseInt(node.text) : std::nullopt;
}

const DocumentNode* ObservedRecord::Find(absl::string_view field) const {
  const DocumentNode* found = fields_.Find(field);
  return found == nullptr || found->is_null() ? nullptr : found;
}

std::string ObservedRecord::Text(absl::string_view field) const {
  const DocumentNode* found = Find(field);
  return found != nullptr && found->is_scalar() ? found->text : "";
}

std::optional<double> ObservedRecord::Number(absl::string_view field) const {
  const DocumentNode* found = Find(field);
  return found == nullptr ? std::nullopt : NumberIn(*found);
}

std::optional<std::int64_t> ObservedRecord::Integer(absl::string_view field) const {
  const DocumentNode* found = Find(field);
  return found == nullptr ? std::nullopt : IntegerIn(*found);
}

std::optional<bool> ObservedRecord::Boolean(absl::string_view field) const {
  const DocumentNode* found = Find(field);
  if (found == nullptr || !found->is_scalar() || found->quoted) return std::nullopt;
  if (found->text == "true") return true;
  return found->text == "false" ? std::optional<bool>(false) : std::nullopt;
}

const std::vector<DocumentNode>& ObservedRecord::List(absl::string_view field) const {
  const DocumentNode* found = Find(field);
  return found != nullptr && found->is_list() ? found->items : NoItems();
}

void ForEachRecord(absl::string_view bytes, RecordCounts& counts,
                   absl::FunctionRef<void(const ObservedRecord&)> visit) {
  // Of another form, or without the line that states it: what its fields mean is not known.
  if (!bytes.empty() && !LooksObserved(bytes)) {
    ++counts.unread;
    counts.first_unread = 1;
    return;
  }
  DocumentLimits limits;
  limits.bytes_max = kObserverLineBytesMax;
  limits.nodes_max = kNodesMax;
  limits.depth_max = kDepthMax;
  std::int64_t number = 0;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const absl::string_view line = bytes.substr(0, end);
    ++number;
    if (end == absl::string_view::npos) {
      counts.cut = true;
      return;
    }
    bytes.remove_prefix(end + 1);
    const auto root = line.size() > kObserverLineBytesMax || !absl::StartsWith(line, "{")
                          ? absl::InvalidArgumentError("no record")
                          : ParseJson(line, limits);
    if (!root.ok() || !root->is_map()) {
      if (counts.unread++ == 0) counts.first_unread = number;
      continue;
    }
    ++counts.records;
    const ObservedRecord record(*root, number);
    LookForUnknown(record, counts);
    visit(record);
  }
}

bool LooksObserved(absl::string_view head) {
  const std::size_t end = head.find('\n');
  if (end == absl::string_view::npos || !absl::StartsWith(head, "{")) return false;
  return absl::StrContains(head.substr(0, end), "\"paritect-observe/1\"");
}

}  // namespace paritect
