#include "rules/prepared_document.h"

#include <cstdint>

#include "absl/strings/match.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

constexpr absl::string_view kMark = absl::string_view("\0paritect-rules-1\n", 18);
constexpr int kDepthMax = 64;  // as of a parsed document

// One byte before each node: its kind, and which of the rarer members follow.
constexpr std::uint8_t kKindMask = 0x03;
constexpr std::uint8_t kQuoted = 0x04;
constexpr std::uint8_t kTagged = 0x08;

void PutNumber(std::uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void PutText(absl::string_view text, std::string& out) {
  PutNumber(text.size(), out);
  out.append(text.data(), text.size());
}

void PutNode(const DocumentNode& node, std::string& out) {
  const std::uint8_t head =
      static_cast<std::uint8_t>(node.kind) | (node.quoted ? kQuoted : 0) | (node.tag.empty() ? 0 : kTagged);
  out.push_back(static_cast<char>(head));
  PutNumber(static_cast<std::uint64_t>(node.line), out);
  PutNumber(static_cast<std::uint64_t>(node.column), out);
  if (!node.tag.empty()) PutText(node.tag, out);
  switch (node.kind) {
    case DocumentNode::Kind::kNull:
    case DocumentNode::Kind::kScalar: PutText(node.text, out); return;
    case DocumentNode::Kind::kList:
      PutNumber(node.items.size(), out);
      for (const DocumentNode& item : node.items) PutNode(item, out);
      return;
    case DocumentNode::Kind::kMap:
      PutNumber(node.fields.size(), out);
      for (const auto& [key, value] : node.fields) {
        PutNode(key, out);
        PutNode(value, out);
      }
      return;
  }
}

// Every method returns false where the bytes end early or say what cannot be.
class NodeReader {
 public:
  explicit NodeReader(absl::string_view bytes) : rest_(bytes) {}

  bool at_end() const { return rest_.empty(); }

  bool Node(int depth, DocumentNode& node) {
    if (depth > kDepthMax || rest_.empty()) return false;
    const auto head = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    node.kind = static_cast<DocumentNode::Kind>(head & kKindMask);
    node.quoted = (head & kQuoted) != 0;
    if (!Place(node.line) || !Place(node.column)) return false;
    if ((head & kTagged) != 0 && !Text(node.tag)) return false;
    if (node.is_list()) return Items(depth, node);
    if (node.is_map()) return Fields(depth, node);
    return Text(node.text);
  }

  // The bytes of the next node, which is left unread.
  bool Bytes(int depth, absl::string_view& bytes) {
    const absl::string_view before = rest_;
    if (!Skip(depth)) return false;
    bytes = before.substr(0, before.size() - rest_.size());
    return true;
  }

  // The beginning of a map: so many fields follow.
  bool MapOf(std::uint64_t& count) {
    if (rest_.empty() || static_cast<std::uint8_t>(rest_.front()) != static_cast<int>(DocumentNode::Kind::kMap))
      return false;
    rest_.remove_prefix(1);
    int place = 0;
    return Place(place) && Place(place) && Count(count);
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion): as deep as a document may be
  bool Skip(int depth) {
    if (depth > kDepthMax || rest_.empty()) return false;
    const auto head = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    int place = 0;
    if (!Place(place) || !Place(place)) return false;
    if ((head & kTagged) != 0 && !SkipText()) return false;
    const auto kind = static_cast<DocumentNode::Kind>(head & kKindMask);
    const bool list = kind == DocumentNode::Kind::kList;
    if (!list && kind != DocumentNode::Kind::kMap) return SkipText();
    std::uint64_t count = 0;
    if (!Count(count)) return false;
    for (std::uint64_t i = 0; i < (list ? count : 2 * count); ++i) {
      if (!Skip(depth + 1)) return false;
    }
    return true;
  }

  bool SkipText() {
    std::uint64_t size = 0;
    if (!Number(size) || size > rest_.size()) return false;
    rest_.remove_prefix(size);
    return true;
  }

  bool Items(int depth, DocumentNode& node) {
    std::uint64_t count = 0;
    if (!Count(count)) return false;
    node.items.resize(count);
    for (DocumentNode& item : node.items) {
      if (!Node(depth + 1, item)) return false;
    }
    return true;
  }

  bool Fields(int depth, DocumentNode& node) {
    std::uint64_t count = 0;
    if (!Count(count)) return false;
    node.fields.resize(count);
    for (auto& [key, value] : node.fields) {
      if (!Node(depth + 1, key) || !Node(depth + 1, value)) return false;
    }
    return true;
  }

  bool Number(std::uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 35; shift += 7) {
      if (rest_.empty()) return false;
      const auto byte = static_cast<std::uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  // A node takes four bytes at least: more of them than that cannot follow.
  bool Count(std::uint64_t& count) { return Number(count) && count <= rest_.size() / 4; }

  bool Place(int& place) {
    std::uint64_t value = 0;
    if (!Number(value) || value > INT32_MAX) return false;
    place = static_cast<int>(value);
    return true;
  }

  bool Text(std::string& text) {
    std::uint64_t size = 0;
    if (!Number(size) || size > rest_.size()) return false;
    text.assign(rest_.data(), size);
    rest_.remove_prefix(size);
    return true;
  }

  absl::string_view rest_;
};

absl::Status Damaged() {
  return absl::InvalidArgumentError("1:1: a prepared document that is cut or damaged");
}

}  // namespace

std::string PrepareDocument(const DocumentNode& root) {
  std::string out(kMark);
  PutNode(root, out);
  return out;
}

bool IsPrepared(absl::string_view bytes) {
  return absl::StartsWith(bytes, kMark);
}

absl::Status ForEachPreparedField(absl::string_view bytes,
                                  absl::FunctionRef<absl::Status(absl::string_view key, absl::string_view node)> take) {
  if (!IsPrepared(bytes)) return Damaged();
  NodeReader reader(bytes.substr(kMark.size()));
  std::uint64_t count = 0;
  if (!reader.MapOf(count)) return Damaged();
  DocumentNode key;
  absl::string_view node;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!reader.Node(1, key) || !reader.Bytes(1, node)) return Damaged();
    PARITECT_RETURN_IF_ERROR(take(key.text, node));
  }
  return reader.at_end() ? absl::OkStatus() : Damaged();
}

absl::StatusOr<DocumentNode> ReadPreparedNode(absl::string_view node) {
  NodeReader reader(node);
  DocumentNode root;
  if (!reader.Node(1, root) || !reader.at_end()) return Damaged();
  return root;
}

absl::StatusOr<DocumentNode> ReadRulesDocument(absl::string_view bytes) {
  if (!IsPrepared(bytes)) return ParseDocument(bytes);
  NodeReader reader(bytes.substr(kMark.size()));
  DocumentNode root;
  if (!reader.Node(0, root) || !reader.at_end()) return Damaged();
  return root;
}

}  // namespace paritect
