// The one file that meets yaml-cpp, which throws. Built on its event interface, so that quoted
// scalars, duplicate keys and positions are seen and nothing is built beyond the limits.
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <map>
#include <sstream>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "common/document.h"
#include "common/utf8.h"

namespace paritect {
namespace {

std::string At(int line, int column, absl::string_view message) {
  return absl::StrCat(line, ":", column, ": ", message);
}

// Thrown to leave yaml-cpp's parser early; never leaves this file.
struct Refused {
  std::string message;
};

class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const DocumentLimits& limits) : limits_(limits) {}

  DocumentNode root;
  int documents = 0;

  void OnDocumentStart(const YAML::Mark&) override { ++documents; }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Put(NodeAt(mark, DocumentNode::Kind::kNull), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    auto it = anchors_.find(anchor);
    if (it == anchors_.end()) throw Refused{At(mark.line + 1, mark.column + 1, "an alias to itself or to nothing")};
    Count(it->second, mark);
    Put(it->second, 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    DocumentNode node = NodeAt(mark, DocumentNode::Kind::kScalar);
    node.text = value;
    node.quoted = tag == "!";  // yaml-cpp's mark of a quoted scalar
    if (tag != "!" && tag != "?") node.tag = tag;
    if (!node.quoted && node.tag.empty() && (value == "~" || value == "null" || value == "Null" || value == "NULL")) {
      node.kind = DocumentNode::Kind::kNull;
    }
    Put(std::move(node), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, DocumentNode::Kind::kList, tag, anchor);
  }
  void OnSequenceEnd() override { Close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, DocumentNode::Kind::kMap, tag, anchor);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct Level {
    DocumentNode node;
    YAML::anchor_t anchor = 0;
    bool have_key = false;
    DocumentNode key;
    struct Place {
      std::size_t index = 0;  // in node.fields
      bool merged = false;
    };
    absl::flat_hash_map<std::string, Place> places;  // by key
  };

  static DocumentNode NodeAt(const YAML::Mark& mark, DocumentNode::Kind kind) {
    DocumentNode node;
    node.kind = kind;
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    return node;
  }

  void Open(const YAML::Mark& mark, DocumentNode::Kind kind, const std::string& tag, YAML::anchor_t anchor) {
    if (static_cast<int>(levels_.size()) >= limits_.depth_max) {
      throw Refused{At(mark.line + 1, mark.column + 1, absl::StrCat("nested deeper than ", limits_.depth_max))};
    }
    Level level;
    level.node = NodeAt(mark, kind);
    if (tag != "!" && tag != "?") level.node.tag = tag;
    level.anchor = anchor;
    levels_.push_back(std::move(level));
  }

  void Close() {
    Level level = std::move(levels_.back());
    levels_.pop_back();
    Put(std::move(level.node), level.anchor);
  }

  void Count(const DocumentNode& node, const YAML::Mark& mark) {
    std::vector<const DocumentNode*> open = {&node};
    while (!open.empty()) {
      const DocumentNode* next = open.back();
      open.pop_back();
      if (++nodes_ > limits_.nodes_max) throw Refused{At(mark.line + 1, mark.column + 1, "too many values")};
      for (const DocumentNode& item : next->items) open.push_back(&item);
      for (const auto& field : next->fields) open.push_back(&field.second);
    }
  }

  void Put(DocumentNode node, YAML::anchor_t anchor) {
    if (++nodes_ > limits_.nodes_max) throw Refused{At(node.line, node.column, "too many values")};
    if (anchor != 0) anchors_[anchor] = node;
    if (levels_.empty()) {
      root = std::move(node);
      return;
    }
    Level& level = levels_.back();
    if (level.node.kind == DocumentNode::Kind::kList) {
      level.node.items.push_back(std::move(node));
    } else if (!level.have_key) {
      PutKey(level, std::move(node));
    } else {
      PutField(level, std::move(node));
    }
  }

  static void PutKey(Level& level, DocumentNode node) {
    if (node.is_null()) {
      node.kind = DocumentNode::Kind::kScalar;
      node.text = node.text.empty() ? "null" : node.text;
    }
    if (!node.is_scalar()) throw Refused{At(node.line, node.column, "a key that is a list or a map")};
    level.key = std::move(node);
    level.have_key = true;
  }

  static void PutField(Level& level, DocumentNode node) {
    level.have_key = false;
    if (level.key.text == "<<" && !level.key.quoted) {
      Merge(level, node);
      return;
    }
    const auto [known, fresh] = level.places.try_emplace(level.key.text, Level::Place{level.node.fields.size()});
    if (fresh) {
      level.node.fields.emplace_back(std::move(level.key), std::move(node));
      return;
    }
    if (!known->second.merged) {
      throw Refused{At(level.key.line, level.key.column, absl::StrCat("key '", level.key.text, "' stands twice"))};
    }
    // A key of the map itself beats one merged in before it.
    known->second.merged = false;
    level.node.fields[known->second.index] = {std::move(level.key), std::move(node)};
  }

  // YAML 1.1 merge key: fields of the map (or maps) named that the map itself does not have.
  static void Merge(Level& level, const DocumentNode& from) {
    std::vector<const DocumentNode*> sources;
    if (from.is_map()) sources.push_back(&from);
    for (const DocumentNode& item : from.items) sources.push_back(&item);
    for (const DocumentNode* source : sources) {
      for (const auto& [key, value] : source->fields) {
        const Level::Place place = {level.node.fields.size(), true};
        if (level.places.try_emplace(key.text, place).second) level.node.fields.emplace_back(key, value);
      }
    }
  }

  const DocumentLimits limits_;
  std::vector<Level> levels_;
  std::map<YAML::anchor_t, DocumentNode> anchors_;
  std::size_t nodes_ = 0;
};

// Position of the first byte that is not UTF-8.
std::string InvalidUtf8Message(absl::string_view text) {
  int line = 1;
  std::size_t line_start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\n') continue;
    if (!IsValidUtf8(text.substr(line_start, i - line_start))) break;
    ++line;
    line_start = i + 1;
  }
  absl::string_view rest = text.substr(line_start);
  rest = rest.substr(0, rest.find('\n'));
  std::size_t column = rest.size();
  while (column > 0 && !IsValidUtf8(rest.substr(0, column))) --column;
  return At(line, static_cast<int>(column) + 1, "bytes that are not UTF-8");
}

}  // namespace

absl::StatusOr<DocumentNode> ParseYaml(absl::string_view text, const DocumentLimits& limits) {
  if (text.size() > limits.bytes_max) {
    return absl::InvalidArgumentError(
        absl::StrCat("1:1: ", text.size(), " bytes found, at most ", limits.bytes_max, " are read"));
  }
  if (!IsValidUtf8(text)) return absl::InvalidArgumentError(InvalidUtf8Message(text));
  if (text.find('\0') != absl::string_view::npos) return absl::InvalidArgumentError("1:1: a NUL byte: not a text");
  TreeBuilder builder(limits);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
      if (builder.documents > 1) return absl::InvalidArgumentError("1:1: more than one YAML document");
    }
  } catch (const Refused& refused) {
    return absl::InvalidArgumentError(refused.message);
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(At(error.mark.line + 1, error.mark.column + 1, DisplayBytes(error.msg)));
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("1:1: ", DisplayBytes(error.what())));
  }
  return std::move(builder.root);
}

}  // namespace paritect
