#include "formats/python/shown_figures.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "formats/python/names.h"
#include "formats/python/untold.h"
#include "rules/script_words.h"

namespace paritect {
namespace {

constexpr int kFreshDepthMax = 8;
constexpr std::size_t kNamesMax = 2'000'000;

bool IsNumberOrText(Syntax kind) {
  return kind == Syntax::kInteger || kind == Syntax::kFloat || kind == Syntax::kString || kind == Syntax::kTrue ||
         kind == Syntax::kFalse || kind == Syntax::kNone || kind == Syntax::kConcatenatedString;
}

absl::string_view LastOf(absl::string_view name) {
  return name.substr(name.rfind('.') == absl::string_view::npos ? 0 : name.rfind('.') + 1);
}

bool NamesDevice(absl::string_view code) {
  bool device = false;
  for (absl::string_view word : absl::StrSplit(code, absl::ByAnyChar(" .,:()[]{}'\"=-+/"), absl::SkipEmpty())) {
    if (absl::StrContains(word, "float") || absl::StrContains(word, "half") || absl::StrContains(word, "bf16") ||
        absl::StrContains(word, "fp16") || absl::StrContains(word, "type"))
      return false;
    device = device || word == "device" || word == "cpu" || word == "cuda" ||
             BuiltInScriptWords().devices.contains(word);
  }
  return device;
}

// Where the walk stands.
struct Place {
  int module = 0;
  NodeId function = 0;  // the outermost; 0: none
  NodeId own = 0;       // the innermost
  int own_class = -1;
  int parent = -1;  // statement that decides whether this one runs
  bool last = false;  // the last one of a function's body
};

struct Statement {
  int module = 0;
  NodeId node = kNoNode;
  int parent = -1;
  bool candidate = true;
  bool live = false;
  std::vector<int> reads;
  std::vector<int> unread;     // keys that nothing may read
  std::vector<int> fresh;      // keys that may hold no other name of something
  std::vector<int> elements;   // keys whose elements may hold none
  std::vector<std::pair<int, std::string>> instances;  // key, method: holds the project's own objects
  bool shows = false;
  bool sets_attribute = false;
};

struct Key {
  bool written = false;
  bool fresh = true;
  bool elements = true;              // those of a list, likewise
  bool live = false;
  std::set<int> classes;             // that its writes make
  bool other = false;                // a write makes something else
  std::vector<int> statements;       // that are live where it is
  std::vector<int> results;          // keys that are live where it is
};

struct Class {
  bool plain = true;  // nothing but the project's own code sees its attributes
  std::set<std::string> bases;
  std::set<std::string> methods;
};

struct Function {
  std::vector<int> parameters;     // keys
  std::vector<std::string> names;  // of them, in their order, without self; of the one definition
  int definitions = 0;
  bool takes_any = false;          // *args, **kwargs
  bool plain = true;            // nothing calls it but by its name
};

class Reader {
 public:
  explicit Reader(const std::vector<ScriptModule>& modules) : modules_(modules) {}

  std::set<std::pair<int, NodeId>> Run() {
    for (std::size_t i = 0; i < modules_.size(); ++i) {
      if (modules_[i].reached) Definitions(static_cast<int>(i));
    }
    for (std::size_t i = 0; i < modules_.size(); ++i) {
      if (modules_[i].reached) Walk(static_cast<int>(i));
    }
    if (dynamic_ || keys_.size() > kNamesMax) return {};
    return Solve();
  }

 private:
  // --- keys: names of a function, attributes, results

  const SyntaxTree& tree(const Place& place) const { return modules_[static_cast<std::size_t>(place.module)].tree; }

  int KeyOf(std::string name) {
    const auto [at, added] = numbers_.try_emplace(name, static_cast<int>(keys_.size()));
    if (added) {
      keys_.emplace_back();
      key_names_.push_back(std::move(name));
    }
    return at->second;
  }
  int NameKey(const Place& place, absl::string_view name) {
    const bool own = place.function != 0 && OwnOf(place).contains(name);
    return KeyOf(absl::StrCat(place.module, ":", own ? place.function : 0, ":", name));
  }
  int AttributeKey(absl::string_view name) { return KeyOf(absl::StrCat(".", name)); }
  int ResultKey(absl::string_view name) { return KeyOf(absl::StrCat("()", name)); }
  // Where only a device is asked for.
  int DeviceKey(int key) { return KeyOf(absl::StrCat("@", key)); }

  const std::set<std::string, std::less<>>& OwnOf(const Place& place) {
    auto& own = own_[{place.module, place.function}];
    if (own) return *own;
    own.emplace();
    for (const std::string& name : NamesIn(tree(place), place.function).own) own->insert(name);
    std::vector<NodeId> open = {place.function};
    while (!open.empty()) {
      const NodeId node = open.back();
      open.pop_back();
      const bool global = tree(place)[node].kind == Syntax::kGlobal;
      for (NodeId child = tree(place)[node].first; child != kNoNode; child = tree(place)[child].next) {
        if (global) own->erase(std::string(tree(place).TextOf(child)));
        open.push_back(child);
      }
    }
    return *own;
  }

  // --- definitions

  void Definitions(int module) {
    struct Defined {
      NodeId node;
      Place place;
      bool decorated;
    };
    Place top;
    top.module = module;
    std::vector<Defined> open = {{0, top, false}};
    while (!open.empty()) {
      Defined here = open.back();
      open.pop_back();
      const SyntaxTree& of = tree(here.place);
      const Syntax kind = of[here.node].kind;
      if (kind == Syntax::kClass) DefineClass(here.node, here.place);
      if (kind == Syntax::kFunction) DefineFunction(here.node, here.decorated, here.place);
      const bool decorated = kind == Syntax::kDecorated && !PlainDecorators(of, here.node);
      for (NodeId child = of[here.node].first; child != kNoNode; child = of[child].next)
        open.push_back({child, here.place, decorated});
    }
  }

  static bool PlainDecorators(const SyntaxTree& of, NodeId decorated) {
    for (NodeId child = of[decorated].first; child != kNoNode; child = of[child].next) {
      if (of[child].kind != Syntax::kDecorator) continue;
      const std::string code = of.CodeOf(child);
      if (code != "@property" && code != "@staticmethod" && code != "@classmethod" && code != "@torch.no_grad()" &&
          code != "@torch.inference_mode()")
        return false;
    }
    return true;
  }

  void DefineClass(NodeId node, Place& place) {
    const SyntaxTree& of = tree(place);
    const NodeId name = of.Child(node, Part::kName);
    if (name == kNoNode) return;
    const auto [at, added] = class_numbers_.try_emplace(std::string(of.TextOf(name)), classes_.size());
    if (added) classes_.emplace_back();
    Class& one = classes_[at->second];
    place.own_class = static_cast<int>(at->second);
    class_nodes_[{place.module, node}] = place.own_class;
    const NodeId bases = of.Child(node, Part::kSuperclasses);
    if (bases == kNoNode) return;
    for (NodeId base = of[bases].first; base != kNoNode; base = of[base].next) {
      if (of[base].kind != Syntax::kIdentifier) one.plain = false;
      if (of.TextOf(base) != "object") one.bases.insert(std::string(of.TextOf(base)));
    }
  }

  void DefineFunction(NodeId node, bool decorated, Place& place) {
    const SyntaxTree& of = tree(place);
    const NodeId name_node = of.Child(node, Part::kName);
    if (place.function == 0) place.function = node;
    if (name_node == kNoNode) return;
    const std::string name(of.TextOf(name_node));
    Function& one = functions_[name];
    if (place.own_class >= 0) classes_[static_cast<std::size_t>(place.own_class)].methods.insert(name);
    one.plain = one.plain && !decorated && !absl::StartsWith(name, "__");
    if (name == "__setattr__" || name == "__getattr__" || name == "__getattribute__") attributes_told_ = false;
    ++one.definitions;
    const NodeId parameters = of.Child(node, Part::kParameters);
    if (parameters == kNoNode) return;
    NameParameters(of, parameters, one);
    for (const std::string& parameter : NamesIn(of, node).own) {
      // Names that the function sets itself are among them: all the more has to be unread.
      const int key = NameKey(place, parameter);
      if (parameter != "self" && parameter != "cls" && IsParameter(of, parameters, parameter)) {
        one.parameters.push_back(key);
        keys_[static_cast<std::size_t>(key)].written = true;
        keys_[static_cast<std::size_t>(key)].fresh = false;
        keys_[static_cast<std::size_t>(key)].other = true;
      }
    }
  }

  static void NameParameters(const SyntaxTree& of, NodeId parameters, Function& one) {
    for (NodeId child = of[parameters].first; child != kNoNode; child = of[child].next) {
      const Syntax kind = of[child].kind;
      NodeId name = kind == Syntax::kIdentifier ? child : of.Child(child, Part::kName);
      if (kind == Syntax::kTypedParameter) name = of[child].first;
      if (name == kNoNode || of[name].kind != Syntax::kIdentifier) {
        one.takes_any = true;
      } else if (const absl::string_view text = of.TextOf(name); text != "self" && text != "cls") {
        one.names.emplace_back(text);
      }
    }
  }

  static bool IsParameter(const SyntaxTree& of, NodeId parameters, absl::string_view name) {
    std::vector<NodeId> open = {parameters};
    while (!open.empty()) {
      const NodeId node = open.back();
      open.pop_back();
      if (of[node].kind == Syntax::kIdentifier && of.TextOf(node) == name) return true;
      for (NodeId child = of[node].first; child != kNoNode; child = of[child].next) open.push_back(child);
    }
    return false;
  }

  bool IsPlain(int number, int depth = 0) const {
    const Class& one = classes_[static_cast<std::size_t>(number)];
    if (!one.plain || depth > kFreshDepthMax) return false;
    return std::all_of(one.bases.begin(), one.bases.end(), [&](const std::string& base) {
      const auto at = class_numbers_.find(base);
      return at != class_numbers_.end() && IsPlain(static_cast<int>(at->second), depth + 1);
    });
  }

  bool HasMethod(int number, const std::string& method, int depth = 0) const {
    const Class& one = classes_[static_cast<std::size_t>(number)];
    if (one.methods.contains(method)) return true;
    return depth < kFreshDepthMax && std::any_of(one.bases.begin(), one.bases.end(), [&](const std::string& base) {
             const auto at = class_numbers_.find(base);
             return at != class_numbers_.end() && HasMethod(static_cast<int>(at->second), method, depth + 1);
           });
  }

  // --- statements

  void Walk(int module) {
    Place top;
    top.module = module;
    std::vector<std::pair<NodeId, Place>> open = {{0, top}};
    while (!open.empty()) {
      const auto [node, place] = open.back();
      open.pop_back();
      One(node, place, open);
    }
  }

  using Open = std::vector<std::pair<NodeId, Place>>;

  void Inside(NodeId node, Place place, Open& open) {
    const SyntaxTree& of = tree(place);
    const bool body = of[node].kind == Syntax::kBlock && place.last;
    for (NodeId child = of[node].first; child != kNoNode; child = of[child].next) {
      place.last = body && of[child].next == kNoNode;
      open.emplace_back(child, place);
    }
  }

  Statement NewStatement(NodeId node, const Place& place) const {
    Statement statement;
    statement.module = place.module;
    statement.node = node;
    statement.parent = place.parent;
    return statement;
  }

  int Add(Statement statement) {
    statements_.push_back(std::move(statement));
    return static_cast<int>(statements_.size()) - 1;
  }

  void One(NodeId node, Place place, Open& open) {
    const SyntaxTree& of = tree(place);
    switch (of[node].kind) {
      case Syntax::kFunction: Body(node, place, open); return;
      case Syntax::kClass:
        place.own_class = class_nodes_.contains({place.module, node}) ? class_nodes_[{place.module, node}] : -1;
        Inside(of.Child(node, Part::kBody) == kNoNode ? node : of.Child(node, Part::kBody), place, open);
        return;
      case Syntax::kIf: Condition(node, place, open); return;
      case Syntax::kFor: Loop(node, place, open); return;
      case Syntax::kExpressionStatement: Expression(node, place); return;
      case Syntax::kReturn: Return(node, place); return;
      case Syntax::kGlobal:
      case Syntax::kImport:
      case Syntax::kRaise: return;
      case Syntax::kModule:
      case Syntax::kBlock:
      case Syntax::kDecorated:
      case Syntax::kTry:
      case Syntax::kExcept:
      case Syntax::kFinally:
      case Syntax::kElse: Inside(node, place, open); return;
      case Syntax::kWith: With(node, place, open); return;
      default: Other(node, place, open); return;
    }
  }

  void Body(NodeId node, Place place, Open& open) {
    const SyntaxTree& of = tree(place);
    if (const NodeId parameters = of.Child(node, Part::kParameters); parameters != kNoNode) {
      Statement defaults = NewStatement(parameters, place);
      defaults.candidate = false;
      Read(parameters, place, kNoNode, defaults);
      Add(std::move(defaults));
    }
    if (place.function == 0) place.function = node;
    place.own = node;
    place.parent = -1;
    place.last = true;
    if (const NodeId body = of.Child(node, Part::kBody); body != kNoNode) Inside(body, place, open);
  }

  void Condition(NodeId node, Place place, Open& open) {
    const SyntaxTree& of = tree(place);
    Statement statement = NewStatement(node, place);
    std::vector<NodeId> bodies;
    for (NodeId child = of[node].first; child != kNoNode; child = of[child].next) {
      const bool elif = of[child].kind == Syntax::kElif;
      const NodeId condition = elif ? of.Child(child, Part::kCondition) : child;
      if (of[child].part == Part::kCondition || elif) {
        if (condition != kNoNode) {
          Pure(condition, place, statement);
          Read(condition, place, kNoNode, statement);
        }
        if (elif) bodies.push_back(of.Child(child, Part::kConsequence));
      } else {
        bodies.push_back(child);
      }
    }
    place.parent = Add(std::move(statement));
    place.last = false;
    for (NodeId body : bodies) {
      if (body != kNoNode) open.emplace_back(body, place);
    }
  }

  void Loop(NodeId node, Place place, Open& open) {
    const SyntaxTree& of = tree(place);
    Statement statement = NewStatement(node, place);
    const NodeId left = of.Child(node, Part::kLeft);
    const NodeId right = of.Child(node, Part::kRight);
    if (left == kNoNode || right == kNoNode) return;
    Target(left, place, kNoNode, statement);
    Pure(right, place, statement);
    Read(right, place, kNoNode, statement);
    place.parent = Add(std::move(statement));
    place.last = false;
    for (NodeId child = of[node].first; child != kNoNode; child = of[child].next) {
      if (child != left && child != right) open.emplace_back(child, place);
    }
  }

  void With(NodeId node, Place place, Open& open) {
    const SyntaxTree& of = tree(place);
    Statement statement = NewStatement(node, place);
    for (NodeId child = of[node].first; child != kNoNode; child = of[child].next) {
      if (of[child].part == Part::kBody || of[child].kind == Syntax::kBlock) {
        place.last = false;
        open.emplace_back(child, place);
      } else {
        Read(child, place, kNoNode, statement);
        if (of.CodeOf(child) != "torch.no_grad()") statement.candidate = false;
      }
    }
    Add(std::move(statement));
  }

  // What is not known in its parts counts as it stands.
  void Other(NodeId node, const Place& place, Open& open) {
    const SyntaxTree& of = tree(place);
    Statement statement = NewStatement(node, place);
    const bool shows = StatementShows(of, node);
    statement.candidate = statement.shows = shows;
    for (NodeId child = of[node].first; child != kNoNode; child = of[child].next) {
      if (of[child].kind == Syntax::kBlock) {
        Place inner = place;
        inner.last = false;
        open.emplace_back(child, inner);
      } else if (of[node].kind == Syntax::kImportFrom) {
        statement.reads.push_back(AttributeKey(LastOf(of.TextOf(child))));
        if (const NodeId name = of.Child(child, Part::kName); name != kNoNode)
          statement.reads.push_back(AttributeKey(LastOf(of.TextOf(name))));
        statement.candidate = false;
      } else {
        Read(child, place, kNoNode, statement);
      }
    }
    Add(std::move(statement));
  }

  void Return(NodeId node, const Place& place) {
    const SyntaxTree& of = tree(place);
    Statement statement = NewStatement(node, place);
    const NodeId value = of[node].first;
    const NodeId name = place.own == 0 ? kNoNode : of.Child(place.own, Part::kName);
    const auto function = name == kNoNode ? functions_.end() : functions_.find(std::string(of.TextOf(name)));
    statement.candidate = place.last && place.parent < 0 && function != functions_.end() && function->second.plain &&
                          (place.own_class < 0 || IsPlain(place.own_class));
    if (statement.candidate) statement.unread.push_back(ResultKey(function->first));
    if (value != kNoNode) {
      Pure(value, place, statement);
      Read(value, place, kNoNode, statement);
    }
    Add(std::move(statement));
  }

  void Expression(NodeId node, const Place& place) {
    const SyntaxTree& of = tree(place);
    Statement statement = NewStatement(node, place);
    const NodeId first = of[node].first;
    if (first == kNoNode) return;
    const Syntax kind = of[first].kind;
    const NodeId right = of.Child(first, Part::kRight);
    const NodeId left = of.Child(first, Part::kLeft);
    if (kind == Syntax::kAssignment && left != kNoNode && right != kNoNode) {
      if (of[right].kind == Syntax::kAssignment) statement.candidate = false;
      Target(left, place, right, statement);
      Value(right, place, statement);
    } else if (kind == Syntax::kAugmentedAssignment && left != kNoNode && right != kNoNode) {
      Target(left, place, right, statement, true);
      if (!statement.unread.empty()) statement.fresh.push_back(statement.unread[0]);
      Value(right, place, statement);
    } else if (StatementShows(of, node)) {
      statement.shows = true;
      Read(first, place, kNoNode, statement);
    } else {
      if (kind != Syntax::kCall && kind != Syntax::kAttribute) statement.candidate = false;
      Value(first, place, statement);
    }
    Add(std::move(statement));
  }

  // A value that is set or dropped: what a function of the project gives is read where a target is.
  void Value(NodeId value, const Place& place, Statement& statement) {
    const SyntaxTree& of = tree(place);
    NodeId function = kNoNode;
    if (of[value].kind == Syntax::kCall) function = of.Child(value, Part::kFunction);
    if (function != kNoNode) {
      const int result = ResultKey(LastOf(of.TextOf(function)));
      for (int key : statement.unread) keys_[static_cast<std::size_t>(key)].results.push_back(result);
      if (!statement.candidate && of[value].part == Part::kRight) statement.reads.push_back(result);
    }
    Pure(value, place, statement);
    Read(value, place, function, statement);
  }

  // --- what is set

  void Write(int key, NodeId value, const Place& place, bool in_place) {
    // What is added makes a new number of what is there already.
    if (in_place && !AddsList(value, place)) return;
    const bool fresh = value != kNoNode && IsFresh(value, place, 0);
    const int made = value == kNoNode ? -1 : ClassMadeBy(value, place);
    Key& of = keys_[static_cast<std::size_t>(key)];
    of.written = true;
    of.fresh = of.fresh && fresh;
    of.elements = of.elements && fresh && HasFreshElements(value, place);
    if (made >= 0) {
      of.classes.insert(made);
    } else {
      of.other = true;
    }
  }

  bool AddsList(NodeId value, const Place& place) const {
    const Syntax kind = tree(place)[value].kind;
    return kind == Syntax::kList || kind == Syntax::kTuple || kind == Syntax::kListComprehension;
  }

  int ClassMadeBy(NodeId value, const Place& place) const {
    const SyntaxTree& of = tree(place);
    if (of[value].kind != Syntax::kCall) return -1;
    const NodeId function = of.Child(value, Part::kFunction);
    const auto at = class_numbers_.find(std::string(function == kNoNode ? "" : LastOf(of.TextOf(function))));
    return at == class_numbers_.end() ? -1 : static_cast<int>(at->second);
  }

  void Target(NodeId target, const Place& place, NodeId value, Statement& statement, bool in_place = false) {
    const SyntaxTree& of = tree(place);
    const Syntax kind = of[target].kind;
    const bool device = value != kNoNode && NamesDevice(of.CodeOf(value));
    const auto unread = [&](int key) {
      statement.unread.push_back(key);
      if (!device) statement.unread.push_back(DeviceKey(key));
    };
    if (kind == Syntax::kIdentifier) {
      const int key = NameKey(place, of.TextOf(target));
      Write(key, value, place, in_place);
      unread(key);
      const bool own = place.function != 0 && OwnOf(place).contains(of.TextOf(target));
      if (own) return;
      unread(AttributeKey(of.TextOf(target)));
      if (place.own_class >= 0 && place.function == 0) statement.candidate = false;
    } else if (kind == Syntax::kAttribute) {
      const NodeId object = of.Child(target, Part::kObject);
      const NodeId name = of.Child(target, Part::kAttribute);
      if (object == kNoNode || name == kNoNode) return;
      const int key = AttributeKey(of.TextOf(name));
      Write(key, value, place, in_place);
      unread(key);
      statement.sets_attribute = true;
      const bool self = of.TextOf(object) == "self" && place.own_class >= 0 && IsPlain(place.own_class);
      const bool setter = functions_.contains(std::string(of.TextOf(name)));
      if (setter || (!self && !(device && of[object].kind == Syntax::kIdentifier))) statement.candidate = false;
    } else if (kind == Syntax::kSubscript) {
      const int root = RootOf(target, place);
      if (root < 0) {
        statement.candidate = false;
        return;
      }
      Keep(root, value, place);
      statement.fresh.push_back(root);
      if (in_place) statement.elements.push_back(root);
      unread(root);
      Pure(target, place, statement);
    } else if (kind == Syntax::kPatternList || kind == Syntax::kTuple || kind == Syntax::kExpressionList) {
      const bool paired = value != kNoNode && ChildCount(of, target) == ChildCount(of, value) &&
                          (of[value].kind == Syntax::kTuple || of[value].kind == Syntax::kExpressionList);
      NodeId one = paired ? of[value].first : kNoNode;
      for (NodeId child = of[target].first; child != kNoNode; child = of[child].next) {
        const NodeId given = one;
        if (one != kNoNode) one = of[one].next;
        if (of[child].kind == Syntax::kIdentifier || of[child].kind == Syntax::kAttribute) {
          Target(child, place, given, statement);
        } else {
          statement.candidate = false;
        }
      }
    } else {
      statement.candidate = false;
    }
  }

  static int ChildCount(const SyntaxTree& of, NodeId node) {
    int count = 0;
    for (NodeId child = of[node].first; child != kNoNode; child = of[child].next) ++count;
    return count;
  }

  // The name or the attribute of self that an expression begins with; -1.
  int RootOf(NodeId node, const Place& place) {
    const SyntaxTree& of = tree(place);
    while (node != kNoNode) {
      const Syntax kind = of[node].kind;
      if (kind == Syntax::kIdentifier) return NameKey(place, of.TextOf(node));
      if (kind == Syntax::kAttribute) {
        const NodeId object = of.Child(node, Part::kObject);
        const NodeId name = of.Child(node, Part::kAttribute);
        if (object == kNoNode || name == kNoNode) return -1;
        const bool self = of.TextOf(object) == "self" && place.own_class >= 0 && IsPlain(place.own_class);
        return self ? AttributeKey(of.TextOf(name)) : -1;
      }
      if (kind != Syntax::kSubscript) return -1;
      node = of.Child(node, Part::kValue);
    }
    return -1;
  }

  // A number, a text or a list of the script's own making: no other name of something that is there.
  // NOLINTNEXTLINE(misc-no-recursion): kFreshDepthMax bounds it
  bool IsFresh(NodeId node, const Place& place, int depth) const {
    const SyntaxTree& of = tree(place);
    const Syntax kind = of[node].kind;
    if (depth > kFreshDepthMax) return false;
    if (IsNumberOrText(kind) || kind == Syntax::kBinary || kind == Syntax::kUnary || kind == Syntax::kNot ||
        kind == Syntax::kComparison)
      return true;
    if (kind == Syntax::kCall) {
      const NodeId function = of.Child(node, Part::kFunction);
      if (function == kNoNode) return false;
      const absl::string_view name = of.TextOf(function);
      const absl::string_view last = LastOf(name);
      if (name == "max" || name == "min") return false;  // one of what they are given
      if (last == "float" || last == "int") return name == last;
      return !functions_.contains(std::string(last)) && (words_.figures.contains(last) || IsMeter(name));
    }
    if (kind == Syntax::kParenthesized) return of[node].first != kNoNode && IsFresh(of[node].first, place, depth + 1);
    return kind == Syntax::kList || kind == Syntax::kTuple || kind == Syntax::kDictionary;
  }

  bool HasFreshElements(NodeId node, const Place& place) const {
    const SyntaxTree& of = tree(place);
    const Syntax kind = of[node].kind;
    if (kind != Syntax::kList && kind != Syntax::kTuple && kind != Syntax::kDictionary)
      return kind != Syntax::kBinary && kind != Syntax::kCall;  // `[weight] * 2`, list(weights)
    for (NodeId child = of[node].first; child != kNoNode; child = of[child].next) {
      const NodeId value = of[child].kind == Syntax::kPair ? of.Child(child, Part::kValue) : child;
      if (value == kNoNode || !IsNumberOrText(of[value].kind)) return false;
    }
    return true;
  }

  bool IsMeter(absl::string_view name) const {
    return std::any_of(words_.meters.begin(), words_.meters.end(), [&](const std::string& one) {
      return name == one || absl::StrContains(absl::StrCat(".", name), absl::StrCat(".", one, "."));
    });
  }

  // --- what is read

  void Read(NodeId expression, const Place& place, NodeId result_of, Statement& statement) {
    const SyntaxTree& of = tree(place);
    struct Here {
      NodeId node;
      bool device;  // only a device is asked for
    };
    std::set<NodeId> handed;
    std::vector<Here> open = {{expression, false}};
    while (!open.empty()) {
      const auto [node, device] = open.back();
      open.pop_back();
      const Syntax kind = of[node].kind;
      const auto read = [&](int key) { statement.reads.push_back(device ? DeviceKey(key) : key); };
      if (kind == Syntax::kCall && !statement.shows) ByName(node, place, statement);
      if (kind == Syntax::kIdentifier) {
        read(NameKey(place, of.TextOf(node)));
        if (node != result_of) statement.reads.push_back(ResultKey(of.TextOf(node)));
      } else if (kind == Syntax::kAttribute) {
        const NodeId name = of.Child(node, Part::kAttribute);
        if (name != kNoNode) {
          const absl::string_view text = of.TextOf(name);
          if (!(of[node].part == Part::kFunction && IsMethod(text))) read(AttributeKey(text));
          if (node != result_of) statement.reads.push_back(ResultKey(text));
          if (text == "__dict__" && !statement.shows) attributes_told_ = false;
        }
      }
      const bool places = kind == Syntax::kCall && IsPlacing(of, node);
      if (kind == Syntax::kCall) handed.merge(Flows(node, place));
      for (NodeId child = of[node].first; child != kNoNode; child = of[child].next) {
        if (IsNoValueName(of, node, child) || handed.contains(child)) continue;
        const bool keyword = kind == Syntax::kKeywordArgument && IsPlaceKeyword(of, node);
        const bool within = device && (kind == Syntax::kArguments || kind == Syntax::kKeywordArgument);
        open.push_back({child, keyword || within || (places && of[child].kind == Syntax::kArguments)});
      }
    }
  }

  // Names that are handed as they are to a function of the project are read where its parameters are.
  std::set<NodeId> Flows(NodeId call, const Place& place) {
    const SyntaxTree& of = tree(place);
    const NodeId callee = of.Child(call, Part::kFunction);
    const NodeId arguments = of.Child(call, Part::kArguments);
    if (callee == kNoNode || arguments == kNoNode || of[callee].kind != Syntax::kIdentifier) return {};
    const auto function = functions_.find(std::string(of.TextOf(callee)));
    if (function == functions_.end() || function->second.definitions != 1 || function->second.takes_any) return {};
    const std::vector<std::string>& names = function->second.names;
    std::set<NodeId> flows;
    std::size_t position = 0;
    for (NodeId one = of[arguments].first; one != kNoNode; one = of[one].next) {
      NodeId value = one;
      std::string name;
      if (of[one].kind == Syntax::kListSplat || of[one].kind == Syntax::kDictionarySplat) return {};
      if (of[one].kind == Syntax::kKeywordArgument) {
        value = of.Child(one, Part::kValue);
        name = std::string(of.TextOf(of.Child(one, Part::kName)));
      } else if (position < names.size()) {
        name = names[position++];
      }
      if (value == kNoNode || of[value].kind != Syntax::kIdentifier) continue;
      const auto at = std::find(names.begin(), names.end(), name);
      if (at == names.end() || function->second.parameters.size() != names.size()) continue;
      const int parameter = ParameterKey(function->second, name);
      if (parameter < 0) continue;
      const int key = NameKey(place, of.TextOf(value));
      keys_[static_cast<std::size_t>(parameter)].results.push_back(key);
      const int device = DeviceKey(key);
      keys_[static_cast<std::size_t>(DeviceKey(parameter))].results.push_back(device);
      flows.insert(value);
    }
    return flows;
  }

  int ParameterKey(const Function& function, const std::string& name) const {
    for (int key : function.parameters) {
      if (absl::EndsWith(key_names_[static_cast<std::size_t>(key)], absl::StrCat(":", name))) return key;
    }
    return -1;
  }

  // Names that are made as the script runs: what they reach is not known.
  void ByName(NodeId call, const Place& place, Statement& statement) {
    const SyntaxTree& of = tree(place);
    const NodeId function = of.Child(call, Part::kFunction);
    const absl::string_view name = function == kNoNode ? "" : of.TextOf(function);
    if (name == "eval" || name == "exec" || name == "locals" || name == "globals") dynamic_ = true;
    if (name == "vars" || name == "setattr" || name == "delattr" || LastOf(name) == "attrgetter")
      attributes_told_ = false;
    if (name != "getattr") return;
    const NodeId arguments = of.Child(call, Part::kArguments);
    NodeId one = arguments == kNoNode ? kNoNode : of[arguments].first;
    if (one != kNoNode) one = of[one].next;
    if (one == kNoNode || of[one].kind != Syntax::kString) {
      attributes_told_ = false;
      return;
    }
    const absl::string_view quoted = of.TextOf(one);
    const absl::string_view attribute = quoted.substr(1, quoted.size() < 2 ? 0 : quoted.size() - 2);
    statement.reads.push_back(AttributeKey(attribute));
    statement.reads.push_back(ResultKey(attribute));
  }

  bool IsMethod(absl::string_view name) const {
    return words_.figures.contains(name) || words_.views.contains(name) || words_.moves.contains(name);
  }

  static bool IsPlacing(const SyntaxTree& of, NodeId call) {
    const NodeId function = of.Child(call, Part::kFunction);
    const absl::string_view last = function == kNoNode ? "" : LastOf(of.TextOf(function));
    return last == "to" || last == "cuda" || last == "npu" || last == "set_device";
  }

  static bool IsPlaceKeyword(const SyntaxTree& of, NodeId argument) {
    const NodeId name = of.Child(argument, Part::kName);
    const absl::string_view text = name == kNoNode ? "" : of.TextOf(name);
    return text == "device" || text == "map_location" || text == "device_ids" || text == "output_device";
  }

  // --- what changes nothing by itself

  void Pure(NodeId expression, const Place& place, Statement& statement) {
    const SyntaxTree& of = tree(place);
    std::vector<NodeId> open = {expression};
    while (!open.empty() && statement.candidate) {
      const NodeId node = open.back();
      open.pop_back();
      const Syntax kind = of[node].kind;
      const bool expression_kind = kind >= Syntax::kCall && kind <= Syntax::kExpressionList;
      if (kind == Syntax::kLambda || kind == Syntax::kAwait || kind == Syntax::kNamedExpression ||
          (!expression_kind && kind != Syntax::kOperator && kind != Syntax::kOther))
        statement.candidate = false;
      if (kind == Syntax::kCall) Call(node, place, statement);
      for (NodeId child = of[node].first; child != kNoNode; child = of[child].next) open.push_back(child);
    }
  }

  void Call(NodeId call, const Place& place, Statement& statement) {
    const SyntaxTree& of = tree(place);
    const NodeId function = of.Child(call, Part::kFunction);
    const absl::string_view name = function == kNoNode ? "" : of.TextOf(function);
    const std::string last(LastOf(name));
    const bool method = function != kNoNode && of[function].kind == Syntax::kAttribute;
    const auto own = functions_.find(last);
    if (const int made = ClassMadeBy(call, place); made >= 0) {
      const auto init = functions_.find("__init__");
      if (!IsPlain(made)) statement.candidate = false;
      if (init != functions_.end()) Append(init->second.parameters, statement.unread);
      return;
    }
    if (own != functions_.end()) {
      const NodeId object = method ? of.Child(function, Part::kObject) : kNoNode;
      const int root = object == kNoNode ? -1 : RootOf(object, place);
      const bool other = !method && place.function != 0 && OwnOf(place).contains(last);
      if (other || (method && root < 0)) statement.candidate = false;
      if (method && root >= 0) statement.instances.emplace_back(root, last);
      Append(own->second.parameters, statement.unread);
      return;
    }
    if (words_.figures.contains(last) || words_.views.contains(last) || words_.moves.contains(last) ||
        NameShows(name) || IsMeter(name))
      return;
    // A method that changes its object: that has to be the script's own.
    const NodeId object = method ? of.Child(function, Part::kObject) : kNoNode;
    const int root = object == kNoNode ? -1 : RootOf(object, place);
    if (root < 0 || !(words_.keeps.contains(last))) {
      statement.candidate = false;
      return;
    }
    statement.fresh.push_back(root);
    statement.unread.push_back(root);
    if (of[object].kind == Syntax::kSubscript) statement.elements.push_back(root);
    const NodeId arguments = of.Child(call, Part::kArguments);
    for (NodeId one = arguments == kNoNode ? kNoNode : of[arguments].first; one != kNoNode; one = of[one].next)
      Keep(root, one, place);
  }

  void Keep(int root, NodeId value, const Place& place) {
    if (value == kNoNode || !IsFresh(value, place, 0)) keys_[static_cast<std::size_t>(root)].elements = false;
  }

  static void Append(const std::vector<int>& from, std::vector<int>& into) {
    into.insert(into.end(), from.begin(), from.end());
  }

  // --- what is live

  std::set<std::pair<int, NodeId>> Solve() {
    std::vector<int> open;
    for (std::size_t i = 0; i < statements_.size(); ++i) {
      Statement& one = statements_[i];
      one.candidate = one.candidate && Holds(one);
      for (int key : one.unread) keys_[static_cast<std::size_t>(key)].statements.push_back(static_cast<int>(i));
      if (!one.candidate) open.push_back(static_cast<int>(i));
    }
    std::vector<int> live_keys;
    while (!open.empty()) {
      Statement& one = statements_[static_cast<std::size_t>(open.back())];
      open.pop_back();
      if (one.live) continue;
      one.live = true;
      if (one.parent >= 0) open.push_back(one.parent);
      live_keys = one.reads;
      while (!live_keys.empty()) {
        Key& key = keys_[static_cast<std::size_t>(live_keys.back())];
        live_keys.pop_back();
        if (key.live) continue;
        key.live = true;
        Append(key.results, live_keys);
        Append(key.statements, open);
      }
    }
    std::set<std::pair<int, NodeId>> shown;
    for (const Statement& one : statements_) {
      if (!one.live) shown.emplace(one.module, one.node);
    }
    return shown;
  }

  bool Holds(const Statement& one) const {
    if (one.sets_attribute && !attributes_told_) return false;
    const bool fresh = std::all_of(one.fresh.begin(), one.fresh.end(), [&](int key) {
      return keys_[static_cast<std::size_t>(key)].written && keys_[static_cast<std::size_t>(key)].fresh;
    }) && std::all_of(one.elements.begin(), one.elements.end(), [&](int key) {
      return keys_[static_cast<std::size_t>(key)].elements;
    });
    return fresh && std::all_of(one.instances.begin(), one.instances.end(), [&](const auto& of) {
             const Key& key = keys_[static_cast<std::size_t>(of.first)];
             return !key.other && !key.classes.empty() &&
                    std::all_of(key.classes.begin(), key.classes.end(),
                                [&](int made) { return HasMethod(made, of.second) && IsPlain(made); });
           });
  }

  const std::vector<ScriptModule>& modules_;
  const ScriptWords& words_ = BuiltInScriptWords();
  absl::flat_hash_map<std::string, int> numbers_;
  std::vector<Key> keys_;
  std::vector<std::string> key_names_;
  std::vector<Statement> statements_;
  std::map<std::string, Function> functions_;
  std::map<std::string, std::size_t> class_numbers_;
  std::vector<Class> classes_;
  std::map<std::pair<int, NodeId>, int> class_nodes_;
  std::map<std::pair<int, NodeId>, std::optional<std::set<std::string, std::less<>>>> own_;
  bool attributes_told_ = true;  // no attribute is set or read by a name that is made as the script runs
  bool dynamic_ = false;
};

}  // namespace

std::set<std::pair<int, NodeId>> ShownFigures(const std::vector<ScriptModule>& modules) {
  return Reader(modules).Run();
}

}  // namespace paritect
