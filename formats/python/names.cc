#include "formats/python/names.h"

#include <vector>

namespace paritect {

bool IsNoValueName(const SyntaxTree& tree, NodeId node, NodeId child) {
  const Syntax kind = tree[node].kind;
  const Part part = tree[child].part;
  if (kind == Syntax::kAttribute) return part == Part::kAttribute;
  if (kind == Syntax::kKeywordArgument) return part == Part::kName;
  return (kind == Syntax::kFunction || kind == Syntax::kClass) && part == Part::kName;
}

namespace {

class NameReader {
 public:
  explicit NameReader(const SyntaxTree& tree) : tree_(tree) {}

  Names Read(NodeId definition) {
    std::vector<std::pair<NodeId, bool>> open = {{definition, false}};  // node, whether it is a place that is set
    while (!open.empty()) {
      const auto [node, set] = open.back();
      open.pop_back();
      One(node, set);
      for (NodeId child = tree_[node].first; child != kNoNode; child = tree_[child].next) {
        if (IsNoValueName(tree_, node, child)) continue;
        open.emplace_back(child, Sets(node, child, set));
      }
    }
    for (const std::string& name : names_.own) names_.used.erase(name);
    return std::move(names_);
  }

 private:
  bool Sets(NodeId node, NodeId child, bool set) const {
    const Syntax kind = tree_[node].kind;
    const Part part = tree_[child].part;
    if (kind == Syntax::kAttribute || kind == Syntax::kSubscript) return false;
    if (part == Part::kValue) return false;  // of a default
    if (kind == Syntax::kParameters) return true;
    if (kind == Syntax::kAssignment || kind == Syntax::kFor || kind == Syntax::kForInClause) return part == Part::kLeft;
    if (kind == Syntax::kAsPattern) return part == Part::kAlias;
    const bool within = kind == Syntax::kTuple || kind == Syntax::kPatternList || kind == Syntax::kList ||
                        kind == Syntax::kDefaultParameter || kind == Syntax::kTypedParameter ||
                        kind == Syntax::kTypedDefaultParameter || kind == Syntax::kListSplat ||
                        kind == Syntax::kDictionarySplat || kind == Syntax::kAsPatternTarget;
    return set && within;
  }

  void One(NodeId node, bool set) {
    if (tree_[node].kind == Syntax::kIdentifier) {
      const std::string name(tree_.TextOf(node));
      (set ? names_.own : names_.used).insert(name);
    } else if (tree_[node].kind == Syntax::kParameters && names_.first.empty() && tree_[node].first != kNoNode) {
      names_.first = std::string(tree_.TextOf(tree_[node].first));
    } else if (tree_[node].kind == Syntax::kAttribute) {
      const NodeId object = tree_.Child(node, Part::kObject);
      const NodeId name = tree_.Child(node, Part::kAttribute);
      if (object == kNoNode || name == kNoNode || tree_[object].kind != Syntax::kIdentifier) return;
      names_.attributes.emplace(tree_.TextOf(object), tree_.TextOf(name));
    }
  }

  const SyntaxTree& tree_;
  Names names_;
};

}  // namespace

Names NamesIn(const SyntaxTree& tree, NodeId definition) {
  return NameReader(tree).Read(definition);
}

}  // namespace paritect
