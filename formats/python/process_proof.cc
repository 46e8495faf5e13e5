#include "formats/python/process_proof.h"

#include <algorithm>
#include <deque>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/utf8.h"
#include "rules/launchers.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr std::size_t kReasonsMax = 3;
constexpr std::size_t kShownMax = 24;  // files and modules of a proof
constexpr absl::string_view kVersion = "__version__";
constexpr int kNamesDeepMax = 20;      // a name taken over from a file that took it over ...

absl::string_view FolderOf(absl::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? "" : path.substr(0, slash);
}

std::string Below(absl::string_view folder, absl::string_view path) {
  return folder.empty() ? std::string(path) : StrCat(folder, "/", path);
}

// What an imported name stands for: a module of the project (`local`, no name), a name of one, or a full name
// elsewhere.
struct Target {
  int local = -1;
  std::string name;
};

// The text of a literal without prefix and quotes; false where it is made while the script runs.
bool LiteralText(const SyntaxTree& tree, NodeId node, std::string& text) {
  if (node == kNoNode || tree[node].kind != Syntax::kString) return false;
  absl::string_view written = tree.TextOf(node);
  const std::size_t quote = written.find_first_of("'\"");
  if (quote == absl::string_view::npos) return false;
  const absl::string_view prefix = written.substr(0, quote);
  if (prefix.find_first_of("fF") != absl::string_view::npos) return false;
  const bool triple = written.size() >= quote + 6 && written[quote + 1] == written[quote];
  const std::size_t marks = triple && written[quote + 2] == written[quote] ? 3 : 1;
  if (written.size() < quote + 2 * marks) return false;
  text = std::string(written.substr(quote + marks, written.size() - quote - 2 * marks));
  return true;
}

bool IsCapital(absl::string_view name) {
  return !name.empty() && absl::ascii_isupper(static_cast<unsigned char>(name[0]));
}

bool IsAscii(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; });
}

// Line ends and encodings by which Python and a reader of text may see different code. "" where there are none.
std::string OddText(absl::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\0') return "a NUL byte";
    if (text[i] == '\r' && (i + 1 >= text.size() || text[i + 1] != '\n')) return "a carriage return within a line";
  }
  int line = 0;
  for (absl::string_view one : absl::StrSplit(text.substr(0, 2000), '\n')) {
    if (++line > 2) break;
    const std::size_t coding = one.find("coding");
    if (!absl::StrContains(one, '#') || coding == absl::string_view::npos) continue;
    absl::string_view rest = one.substr(coding + 6);
    if (rest.empty() || (rest[0] != ':' && rest[0] != '=')) continue;
    rest = absl::StripLeadingAsciiWhitespace(rest.substr(1));
    const std::string name = absl::AsciiStrToLower(rest.substr(0, rest.find_first_of(" \t\r;,*")));
    if (name != "utf-8" && name != "utf8" && name != "utf_8" && name != "ascii" && name != "us-ascii")
      return "an encoding that is not read here";
  }
  return "";
}

class Proof {
 public:
  Proof(const std::vector<ScriptModule>& modules, int entry, const std::vector<std::string>& unread,
        const OneProcessRules& rules)
      : modules_(modules), unread_(unread), rules_(rules) {
    for (std::size_t i = 0; i < modules.size(); ++i) numbers_[modules[i].path] = static_cast<int>(i);
    home_ = std::string(FolderOf(modules[static_cast<std::size_t>(entry)].path));
    Reach(entry);
  }

  v1::Note Run() {
    if (IsUnread(Below(home_, "?"))) Against(home_, 0, "not all files beside the script were read");
    for (const char* name : {"sitecustomize", "usercustomize"}) {
      if (numbers_.contains(Below(home_, StrCat(name, ".py"))) || IsUnread(Below(home_, name)))
        Against(StrCat(name, ".py"), 0, "is run before the script");
    }
    while (!open_.empty()) {
      const int file = open_.front();
      open_.pop_front();
      Imports(file);
    }
    for (const auto& [file, names] : files_) Names(file);
    v1::Note note;
    if (reasons_.empty()) {
      note.set_kind(kOneProcessNote);
      note.set_message(StrCat(List(PathsOf()), " | ", List(imported_)));
      return note;
    }
    note.set_kind(kOtherProcessesNote);
    reasons_.resize(std::min(reasons_.size(), kReasonsMax));
    note.set_message(absl::StrJoin(reasons_, "; "));
    return note;
  }

 private:
  struct File {
    std::map<std::string, std::vector<Target>, std::less<>> bound;
    std::vector<int> stars;        // files of the project whose names it takes over
    std::vector<NodeId> parents;   // by node
    std::vector<bool> of_imports;  // by node: part of an import statement
  };

  const SyntaxTree& TreeOf(int file) const { return modules_[static_cast<std::size_t>(file)].tree; }
  const std::string& PathOf(int file) const { return modules_[static_cast<std::size_t>(file)].path; }

  NameSet PathsOf() const {
    NameSet paths;
    for (const auto& [file, names] : files_) paths.insert(PathOf(file));
    return paths;
  }

  static std::string List(const NameSet& names) {
    std::vector<std::string> shown(names.begin(), names.end());
    const std::size_t more = shown.size() > kShownMax ? shown.size() - kShownMax : 0;
    shown.resize(shown.size() - more);
    if (more > 0) shown.push_back(StrCat("+", more));
    return DisplayBytes(absl::StrJoin(shown, ", "));
  }

  void Against(absl::string_view path, std::uint32_t line, absl::string_view what) {
    std::string reason = line == 0 ? StrCat(path, ": ", what) : StrCat(path, ":", line, ": ", what);
    reason = DisplayBytes(reason);
    if (reasons_.size() < 1000 && std::find(reasons_.begin(), reasons_.end(), reason) == reasons_.end())
      reasons_.push_back(std::move(reason));
  }
  void Against(int file, NodeId node, absl::string_view what) { Against(PathOf(file), TreeOf(file)[node].line, what); }

  bool IsUnread(const std::string& place) const { return std::binary_search(unread_.begin(), unread_.end(), place); }

  void Reach(int file) {
    if (files_.try_emplace(file).second) open_.push_back(file);
  }

  // --- imports

  void Imports(int file) {
    const SyntaxTree& tree = TreeOf(file);
    File& of = files_[file];
    if (tree.cut()) Against(PathOf(file), 0, "too large to read");
    if (!tree.unread_lines().empty()) Against(PathOf(file), tree.unread_lines()[0], "could not be parsed");
    if (const std::string odd = OddText(tree.source()); !odd.empty()) Against(PathOf(file), 0, odd);
    of.parents.assign(tree.size(), kNoNode);
    of.of_imports.assign(tree.size(), false);
    for (NodeId node = 0; node < tree.size(); ++node) {
      const Syntax kind = tree[node].kind;
      const bool future = kind == Syntax::kOther && absl::StartsWith(tree.TextOf(node), "from __future__");
      const bool imports = kind == Syntax::kImport || kind == Syntax::kImportFrom || future;
      if (imports) of.of_imports[node] = true;
      for (NodeId child = tree[node].first; child != kNoNode; child = tree[child].next) {
        of.parents[child] = node;
        if (of.of_imports[node]) of.of_imports[child] = true;
      }
      if (kind == Syntax::kImport) Plain(file, node);
      if (kind == Syntax::kImportFrom) From(file, node);
      if (kind == Syntax::kError || (kind == Syntax::kOther && absl::StartsWith(tree.TextOf(node), "exec ")))
        Against(file, node, "could not be parsed");
    }
  }

  enum class Found { kNo, kYes, kRefused };

  // The files that an import of `dotted` from `folder` runs, the last of them in `last`; none where the name is not of
  // the project. `own`: the folder is within a package, so that nothing outside can take a name's place.
  Found Local(int file, NodeId node, std::string folder, absl::string_view dotted, bool own, int& last,
              std::string& within) {
    last = -1;
    const std::vector<std::string> parts = absl::StrSplit(dotted, '.', absl::SkipEmpty());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::string path = Below(folder, parts[i]);
      if (IsUnread(path)) {
        Against(file, node, StrCat("import of ", dotted, ", which was not read"));
        return Found::kRefused;
      }
      const auto package = numbers_.find(StrCat(path, "/__init__.py"));
      const auto plain = numbers_.find(StrCat(path, ".py"));
      const auto below = numbers_.lower_bound(StrCat(path, "/"));
      const bool folder_alone = below != numbers_.end() && absl::StartsWith(below->first, StrCat(path, "/"));
      if (package == numbers_.end() && plain == numbers_.end()) {
        if (i == 0 && !own && (!folder_alone || rules_.Find(parts[0]) != nullptr)) return Found::kNo;
        if (folder_alone && (i > 0 || own)) {
          folder = path;
          last = -1;
          continue;
        }
        Against(file, node,
                folder_alone ? StrCat("import of ", dotted, ": a folder without __init__.py")
                             : StrCat("import of ", dotted, ", which is not there"));
        return Found::kRefused;
      }
      if (plain != numbers_.end()) Reach(last = plain->second);
      if (package != numbers_.end()) Reach(last = package->second);
      if (package == numbers_.end() && i + 1 < parts.size()) {
        Against(file, node, StrCat("import of ", dotted, ", which is not there"));
        return Found::kRefused;
      }
      folder = path;
    }
    within = folder;
    return Found::kYes;
  }

  bool Elsewhere(int file, NodeId node, absl::string_view dotted) {
    if (rules_.Find(dotted) == nullptr) {
      Against(file, node, StrCat("import ", dotted));
      return false;
    }
    imported_.insert(std::string(dotted));
    return true;
  }

  // import a.b, c as d
  void Plain(int file, NodeId statement) {
    const SyntaxTree& tree = TreeOf(file);
    for (NodeId child = tree[statement].first; child != kNoNode; child = tree[child].next) {
      const bool aliased = tree[child].kind == Syntax::kAliasedImport;
      const NodeId name = aliased ? tree.Child(child, Part::kName) : child;
      const NodeId alias = aliased ? tree.Child(child, Part::kAlias) : kNoNode;
      if (name == kNoNode) continue;
      const std::string dotted(tree.TextOf(name));
      const std::string first = dotted.substr(0, dotted.find('.'));
      int last = -1;
      std::string within;
      const Found found = Local(file, statement, home_, dotted, false, last, within);
      if (found == Found::kRefused) continue;
      if (found == Found::kNo && !Elsewhere(file, statement, dotted)) continue;
      std::vector<Target>& bound = files_[file].bound[alias == kNoNode ? first : std::string(tree.TextOf(alias))];
      if (found == Found::kNo) {
        bound.push_back({-1, alias == kNoNode ? first : dotted});
      } else if (alias != kNoNode) {
        bound.push_back({last, ""});
      } else {
        int top = -1;
        (void)Local(file, statement, home_, first, false, top, within);
        bound.push_back({top, ""});
      }
    }
  }

  // from .a.b import c as d, e
  void From(int file, NodeId statement) {
    const SyntaxTree& tree = TreeOf(file);
    const NodeId from = tree.Child(statement, Part::kModuleName);
    if (from == kNoNode) return Against(file, statement, "an import that could not be read");
    std::string dotted(absl::StripAsciiWhitespace(tree.TextOf(from)));
    std::string folder = home_;
    const bool relative = absl::StartsWith(dotted, ".");
    if (relative) {
      const std::size_t level = std::min(dotted.find_first_not_of(". \t"), dotted.size());
      folder = std::string(FolderOf(PathOf(file)));
      for (std::size_t i = 1; i < level; ++i) folder = std::string(FolderOf(folder));
      dotted = std::string(absl::StripAsciiWhitespace(dotted.substr(level)));
    }
    int last = -1;
    std::string within = folder;
    Found found = Found::kYes;
    if (!dotted.empty()) found = Local(file, statement, folder, dotted, relative, last, within);
    if (dotted.empty() && numbers_.contains(Below(folder, "__init__.py"))) {
      Reach(last = numbers_.find(Below(folder, "__init__.py"))->second);
    }
    if (found == Found::kRefused) return;
    if (found == Found::kNo && !Elsewhere(file, statement, dotted)) return;
    for (NodeId child = tree[statement].first; child != kNoNode; child = tree[child].next) {
      if (child != from) One(file, statement, child, found == Found::kYes, dotted, last, within);
    }
  }

  // One name of `from MODULE import NAME`.
  void One(int file, NodeId statement, NodeId child, bool local, const std::string& dotted, int last,
           const std::string& within) {
    const SyntaxTree& tree = TreeOf(file);
    if (tree[child].kind == Syntax::kWildcardImport) {
      if (local && last >= 0) {
        files_[file].stars.push_back(last);
      } else {
        Against(file, statement, StrCat("from ", dotted, " import *"));
      }
      return;
    }
    const bool aliased = tree[child].kind == Syntax::kAliasedImport;
    const NodeId name = aliased ? tree.Child(child, Part::kName) : child;
    const NodeId alias = aliased ? tree.Child(child, Part::kAlias) : name;
    if (name == kNoNode || alias == kNoNode) return;
    const std::string wanted(tree.TextOf(name));
    std::vector<Target>& bound = files_[file].bound[std::string(tree.TextOf(alias))];
    if (!local) {
      const std::string full = StrCat(dotted, ".", wanted);
      const HarmlessModule* module = rules_.Find(dotted);
      if (rules_.Find(full) != nullptr) {
        imported_.insert(full);
      } else if (wanted != kVersion && (!module->Permits(wanted) || rules_.names.contains(wanted))) {
        return Against(file, statement, full);
      }
      bound.push_back({-1, full});
      return;
    }
    if (last >= 0) bound.push_back({last, wanted});
    const std::string path = Below(within, wanted);
    const bool below = numbers_.contains(StrCat(path, ".py")) || numbers_.contains(StrCat(path, "/__init__.py"));
    if (last < 0 && !below) return Against(file, statement, StrCat("import of ", wanted, ", which is not there"));
    if (below || IsUnread(path)) {
      int module = -1;
      std::string unused;
      if (Local(file, statement, within, wanted, true, module, unused) == Found::kYes) bound.push_back({module, ""});
    }
  }

  // --- names

  // What a name of a file stands for, as far as it was imported; through the files that it takes names over from.
  void Resolve(int file, absl::string_view name, int depth, std::vector<Target>& out) const {
    const auto of = files_.find(file);
    if (of == files_.end() || depth > kNamesDeepMax) return;
    const auto bound = of->second.bound.find(name);
    if (bound != of->second.bound.end()) {
      for (const Target& target : bound->second) {
        if (target.local >= 0 && !target.name.empty()) {
          Resolve(target.local, target.name, depth + 1, out);
        } else {
          out.push_back(target);
        }
      }
    }
    for (int star : of->second.stars) Resolve(star, name, depth + 1, out);
    if (PathOf(file) == "__init__.py" || absl::EndsWith(PathOf(file), "/__init__.py")) {
      const std::string path = Below(FolderOf(PathOf(file)), name);
      for (const std::string& one : {StrCat(path, ".py"), StrCat(path, "/__init__.py")}) {
        const auto module = numbers_.find(one);
        if (module != numbers_.end() && files_.contains(module->second)) out.push_back({module->second, ""});
      }
    }
  }

  void Names(int file) {
    const SyntaxTree& tree = TreeOf(file);
    const File& of = files_[file];
    for (NodeId node = 0; node < tree.size(); ++node) {
      const Syntax kind = tree[node].kind;
      if (kind == Syntax::kString) Text(file, node);
      if (kind != Syntax::kIdentifier) continue;
      const std::string name(tree.TextOf(node));
      if (!IsAscii(name)) Against(file, node, StrCat("the name ", name));
      if (rules_.ranks.contains(absl::AsciiStrToLower(name))) Against(file, node, name);
      if (of.of_imports[node]) continue;
      const NodeId parent = of.parents[node];
      const bool dunder = name.size() > 4 && absl::StartsWith(name, "__") && absl::EndsWith(name, "__");
      if (dunder && !rules_.dunders.contains(name)) Against(file, node, name);
      if (parent != kNoNode && tree[parent].kind == Syntax::kAttribute && tree[node].part == Part::kAttribute) {
        Behind(file, node, name);
      } else if (parent == kNoNode || tree[parent].kind != Syntax::kKeywordArgument || tree[node].part != Part::kName) {
        Head(file, node, name);
      }
    }
  }

  // A name behind a dot.
  void Behind(int file, NodeId node, absl::string_view name) {
    absl::string_view bare = name;
    while (absl::ConsumePrefix(&bare, "_")) {
    }
    while (absl::ConsumeSuffix(&bare, "_")) {
    }
    if (rules_.names.contains(name) || (!bare.empty() && bare != name && rules_.names.contains(bare)))
      Against(file, node, StrCat(".", name));
  }

  // A name by itself, or with names behind it.
  void Head(int file, NodeId node, const std::string& name) {
    if (rules_.builtins.contains(name) && !(name == "vars" && IsShownWhole(file, node))) Against(file, node, name);
    if (name == "getattr") Getattr(file, node);
    std::vector<Target> targets;
    Resolve(file, name, 0, targets);
    if (targets.empty()) return;
    const SyntaxTree& tree = TreeOf(file);
    std::vector<NodeId> chain = {node};
    std::vector<std::string> behind;
    while (true) {
      const NodeId parent = files_[file].parents[chain.back()];
      if (parent == kNoNode || tree[parent].kind != Syntax::kAttribute || tree[chain.back()].part != Part::kObject)
        break;
      const NodeId attribute = tree.Child(parent, Part::kAttribute);
      if (attribute == kNoNode) break;
      chain.push_back(parent);
      behind.emplace_back(tree.TextOf(attribute));
    }
    for (const Target& target : targets) Follow(file, target, chain, behind, 0, 0);
  }

  // `chain[i]`: the node of the first i names behind the head; `at`: how many of them led to `target`.
  void Follow(int file, const Target& target, const std::vector<NodeId>& chain, const std::vector<std::string>& behind,
              std::size_t at, int depth) {
    if (target.local < 0) return Outside(file, target.name, chain, behind, at);
    if (at == behind.size() || depth > kNamesDeepMax) {
      return Against(file, chain[0], StrCat(TreeOf(file).TextOf(chain[0]), ": a module that is handed on"));
    }
    std::vector<Target> targets;
    Resolve(target.local, behind[at], 0, targets);
    for (const Target& one : targets) Follow(file, one, chain, behind, at + 1, depth + 1);
  }

  void Outside(int file, const std::string& full, const std::vector<NodeId>& chain,
               const std::vector<std::string>& behind, std::size_t at) {
    std::vector<std::string> parts = absl::StrSplit(full, '.');
    const std::size_t head = parts.size();
    parts.insert(parts.end(), behind.begin() + static_cast<std::ptrdiff_t>(at), behind.end());
    std::size_t known = parts.size();
    const HarmlessModule* module = nullptr;
    for (; known > 0; --known) {
      module = rules_.Find(absl::StrJoin(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(known), "."));
      if (module != nullptr) break;
    }
    const std::string whole = absl::StrJoin(parts, ".");
    if (module == nullptr) return Against(file, chain[0], whole);
    if (known == parts.size()) return Against(file, chain[0], StrCat(whole, ": a module that is handed on"));
    const std::string& member = parts[known];
    if (member == kVersion) return;  // a text
    if (!module->Permits(member)) return Against(file, chain[0], whole);
    // What lies behind a name that is no class may be a module that nobody looked at.
    if (module->any && known + 1 < parts.size() && !IsCapital(member)) return Against(file, chain[0], whole);
    const NodeId node = known < head ? chain[at] : chain[at + known - head + 1];
    Uses(file, *module, member, node, whole);
  }

  // The conditions under which a member may be used.
  void Uses(int file, const HarmlessModule& module, const std::string& member, NodeId node, const std::string& whole) {
    const SyntaxTree& tree = TreeOf(file);
    const NodeId parent = files_[file].parents[node];
    const bool called = parent != kNoNode && tree[parent].kind == Syntax::kCall && tree[node].part == Part::kFunction;
    const auto with = module.call_with.find(member);
    const auto without = module.call_without.find(member);
    if (with != module.call_with.end() && !(called && Given(tree, parent, with->second) == "True"))
      Against(file, node, StrCat(whole, " without ", with->second, "=True"));
    if (without != module.call_without.end() && !(called && Given(tree, parent, without->second).empty()))
      Against(file, node, StrCat(whole, " with ", without->second));
    if (module.written.contains(member) && !Written(file, node))
      Against(file, node, StrCat(whole, ": a computed name"));
  }

  // The argument of a call as written; "" where it is not given, "?" where it may be (**options).
  static std::string Given(const SyntaxTree& tree, NodeId call, absl::string_view name) {
    const NodeId arguments = tree.Child(call, Part::kArguments);
    if (arguments == kNoNode) return "?";
    for (NodeId child = tree[arguments].first; child != kNoNode; child = tree[child].next) {
      const Syntax kind = tree[child].kind;
      if (kind == Syntax::kDictionarySplat || kind == Syntax::kListSplat) return "?";
      if (kind != Syntax::kKeywordArgument) continue;
      const NodeId key = tree.Child(child, Part::kName);
      const NodeId value = tree.Child(child, Part::kValue);
      if (key != kNoNode && value != kNoNode && tree.TextOf(key) == name) return std::string(tree.TextOf(value));
    }
    return "";
  }

  // Whether the key by which `node` (os.environ, os.getenv) is asked is a literal: node["X"], node("X"), node.get("X"),
  // "X" in node.
  bool Written(int file, NodeId node) const {
    const SyntaxTree& tree = TreeOf(file);
    const std::vector<NodeId>& parents = files_.at(file).parents;
    NodeId parent = parents[node];
    if (parent == kNoNode) return false;
    std::string key;
    if (tree[parent].kind == Syntax::kSubscript) return LiteralText(tree, tree.Child(parent, Part::kSubscript), key);
    if (tree[parent].kind == Syntax::kComparison) return LiteralText(tree, tree[parent].first, key);
    if (tree[parent].kind == Syntax::kAttribute) {
      const NodeId attribute = tree.Child(parent, Part::kAttribute);
      const absl::string_view name = attribute == kNoNode ? "" : tree.TextOf(attribute);
      if (name != "get" && name != "setdefault" && name != "pop") return false;
      node = parent;
      parent = parents[node];
    }
    if (parent == kNoNode || tree[parent].kind != Syntax::kCall || tree[node].part != Part::kFunction) return false;
    const NodeId arguments = tree.Child(parent, Part::kArguments);
    return arguments != kNoNode && LiteralText(tree, tree[arguments].first, key);
  }

  void Getattr(int file, NodeId node) {
    const SyntaxTree& tree = TreeOf(file);
    const NodeId parent = files_[file].parents[node];
    const bool called = parent != kNoNode && tree[parent].kind == Syntax::kCall && tree[node].part == Part::kFunction;
    const NodeId arguments = called ? tree.Child(parent, Part::kArguments) : kNoNode;
    const NodeId object = arguments == kNoNode ? kNoNode : tree[arguments].first;
    std::string name;
    if (object == kNoNode || !LiteralText(tree, tree[object].next, name) || absl::StartsWith(name, "_") ||
        absl::StrContains(name, '\\'))
      return Against(file, node, "getattr with a computed name");
    Behind(file, node, name);
  }

  // vars(NAME) that is handed to a call as a whole, as scripts print their options (a module as NAME is refused as one
  // that is handed on): no key of it is asked where it stands.
  bool IsShownWhole(int file, NodeId node) const {
    const SyntaxTree& tree = TreeOf(file);
    const std::vector<NodeId>& parents = files_.at(file).parents;
    const NodeId call = parents[node];
    if (call == kNoNode || tree[call].kind != Syntax::kCall || tree[node].part != Part::kFunction) return false;
    const NodeId arguments = tree.Child(call, Part::kArguments);
    const NodeId object = arguments == kNoNode ? kNoNode : tree[arguments].first;
    if (object == kNoNode || tree[object].kind != Syntax::kIdentifier || tree[object].next != kNoNode) return false;
    const NodeId to = parents[call];
    if (to == kNoNode) return false;
    return tree[to].kind == Syntax::kArguments || tree[to].kind == Syntax::kDictionarySplat ||
           tree[to].kind == Syntax::kInterpolation;
  }

  // Options and keys of a script that knows of ranks.
  void Text(int file, NodeId node) {
    std::string text;
    if (!LiteralText(TreeOf(file), node, text)) return;
    if (BuiltInLaunchers().Tells(text)) return Against(file, node, text);
    absl::string_view bare = text;
    while (absl::ConsumePrefix(&bare, "-")) {
    }
    const std::string word = absl::StrReplaceAll(absl::AsciiStrToLower(bare), {{"-", "_"}});
    if (rules_.ranks.contains(word)) Against(file, node, text);
  }

  const std::vector<ScriptModule>& modules_;
  const std::vector<std::string>& unread_;
  const OneProcessRules& rules_;
  std::map<std::string, int, std::less<>> numbers_;  // by path
  std::string home_;                                 // the folder of the script, where Python looks first
  std::map<int, File> files_;                        // reached
  std::deque<int> open_;
  NameSet imported_;
  std::vector<std::string> reasons_;
};

}  // namespace

v1::Note ProveOneProcess(const std::vector<ScriptModule>& modules, int entry, const std::vector<std::string>& unread,
                         const OneProcessRules& rules) {
  return Proof(modules, entry, unread, rules).Run();
}

}  // namespace paritect
