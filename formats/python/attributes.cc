#include "formats/python/attributes.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/python/configurations.h"
#include "formats/python/lookups.h"

namespace paritect {
namespace {

constexpr std::size_t kAddedSymbolMax = 80;

FactArgument* ArgumentOf(MachineFact& fact, absl::string_view name) {
  for (FactArgument& one : fact.arguments) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

// Whether the function that made the object would have taken such an argument.
bool Takes(const ScriptMachine& m, const MachineFact& fact, absl::string_view name) {
  if (fact.kind == "training_arguments") return true;  // a hundred of them, by name
  const ApiRule* rule = m.rules.Find(fact.name);
  // A line for many functions does not tell what each of them takes.
  const bool told = rule != nullptr && !absl::EndsWith(rule->names[0], "*");
  if (!told) return fact.kind == "dataset" || fact.kind == "optimizer";
  return std::find(rule->parameters.begin(), rule->parameters.end(), name) != rule->parameters.end();
}

void Without(std::vector<std::int32_t>& numbers, const std::vector<std::int32_t>& gone) {
  std::erase_if(numbers, [&](std::int32_t one) { return std::binary_search(gone.begin(), gone.end(), one); });
}

// An argument of what a known function made has another value from here on.
class Change {
 public:
  Change(ScriptMachine& machine, ValueId object, absl::string_view name, ValueId value, NodeId node)
      : m_(machine), object_(object), name_(name), value_(value), node_(node) {}

  void Run() {
    const std::int32_t own = m_.values[object_].fact;
    if (own >= 0) return OfFact(own, false);
    // One of several, whichever: `for layer in net.modules(): layer.eps = 1e-3`.
    if (m_.values[object_].kind == ValueKind::kInstance) return;
    const std::vector<std::int32_t> facts = m_.values[object_].made_of;
    for (std::int32_t fact : facts) {
      const MachineFact& of = m_.facts()[static_cast<std::size_t>(fact)];
      if (of.kind == "layer") OfFact(fact, true);
    }
    OfData(facts);
  }

 private:
  // `loader.dataset.transform = steps`: which of the sets that the loader was made of is meant is not told.
  void OfData(const std::vector<std::int32_t>& facts) {
    for (std::int32_t number : facts) {
      MachineFact& of = m_.facts()[static_cast<std::size_t>(number)];
      const bool data = of.kind == "dataset" || of.kind == "loader" || of.kind == "sampler" || of.kind == "take";
      if (!data || (ArgumentOf(of, name_) == nullptr && !Takes(m_, of, name_))) continue;
      return m_.Doubt("changed_later", absl::StrCat(of.name, ".", name_), node_);
    }
  }

  void OfFact(std::int32_t number, bool perhaps) {
    MachineFact& fact = m_.facts()[static_cast<std::size_t>(number)];
    if (fact.kind == "rank" || fact.kind == "world_size" || m_.mute) return;
    FactArgument* argument = ArgumentOf(fact, name_);
    if (argument == nullptr) {
      if (perhaps || !Takes(m_, fact, name_)) return;
      fact.arguments.push_back({std::string(name_), "", m_.values.None(), true});
      argument = &fact.arguments.back();
    }
    const ValueId old = argument->value;
    if (m_.values.SymbolOf(old) == m_.values.SymbolOf(value_)) return;
    const bool in_round = fact.loops.size() < m_.open_loop_count();
    perhaps = perhaps || m_.conditional > 0 || in_round;
    ValueId now = value_;
    if (perhaps) {
      now = Derived(m_,
                    absl::StrCat("either(", m_.values.SymbolOf(old).substr(0, 150), ", ",
                                 m_.values.SymbolOf(value_).substr(0, 150), ")?"),
                    {old, value_});
    }
    argument->value = now;
    argument->text.clear();
    argument->is_default = false;
    Parts(number, old, perhaps);
  }

  // The steps that the new value is made of take the place of the old one's.
  void Parts(std::int32_t number, ValueId old, bool perhaps) {
    const std::vector<std::int32_t> gone = perhaps ? std::vector<std::int32_t>() : m_.values.AllFacts(old);
    const std::vector<std::int32_t> added = m_.values.AllFacts(value_);
    if (gone.empty() && added.empty()) return;
    // What was made of the object before knows nothing of it.
    for (std::size_t i = static_cast<std::size_t>(number) + 1; i < m_.facts().size(); ++i) {
      const std::vector<std::int32_t>& made_of = m_.facts()[i].made_of;
      if (!std::binary_search(made_of.begin(), made_of.end(), number)) continue;
      return m_.Doubt("changed_later", absl::StrCat(m_.facts()[static_cast<std::size_t>(number)].name, ".", name_),
                      node_);
    }
    for (std::vector<std::int32_t>* made_of :
         {&m_.facts()[static_cast<std::size_t>(number)].made_of, &m_.values[object_].made_of}) {
      Without(*made_of, gone);
      MergeNumbers(*made_of, added);
    }
  }

  ScriptMachine& m_;
  const ValueId object_;
  const absl::string_view name_;
  const ValueId value_;
  const NodeId node_;
};

// How the object comes about is told with what it was given later.
void TellChange(ScriptMachine& m, ValueId object, absl::string_view name, ValueId value) {
  const bool own = m.frame().self == object || m.values[object].kind == ValueKind::kUnknown;
  if (own || m.values[object].symbol.empty()) return;
  const std::string added = m.values.SymbolOf(value).substr(0, kAddedSymbolMax);
  std::string& symbol = m.values[object].symbol;
  if (symbol.size() > 300) symbol = absl::StrCat(symbol.substr(0, 300), "?");
  absl::StrAppend(&symbol, " with ", name, "=", added, m.conditional > 0 ? "?" : "");
}

}  // namespace

bool HoldsOptions(const ScriptMachine& m, ValueId object) {
  const ScriptValue& of = m.values[object];
  if (IsConfiguration(of)) return true;
  return of.kind == ValueKind::kInstance && ClassAttribute(m, of.self, "__setitem__") == kNoValue;
}

void Stir(ScriptMachine& m, ValueId object) {
  const ScriptValue of = m.values[object];
  if (of.is_constant()) return;
  std::vector<std::string> names;
  for (const auto& [name, value] : of.fields) {
    const bool plain = m.values[value].is_constant() || !m.values[value].option.empty();
    if (plain && !absl::StartsWith(name, "<")) names.push_back(name);
  }
  if (of.kind == ValueKind::kInstance) {
    for (const auto& [name, value] : m.values[of.self].fields) {
      if (!m.values[value].is_constant() || m.values.Field(object, name) != kNoValue || name == "__name__") continue;
      names.push_back(name);
    }
    for (const std::string& name : names) {
      const ValueId own = ClassAttribute(m, of.self, name);
      if (own != kNoValue) m.AddField(object, name, own);
    }
  }
  for (const std::string& name : names) m.SetField(object, name, m.values.Unknown(absl::StrCat("?", name)));
  if (IsConfiguration(of)) MarkStirred(m, object);
}

void SetAttribute(ScriptMachine& m, ValueId object, absl::string_view name, ValueId value, NodeId node) {
  const ScriptValue& of = m.values[object];
  switch (of.kind) {
    case ValueKind::kApi: return m.Replace(absl::StrCat(of.text, ".", name), value, node);
    case ValueKind::kModule:
      if (m.module(of.module).scope >= 0) m.Set(m.module(of.module).scope, name, value);
      return;
    case ValueKind::kBound: {
      // What hangs at an object is kept there, so that the next look at it sees the change.
      const ValueId owner = of.self;
      if (owner == kNoValue || m.values[owner].is_constant() || m.values[owner].kind == ValueKind::kApi) return;
      m.AddField(owner, of.text, object);
      m.SetField(object, name, value);
      return Change(m, object, name, value, node).Run();
    }
    case ValueKind::kInstance:
      if (const ValueId own = ClassAttribute(m, of.self, name);
          own != kNoValue && m.values[own].kind != ValueKind::kFunction) {
        m.AddField(object, name, own);
      }
      break;
    default:
      if (of.is_constant()) return;
      if (IsConfiguration(of)) ConfigurationValue(m, object, name);
      break;
  }
  m.SetField(object, name, value);
  if (m.frame().self == object) return;
  if (of.kind == ValueKind::kObject || of.kind == ValueKind::kInstance || of.kind == ValueKind::kUnknown) {
    Change(m, object, name, value, node).Run();
  }
  if ((of.kind == ValueKind::kObject && !IsConfiguration(of)) || of.kind == ValueKind::kInstance)
    TellChange(m, object, name, value);
}

void NoteGroupSet(ScriptMachine& m, NodeId target, ValueId group, ValueId key, ValueId value) {
  if (m.values[key].kind != ValueKind::kText || !absl::StrContains(m.values.SymbolOf(group), "param_groups")) return;
  MachineFact fact;
  fact.kind = "group_set";
  fact.name = absl::StrCat("set ", m.values[key].text);
  fact.arguments.push_back({m.values[key].text, "", value, false});
  fact.made_of = m.values[group].made_of;
  for (std::int32_t number : fact.made_of) {
    if (m.facts()[static_cast<std::size_t>(number)].kind == "optimizer") fact.object = number;
  }
  m.AddFact(std::move(fact), target);
}

}  // namespace paritect
