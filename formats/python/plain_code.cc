#include "formats/python/plain_code.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/numbers.h"
#include "formats/python/names.h"

namespace paritect {
namespace {

// A part of the text that is told otherwise.
struct Edit {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::string text;
};

bool InWord(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || (static_cast<unsigned char>(c) & 0x80) != 0;
}

class PlainReader {
 public:
  using Told = absl::FunctionRef<std::optional<std::string>(NodeId)>;

  PlainReader(const SyntaxTree& tree, NodeId definition) : tree_(tree), definition_(definition) {}
  PlainReader(const SyntaxTree& tree, NodeId statement, Told told)
      : tree_(tree), definition_(statement), told_(told) {}

  std::string Run() {
    struct Open {
      NodeId node;
      int function;  // in which it stands, by number; -1
    };
    std::vector<Open> open = {{definition_, -1}};
    while (!open.empty()) {
      Open here = open.back();
      open.pop_back();
      if (tree_[here.node].kind == Syntax::kFunction && here.function < 0) here.function = NewFunction(here.node);
      if (!One(here.node)) continue;
      for (NodeId child = tree_[here.node].first; child != kNoNode; child = tree_[child].next) {
        if (tree_[child].kind == Syntax::kIdentifier) {
          if (IsNoValueName(tree_, here.node, child)) continue;
          if (here.function >= 0) Rename(child, here.function);
          Tell(child);
        } else {
          open.push_back({child, here.function});
        }
      }
    }
    return Written();
  }

 private:
  int NewFunction(NodeId function) {
    functions_.push_back(NamesIn(tree_, function).own);
    return static_cast<int>(functions_.size()) - 1;
  }

  // True where something else is told in its place.
  bool Tell(NodeId id) {
    const std::uint32_t begin = tree_[id].begin;
    if (!told_ || begin < set_until_) return false;
    std::optional<std::string> text = (*told_)(id);
    if (text) edits_.push_back({begin, tree_[id].end, *std::move(text)});
    return text.has_value();
  }

  // False where the node is told as a whole.
  bool One(NodeId id) {
    const SyntaxNode& node = tree_[id];
    switch (node.kind) {
      case Syntax::kAttribute: return !Tell(id);
      case Syntax::kExpressionStatement:
        // Documentation.
        if (node.first != kNoNode && tree_[node.first].kind == Syntax::kString && tree_[node.first].next == kNoNode) {
          edits_.push_back({node.begin, node.end, ""});
          return false;
        }
        return true;
      case Syntax::kBlock:
        if (told_) {
          edits_.push_back({node.begin, node.end, "{}"});
          return false;
        }
        edits_.push_back({node.begin, node.begin, "{"});
        edits_.push_back({node.end, node.end, "}"});
        return true;
      case Syntax::kFunction: return Function(id);
      case Syntax::kTypedParameter:
        if (node.first != kNoNode) Without(tree_[node.first].end, node.end, "");
        return true;
      case Syntax::kTypedDefaultParameter:
      case Syntax::kAssignment: return Hinted(id);
      case Syntax::kString: return Text(node);
      case Syntax::kFloat:
        if (const auto number = ParseDouble(tree_.TextOf(id)))
          edits_.push_back({node.begin, node.end, absl::StrCat(FormatDouble(*number), ".")});
        return true;
      default: return true;
    }
  }

  bool Function(NodeId id) {
    const NodeId parameters = tree_.Child(id, Part::kParameters);
    const NodeId body = tree_.Child(id, Part::kBody);
    if (parameters == kNoNode || body == kNoNode) return true;
    if (id == definition_) Without(tree_[id].begin, tree_[parameters].begin, "");
    Without(tree_[parameters].end, tree_[body].begin, ":");
    return true;
  }

  // `name: type = value`
  bool Hinted(NodeId id) {
    NodeId name = tree_[id].first;
    if (told_ && name != kNoNode && tree_[id].kind == Syntax::kAssignment)
      set_until_ = std::max(set_until_, tree_[name].end);
    NodeId value = kNoNode;
    int children = 0;
    for (NodeId child = name; child != kNoNode; child = tree_[child].next) {
      ++children;
      value = child;
    }
    if (children == 3) Without(tree_[name].end, tree_[value].begin, "=");
    return true;
  }

  bool Text(const SyntaxNode& node) {
    absl::string_view text = absl::string_view(tree_.source()).substr(node.begin, node.end - node.begin);
    const std::size_t quote = text.find_first_of("'\"");
    if (node.first != kNoNode || quote == absl::string_view::npos || absl::StrContains(text, '\\')) {
      verbatim_.push_back({node.begin, node.end, ""});
      return true;
    }
    const std::size_t width =
        text.size() - quote >= 6 && text[quote + 1] == text[quote] && text[quote + 2] == text[quote] ? 3 : 1;
    const std::string prefix = absl::AsciiStrToLower(text.substr(0, quote));
    const absl::string_view body = text.substr(quote + width, text.size() - quote - 2 * width);
    edits_.push_back({node.begin, node.end, absl::StrCat(prefix, "'", body, "'")});
    return false;
  }

  void Rename(NodeId id, int function) {
    const std::string name(tree_.TextOf(id));
    if (!functions_[static_cast<std::size_t>(function)].contains(name)) return;
    renames_.push_back({{tree_[id].begin, tree_[id].end, name}, function});
  }

  void Without(std::uint32_t begin, std::uint32_t end, std::string text) {
    if (end >= begin) edits_.push_back({begin, end, std::move(text)});
  }

  // Own names by the order in which they come first.
  void NumberNames() {
    std::sort(renames_.begin(), renames_.end(),
              [](const auto& a, const auto& b) { return a.first.begin < b.first.begin; });
    std::map<std::pair<int, std::string>, std::size_t> numbers;
    for (auto& [edit, function] : renames_) {
      const auto at = numbers.emplace(std::make_pair(function, edit.text), numbers.size()).first;
      edit.text = absl::StrCat("$", at->second);
      edits_.push_back(std::move(edit));
    }
  }

  std::string Written() {
    NumberNames();
    std::stable_sort(edits_.begin(), edits_.end(), [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
    std::sort(verbatim_.begin(), verbatim_.end(), [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
    std::uint32_t at = tree_[definition_].begin;
    for (const Edit& edit : edits_) {
      if (edit.begin < at) {
        if (edit.begin == edit.end && edit.text == "}") out_ += "}";
        continue;
      }
      Plain(at, edit.begin);
      Add(edit.text);
      at = std::max(at, edit.end);
    }
    Plain(at, tree_[definition_].end);
    return std::move(out_);
  }

  // Source text without comments; a blank only where two words would run together.
  void Plain(std::uint32_t begin, std::uint32_t end) {
    const std::string& source = tree_.source();
    for (std::uint32_t i = begin; i < end;) {
      const auto text = std::find_if(verbatim_.begin(), verbatim_.end(),
                                     [&](const Edit& one) { return one.begin <= i && i < one.end; });
      if (text != verbatim_.end()) {
        const std::uint32_t until = std::min(end, text->end);
        Add(absl::string_view(source).substr(i, until - i));
        i = until;
      } else if (source[i] == '#') {
        while (i < end && source[i] != '\n') ++i;
      } else if (absl::ascii_isspace(static_cast<unsigned char>(source[i])) || source[i] == '\\') {
        if (source[i] == '\n') line_ends_ = true;
        gap_ = true;
        ++i;
      } else {
        Add(absl::string_view(source).substr(i, 1));
        ++i;
      }
    }
  }

  void Add(absl::string_view text) {
    if (text.empty()) return;
    const bool words = !out_.empty() && InWord(out_.back()) && InWord(text[0]);
    if (gap_ && words) out_ += line_ends_ ? ';' : ' ';
    gap_ = line_ends_ = false;
    out_.append(text.data(), text.size());
    // A comma before a bracket changes nothing but in a tuple of one, and that one keeps its comma on both sides.
  }

  const SyntaxTree& tree_;
  const NodeId definition_;
  const std::optional<Told> told_;
  std::uint32_t set_until_ = 0;  // before it stands what the statement sets
  std::vector<Edit> edits_;
  std::vector<Edit> verbatim_;  // texts that stand as they are
  std::vector<std::pair<Edit, int>> renames_;
  std::vector<std::set<std::string>> functions_;  // their own names
  std::string out_;
  bool gap_ = false;
  bool line_ends_ = false;
};

}  // namespace

std::string PlainCode(const SyntaxTree& tree, NodeId definition) {
  return PlainReader(tree, definition).Run();
}

std::string PlainStatement(const SyntaxTree& tree, NodeId statement,
                           absl::FunctionRef<std::optional<std::string>(NodeId)> told) {
  return PlainReader(tree, statement, told).Run();
}

std::string CodeMark(absl::string_view code) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (char c : code) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return absl::StrCat(absl::Hex(hash, absl::kZeroPad16));
}

}  // namespace paritect
