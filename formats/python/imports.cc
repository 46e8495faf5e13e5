#include "formats/python/imports.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "formats/python/lookups.h"
#include "rules/script_words.h"

namespace paritect {
namespace {

absl::string_view FolderOf(absl::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? "" : path.substr(0, slash);
}

std::string Below(absl::string_view folder, absl::string_view path) {
  return folder.empty() ? std::string(path) : absl::StrCat(folder, "/", path);
}

int IndexOf(const std::vector<std::string>& paths, const std::string& path) {
  const auto found = std::lower_bound(paths.begin(), paths.end(), path);
  return found != paths.end() && *found == path ? static_cast<int>(found - paths.begin()) : -1;
}

int AsFile(const std::vector<std::string>& paths, const std::string& path) {
  const int file = IndexOf(paths, absl::StrCat(path, ".py"));
  return file >= 0 ? file : IndexOf(paths, absl::StrCat(path, "/__init__.py"));
}

class Import {
 public:
  Import(ScriptMachine& machine, NodeId node) : m_(machine), node_(node) {}

  // import a.b, c as d
  void Plain() {
    for (NodeId child = tree()[node_].first; child != kNoNode; child = tree()[child].next) {
      const bool aliased = tree()[child].kind == Syntax::kAliasedImport;
      const NodeId name = aliased ? tree().Child(child, Part::kName) : child;
      const NodeId alias = aliased ? tree().Child(child, Part::kAlias) : kNoNode;
      if (name == kNoNode) continue;
      const std::string dotted(tree().TextOf(name));
      const std::string first = dotted.substr(0, dotted.find('.'));
      const int module = Find(dotted, 0);
      if (module >= 0) {
        const ValueId value = m_.ImportModule(module);
        if (alias != kNoNode || first == dotted) {
          m_.SetLocal(alias != kNoNode ? tree().TextOf(alias) : absl::string_view(first), value);
        } else {
          SetPath(dotted, value);
        }
      } else if (alias != kNoNode) {
        Absent(dotted, 0, dotted, child);
        m_.SetLocal(tree().TextOf(alias), m_.PackageName(dotted));
      } else if (m_.Look(first) == kNoValue || m_.values[m_.Look(first)].kind != ValueKind::kObject) {
        Absent(dotted, 0, dotted, child);
        m_.SetLocal(first, m_.PackageName(first));
      }
    }
  }

  // from .a.b import c as d, e
  void From() {
    const NodeId from = tree().Child(node_, Part::kModuleName);
    if (from == kNoNode) return;
    int level = 0;
    std::string dotted;
    if (tree()[from].kind == Syntax::kRelativeImport) {
      const absl::string_view text = tree().TextOf(from);
      while (static_cast<std::size_t>(level) < text.size() && text[static_cast<std::size_t>(level)] == '.') ++level;
      dotted = std::string(absl::StripAsciiWhitespace(text.substr(static_cast<std::size_t>(level))));
    } else {
      dotted = std::string(tree().TextOf(from));
    }
    const int module = Find(dotted, level);
    if (module >= 0) m_.ImportModule(module);
    for (NodeId child = tree()[node_].first; child != kNoNode; child = tree()[child].next) {
      if (child == from) continue;
      if (tree()[child].kind == Syntax::kWildcardImport) {
        if (module < 0) Absent(dotted, level, dotted, child);
        Everything(module, dotted);
        continue;
      }
      const bool aliased = tree()[child].kind == Syntax::kAliasedImport;
      const NodeId name = aliased ? tree().Child(child, Part::kName) : child;
      const NodeId alias = aliased ? tree().Child(child, Part::kAlias) : name;
      if (name == kNoNode || alias == kNoNode) continue;
      const std::string wanted(tree().TextOf(name));
      const std::string as(tree().TextOf(alias));
      m_.SetLocal(as, One(module, dotted, level, wanted, child));
    }
  }

 private:
  const SyntaxTree& tree() const { return m_.tree(); }

  int Find(absl::string_view dotted, int level) {
    return FindModule(m_.paths, m_.module(m_.frame().module).path, dotted, level);
  }

  ValueId One(int module, const std::string& dotted, int level, const std::string& wanted, NodeId node) {
    if (module >= 0) {
      const ValueId value = m_.LookIn(m_.module(module).scope, wanted);
      if (value != kNoValue) return value;
    }
    const int below = Find(dotted.empty() ? wanted : absl::StrCat(dotted, ".", wanted), level);
    if (below >= 0) return m_.ImportModule(below);
    if (module < 0) Absent(dotted, level, absl::StrCat(dotted, ".", wanted), node);
    if (module >= 0 || level > 0) return UnknownOfName(m_, wanted);
    return m_.PackageName(absl::StrCat(dotted, ".", wanted));
  }

  // A module of the project that is not there: what it does is not known. A failing import that the source provides for
  // is another matter, and a package that is known is no part of the project.
  void Absent(const std::string& dotted, int level, const std::string& full, NodeId node) {
    const std::string first = dotted.substr(0, dotted.find('.'));
    if (m_.optional > 0 || m_.conditional > 0) return;
    const bool own = level > 0 || BuiltInScriptWords().own_modules.contains(first) || IsFolder(first);
    if (!own || (level == 0 && m_.rules.Find(m_.rules.Canonical(full)) != nullptr)) return;
    m_.Doubt("module_absent",
             absl::StrCat(std::string(static_cast<std::size_t>(level), '.'), dotted.empty() ? full : dotted), node);
  }

  // Whether modules stand in a folder of that name beside the importing file, or above.
  bool IsFolder(const std::string& name) const {
    absl::string_view folder = FolderOf(m_.module(m_.frame().module).path);
    for (;; folder = FolderOf(folder)) {
      const std::string begin = absl::StrCat(Below(folder, name), "/__init__.py");
      if (IndexOf(m_.paths, begin) >= 0) return true;
      if (folder.empty()) return false;
    }
  }

  void Everything(int module, const std::string& dotted) {
    if (module < 0) {
      m_.module(m_.frame().module).star_imports.push_back(dotted);
      return;
    }
    for (const auto& [name, value] : m_.NamesOf(m_.module(module).scope)) {
      if (!absl::StartsWith(name, "_")) m_.SetLocal(name, value);
    }
    for (const std::string& package : m_.module(module).star_imports) {
      m_.module(m_.frame().module).star_imports.push_back(package);
    }
  }

  // import a.b.c binds `a`, through which the rest is reached.
  void SetPath(const std::string& dotted, ValueId value) {
    const std::vector<std::string> parts = absl::StrSplit(dotted, '.');
    ValueId at = m_.Look(parts[0]);
    if (at == kNoValue || m_.values[at].kind != ValueKind::kObject) {
      ScriptValue package;
      package.kind = ValueKind::kObject;
      package.text = "package";
      at = m_.values.Add(std::move(package));
      m_.SetLocal(parts[0], at);
    }
    for (std::size_t i = 1; i + 1 < parts.size(); ++i) {
      ValueId next = m_.values.Field(at, parts[i]);
      if (next == kNoValue) {
        ScriptValue package;
        package.kind = ValueKind::kObject;
        package.text = "package";
        next = m_.values.Add(std::move(package));
        m_.SetField(at, parts[i], next);
      }
      at = next;
    }
    m_.SetField(at, parts.back(), value);
  }

  ScriptMachine& m_;
  const NodeId node_;
};

}  // namespace

int FindModule(const std::vector<std::string>& paths, absl::string_view from, absl::string_view dotted, int level) {
  const std::string path = absl::StrReplaceAll(dotted, {{".", "/"}});
  if (level > 0) {
    absl::string_view folder = FolderOf(from);
    for (int i = 1; i < level; ++i) folder = FolderOf(folder);
    return path.empty() ? IndexOf(paths, Below(folder, "__init__.py")) : AsFile(paths, Below(folder, path));
  }
  // Beside the importing file, or below one of the folders above it: one of them is on the path.
  for (absl::string_view folder = FolderOf(from);; folder = FolderOf(folder)) {
    const int found = AsFile(paths, Below(folder, path));
    if (found >= 0) return found;
    const int in_source = AsFile(paths, Below(folder, absl::StrCat("src/", path)));
    if (in_source >= 0) return in_source;
    if (folder.empty()) return -1;
  }
}

void ExecuteImport(ScriptMachine& m, NodeId statement) {
  Import import(m, statement);
  if (m.tree()[statement].kind == Syntax::kImport) {
    import.Plain();
  } else {
    import.From();
  }
}

}  // namespace paritect
