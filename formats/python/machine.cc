#include "formats/python/machine.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "formats/python/plain_code.h"

namespace paritect {
namespace {

constexpr std::size_t kFactsMax = 50'000;
constexpr std::size_t kLoopsMax = 50'000;
constexpr std::size_t kValuesMax = 6'000'000;
constexpr std::size_t kFieldsMax = 5'000;
constexpr std::size_t kCodesMax = 20'000;

}  // namespace

ScriptMachine::ScriptMachine(const ScriptRules& known, std::vector<ScriptModule>& modules)
    : rules(known), modules_(modules) {
  for (const ScriptModule& module : modules) paths.push_back(module.path);
}

bool ScriptMachine::Step() {
  if (steps_ == 0) return false;
  if (values.size() > kValuesMax) steps_ = 1;
  return --steps_ > 0;
}

bool ScriptMachine::full() const {
  return values.size() > kValuesMax || facts_.size() >= kFactsMax || loops_.size() >= kLoopsMax;
}

int ScriptMachine::NewScope(int parent, int module) {
  scopes_.push_back({parent, module, {}, {}});
  return static_cast<int>(scopes_.size() - 1);
}

NameId ScriptMachine::NumberOf(absl::string_view name) {
  const auto found = name_numbers_.find(name);
  if (found != name_numbers_.end()) return found->second;
  const auto number = static_cast<NameId>(names_.size());
  names_.emplace_back(name);
  name_numbers_.emplace(names_.back(), number);
  return number;
}

NameId ScriptMachine::FindNumber(absl::string_view name) const {
  const auto found = name_numbers_.find(name);
  return found == name_numbers_.end() ? -1 : found->second;
}

ValueId ScriptMachine::LookIn(int scope, NameId name) const {
  const auto& names = scopes_[static_cast<std::size_t>(scope)].names;
  const auto found = names.find(name);
  return found == names.end() ? kNoValue : found->second;
}

ValueId ScriptMachine::LookIn(int scope, absl::string_view name) const {
  const NameId number = FindNumber(name);
  return number < 0 ? kNoValue : LookIn(scope, number);
}

ValueId ScriptMachine::Look(absl::string_view name) const {
  return LookFrom(frame().scope, name);
}

ValueId ScriptMachine::LookFrom(int scope, absl::string_view name) const {
  const NameId number = FindNumber(name);
  if (number < 0) return kNoValue;
  for (; scope >= 0; scope = scopes_[static_cast<std::size_t>(scope)].parent) {
    if (const ValueId value = LookIn(scope, number); value != kNoValue) return value;
  }
  return kNoValue;
}

void ScriptMachine::Set(int scope, absl::string_view name, ValueId value) {
  SetPlace({scope, kNoValue, NumberOf(name)}, value);
}

std::vector<std::pair<std::string, ValueId>> ScriptMachine::NamesOf(int scope) const {
  std::vector<std::pair<std::string, ValueId>> sorted;
  for (const auto& [name, value] : scopes_[static_cast<std::size_t>(scope)].names)
    sorted.emplace_back(names_[static_cast<std::size_t>(name)], value);
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

void ScriptMachine::SetField(ValueId object, absl::string_view name, ValueId value) {
  SetPlace({-1, object, NumberOf(name)}, value);
}

ValueId ScriptMachine::Now(const Place& place) const {
  return place.scope >= 0 ? LookIn(place.scope, place.name)
                          : values.Field(place.object, names_[static_cast<std::size_t>(place.name)]);
}

void ScriptMachine::SetPlace(const Place& place, ValueId value) {
  if (place.scope >= 0) {
    ValueId& held =
        scopes_[static_cast<std::size_t>(place.scope)].names.try_emplace(place.name, kNoValue).first->second;
    changes_.push_back({place, held});
    held = value;
    return;
  }
  const std::string& name = names_[static_cast<std::size_t>(place.name)];
  auto& fields = values[place.object].fields;
  for (auto& [field, held] : fields) {
    if (field != name) continue;
    changes_.push_back({place, held});
    held = value;
    return;
  }
  if (fields.size() >= kFieldsMax) return;
  changes_.push_back({place, kNoValue});
  fields.emplace_back(name, value);
}

void ScriptMachine::AddField(ValueId object, absl::string_view name, ValueId value) {
  if (values[object].fields.size() >= kFieldsMax || values.Field(object, name) != kNoValue) return;
  values[object].fields.emplace_back(std::string(name), value);
}

void ScriptMachine::DeclareOuter(absl::string_view name) {
  scopes_[static_cast<std::size_t>(frame().scope)].outer.insert(std::string(name));
}

void ScriptMachine::SetLocal(absl::string_view name, ValueId value) {
  int scope = frame().scope;
  if (scopes_[static_cast<std::size_t>(scope)].outer.contains(name)) {
    for (int outer = scopes_[static_cast<std::size_t>(scope)].parent; outer >= 0;
         outer = scopes_[static_cast<std::size_t>(outer)].parent) {
      scope = outer;
      if (LookIn(outer, name) != kNoValue) break;
    }
  }
  Set(scope, name, value);
}

ValueId ScriptMachine::LookBefore(std::size_t mark, absl::string_view name) const {
  const NameId number = FindNumber(name);
  if (number < 0) return kNoValue;
  for (int scope = frame().scope; scope >= 0; scope = scopes_[static_cast<std::size_t>(scope)].parent) {
    ValueId value = LookIn(scope, number);
    for (std::size_t i = mark; i < changes_.size(); ++i) {
      if (changes_[i].place.scope != scope || changes_[i].place.name != number) continue;
      value = changes_[i].before;
      break;
    }
    if (value != kNoValue) return value;
  }
  return kNoValue;
}

ScriptMachine::Outcome ScriptMachine::Undo(std::size_t mark) {
  Outcome outcome;
  absl::flat_hash_set<Place> seen;
  while (changes_.size() > mark) {
    const Change change = changes_.back();
    changes_.pop_back();
    ValueId now = kNoValue;
    if (change.place.scope >= 0) {
      auto& names = scopes_[static_cast<std::size_t>(change.place.scope)].names;
      auto held = names.find(change.place.name);
      now = held->second;
      held->second = change.before;
      if (change.before == kNoValue) names.erase(held);
    } else {
      const std::string& name = names_[static_cast<std::size_t>(change.place.name)];
      auto& fields = values[change.place.object].fields;
      for (std::size_t i = 0; i < fields.size(); ++i) {
        if (fields[i].first != name) continue;
        now = fields[i].second;
        fields[i].second = change.before;
        if (change.before == kNoValue) fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(i));
        break;
      }
    }
    if (seen.insert(change.place).second) outcome.emplace_back(change.place, now);
  }
  return outcome;
}

void ScriptMachine::Apply(const Outcome& outcome) {
  for (auto one = outcome.rbegin(); one != outcome.rend(); ++one) SetPlace(one->first, one->second);
}

void ScriptMachine::Join(const Outcome& one, const Outcome& other) {
  const auto set = [&](const Place& place, ValueId value) {
    if (value != kNoValue) SetPlace(place, value);
  };
  // A key that one way alone gives a dictionary is perhaps not there: `if args.drop: options["drop_last"] = True`.
  const auto absent = [&](const Place& place) {
    return place.scope < 0 && values[place.object].kind == ValueKind::kMap ? values.Unknown("absent") : kNoValue;
  };
  const absl::flat_hash_map<Place, ValueId> others(other.begin(), other.end());
  absl::flat_hash_set<Place> done;
  for (const auto& [place, value] : one) {
    const auto found = others.find(place);
    const ValueId second = found == others.end() ? Now(place) : found->second;
    if (found != others.end()) done.insert(place);
    set(place, JoinValues(value, second == kNoValue ? absent(place) : second));
  }
  for (const auto& [place, value] : other) {
    if (done.contains(place)) continue;
    const ValueId before = Now(place);
    set(place, JoinValues(value, before == kNoValue ? absent(place) : before));
  }
}

ValueId ScriptMachine::JoinValues(ValueId a, ValueId b) {
  if (a == b || b == kNoValue) return a;
  if (a == kNoValue) return b;
  const auto rank = [&](ValueId id) {
    const ScriptValue& value = values[id];
    switch (value.kind) {
      case ValueKind::kNone: return 0;
      case ValueKind::kUnknown: return value.made_of.empty() && value.traits == 0 ? 1 : 2;
      case ValueKind::kBoolean:
      case ValueKind::kInteger:
      case ValueKind::kNumber:
      case ValueKind::kText: return 3;
      case ValueKind::kBound: return 3;
      default: return 4;
    }
  };
  if (values[a].is_constant() && values[b].is_constant() && values.SymbolOf(a) == values.SymbolOf(b)) return a;
  const int rank_a = rank(a);
  const int rank_b = rank(b);
  // An object of which something is known counts before what is not; what the other was derived from is kept.
  if (rank_a >= 4 || rank_b >= 4) {
    // What wraps the other counts before it: `model if world == 1 else DDP(model)`.
    const bool b_first = rank_b > rank_a || (values[b].kind == ValueKind::kObject && values[b].self == a);
    const ValueId first = b_first ? b : a;
    const ValueId second = b_first ? a : b;
    if (values[first].kind == ValueKind::kInstance || values[first].kind == ValueKind::kClass ||
        values[first].kind == ValueKind::kFunction) {
      return first;
    }
    ScriptValue joined = values[first];
    values.Derive(joined, second);
    if (joined.kind == ValueKind::kSequence) {
      joined.symbol = absl::StrCat("either(", values.SymbolOf(a), ", ", values.SymbolOf(b), ")");
      joined.fields = {{kEither, a}, {kEither, b}};
    }
    return values.Add(std::move(joined));
  }
  ScriptValue joined;
  joined.symbol =
      absl::StrCat("either(", values.SymbolOf(a).substr(0, 150), ", ", values.SymbolOf(b).substr(0, 150), ")");
  values.Derive(joined, a);
  values.Derive(joined, b);
  return values.Add(std::move(joined));
}

ValueId ScriptMachine::Once(NodeId literal, absl::FunctionRef<ValueId()> make) {
  const std::uint64_t place = (static_cast<std::uint64_t>(frame().module) << 32) | literal;
  const auto found = literals_.find(place);
  if (found != literals_.end()) return found->second;
  const ValueId value = make();
  literals_.emplace(place, value);
  return value;
}

ValueId ScriptMachine::PackageName(absl::string_view full_name) {
  packages.emplace(full_name.substr(0, full_name.find('.')));
  const std::string canonical = rules.Canonical(full_name);
  const auto found = replaced_.find(canonical);
  return found == replaced_.end() ? values.Api(canonical) : found->second;
}

void ScriptMachine::Replace(absl::string_view full_name, ValueId value, NodeId node) {
  const ScriptValue& given = values[value];
  // Switches of a library are no functions of it.
  if (given.is_constant() || given.kind == ValueKind::kSequence || given.kind == ValueKind::kMap) return;
  const std::string canonical = rules.Canonical(full_name);
  if (given.kind == ValueKind::kApi && given.text == canonical) return;
  const auto matters = [&](absl::string_view name) {
    const ApiRule* rule = rules.Find(name);
    return (rule != nullptr && (!rule->kind.empty() || !rule->returns.empty())) || rules.FindBase(name) != nullptr;
  };
  const std::string owner = canonical.substr(0, canonical.rfind('.'));
  const bool member = rules.Find(canonical) == nullptr && matters(owner);
  if (!member && !matters(canonical)) return;
  const bool plain =
      given.kind == ValueKind::kApi || given.kind == ValueKind::kFunction || given.kind == ValueKind::kClass;
  if (plain && !member && conditional == 0) {
    replaced_[canonical] = value;
  } else {
    Doubt("script_patched", canonical, node);
  }
}

void ScriptMachine::Doubt(absl::string_view kind, absl::string_view what, NodeId node) {
  constexpr std::size_t kDoubtsMax = 100;
  if (!called || doubts_.size() >= kDoubtsMax) return;
  doubts_.push_back({std::string(kind), std::string(what), frame().module, node == kNoNode ? 0 : tree()[node].line});
}

int ScriptMachine::AddFact(MachineFact fact, NodeId node) {
  if (mute) return -1;
  if (facts_.size() >= kFactsMax) {
    steps_ = 0;
    return -1;
  }
  fact.module = frame().module;
  fact.line = node == kNoNode ? 0 : tree()[node].line;
  fact.function = frame().function;
  fact.loops.assign(open_loops_.begin(), open_loops_.end());
  fact.contexts.assign(contexts_.begin(), contexts_.end());
  fact.conditional = conditional > 0;
  const bool updates =
      fact.kind == "optimizer_step" || fact.kind == "scaler_step" || fact.kind == "zero_grad" || fact.kind == "clip";
  if (updates && !every.empty()) fact.arguments.push_back({"every", "", every.back(), false});
  fact.called = called;
  fact.entry = entry;
  facts_.push_back(std::move(fact));
  return static_cast<int>(facts_.size() - 1);
}

void ScriptMachine::AddCode(MachineCode code, NodeId node) {
  code.module = frame().module;
  code.line = tree()[node].line;
  code.function = frame().function;
  code.loops.assign(open_loops_.begin(), open_loops_.end());
  code.contexts.assign(contexts_.begin(), contexts_.end());
  code.conditional = conditional > 0;
  code.behind = static_cast<std::int32_t>(facts_.size()) - 1;
  code.entry = entry;
  const std::string key =
      absl::StrCat(code.module, ":", code.line, ":", entry, ":", code.of_network, code.text, "\n", code.place);
  const auto [found, added] = code_places_.try_emplace(key, codes_.size());
  if (!added && found->second < codes_.size()) {
    ++codes_[found->second].times;
  } else if (added && codes_.size() < kCodesMax) {
    codes_.push_back(std::move(code));
  } else {
    // No list, but still apart where the sides are.
    codes_.back().place = CodeMark(absl::StrCat(codes_.back().place, "\n", key.substr(key.find(':'))));
  }
}

int ScriptMachine::OpenLoop(ValueId over, NodeId node) {
  if (loops_.size() >= kLoopsMax) steps_ = 0;
  MachineLoop loop;
  loop.over = values.SymbolOf(over);
  if (over != kNoValue) loop.made_of = values.AllFacts(over);
  loop.module = frame().module;
  loop.line = node == kNoNode ? 0 : tree()[node].line;
  loop.first_fact = facts_.size();
  loop.first_code = codes_.size();
  loops_.push_back(std::move(loop));
  open_loops_.push_back(static_cast<int>(loops_.size() - 1));
  return open_loops_.back();
}

void ScriptMachine::CloseLoop() {
  // A loop in which nothing was found is none to tell of: most comprehensions.
  const bool last = open_loops_.back() == static_cast<int>(loops_.size()) - 1;
  if (last && loops_.back().first_fact == facts_.size()) {
    for (std::size_t i = loops_.back().first_code; i < codes_.size(); ++i)
      std::erase(codes_[i].loops, open_loops_.back());
    loops_.pop_back();
  }
  open_loops_.pop_back();
}

}  // namespace paritect
