#include "formats/python/orders.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/python/lookups.h"
#include "formats/python/walks.h"

namespace paritect {
namespace {

constexpr std::size_t kSharedItemsMax = 64;

struct KeyOrder {
  bool ties = false;       // of some names the key is the same: they stay as they were
  std::int32_t fact = -1;  // that asks for what copies do not keep
};

// Parts of a path that many names share.
bool TellsPartOfName(absl::string_view symbol) {
  constexpr absl::string_view kFunctions[] = {"os.path.dirname(", "os.path.getsize(", "len("};
  constexpr absl::string_view kAttributes[] = {".parent", ".parent.name", ".suffix", ".parts[0]"};
  return std::any_of(std::begin(kFunctions), std::end(kFunctions),
                     [&](absl::string_view one) { return absl::StartsWith(symbol, one); }) ||
         std::any_of(std::begin(kAttributes), std::end(kAttributes),
                     [&](absl::string_view one) { return absl::EndsWith(symbol, one); }) ||
         (absl::StartsWith(symbol, "os.path.splitext(") && absl::EndsWith(symbol, "[1]"));
}

KeyOrder OrderOfKey(ScriptMachine& m, ValueId list, ValueId key, NodeId node) {
  KeyOrder order;
  if (key == kNoValue || m.values[key].kind == ValueKind::kNone) return order;
  const std::size_t before = m.facts().size();
  const ValueId result = m.Call(key, {{"", ElementOf(m, list), kNoNode, false}}, node);
  order.ties = TellsPartOfName(m.values.SymbolOf(result));
  for (std::int32_t fact : m.values.AllFacts(result)) {
    const bool is_new = static_cast<std::size_t>(fact) >= before;
    if (is_new && m.facts()[static_cast<std::size_t>(fact)].kind == "file_state") order.fact = fact;
  }
  return order;
}

// The folders that a walk will enter: their order is the order of what it gives next.
void SortWalk(ScriptMachine& m, const ScriptValue& folders) {
  if (folders.kind == ValueKind::kUnknown && folders.self != kNoValue) m.values[folders.self].unsorted.clear();
}

bool HoldsNames(ScriptMachine& m, ValueId value) {
  if (absl::StrContains(m.values.SymbolOf(value), "open(")) return true;  // lines of a file
  const std::vector<std::int32_t> facts = m.values.AllFacts(value);
  return std::any_of(facts.begin(), facts.end(), [&](std::int32_t fact) {
    const std::string& kind = m.facts()[static_cast<std::size_t>(fact)].kind;
    return kind == "listing" || kind == "list_files";
  });
}

absl::string_view PackageOf(absl::string_view name) {
  return name.substr(0, name.find('.'));
}

}  // namespace

ValueId Sorted(ScriptMachine& m, ValueId list, ValueId key, NodeId node) {
  const KeyOrder order = OrderOfKey(m, list, key, node);
  const bool plain = m.values[list].kind == ValueKind::kSequence && m.values[list].symbol.empty();
  if (plain && order.fact < 0 && m.values.AllUnsorted(list).empty()) return list;
  ScriptValue sorted;
  sorted.symbol = absl::StrCat("sorted(", m.values.SymbolOf(list).substr(0, 300), ")");
  m.values.Derive(sorted, list, order.ties);
  if (order.fact >= 0) sorted.unsorted = {order.fact};
  if (IsWalk(m, list)) sorted.fact = m.values[list].fact;
  return m.values.Add(std::move(sorted));
}

void SortInPlace(ScriptMachine& m, ValueId self, ValueId key, NodeId node) {
  const KeyOrder order = OrderOfKey(m, self, key, node);
  if (order.ties) return;
  ScriptValue& list = m.values[self];
  if (!list.unsorted.empty() || !list.symbol.empty()) {
    list.items.clear();
    if (list.kind == ValueKind::kSequence) list.kind = ValueKind::kUnknown;
  }
  list.unsorted.clear();
  if (order.fact >= 0) {
    list.unsorted = {order.fact};
  } else {
    SortWalk(m, list);
  }
  list.symbol = absl::StrCat("sorted(", list.symbol.substr(0, 300), ")");
}

ValueId WithoutOrder(ScriptMachine& m, ValueId set, NodeId node) {
  if (!HoldsNames(m, set)) return set;
  MachineFact fact;
  fact.kind = "unordered";
  fact.name = "set";
  fact.made_of = m.values[set].made_of;
  const int added = m.AddFact(std::move(fact), node);
  if (added >= 0) m.values[set].unsorted = {added};
  return set;
}

bool ShuffleIsFree(ScriptMachine& m, absl::string_view name, ValueId receiver) {
  constexpr std::uint8_t kOwn = kFollowsHost | kFollowsRank;
  if (receiver != kNoValue) {
    const ScriptValue& generator = m.values[receiver];
    if (generator.kind != ValueKind::kObject) return false;
    return absl::EndsWith(generator.symbol, "()") || (generator.traits & kOwn) != 0;
  }
  for (auto fact = m.facts().rbegin(); fact != m.facts().rend(); ++fact) {
    if (fact->kind != "seed" || fact->entry != m.entry) continue;
    const absl::string_view package = PackageOf(fact->name);
    const bool of_one = package == "random" || package == "numpy" || package == "torch" || package == "tensorflow";
    if (of_one && package != PackageOf(name)) continue;
    return std::any_of(fact->arguments.begin(), fact->arguments.end(), [&](const FactArgument& one) {
      return one.value != kNoValue && (m.values.AllTraits(one.value) & kOwn) != 0;
    });
  }
  return true;
}

void ShareOrder(ScriptMachine& m, ValueId value) {
  m.values[value].unsorted.clear();
  if (m.values[value].kind != ValueKind::kSequence) return;
  std::vector<ValueId> items = m.values[value].items;
  if (items.size() > kSharedItemsMax) return;
  for (ValueId& item : items) {
    ScriptValue sent = m.values[item];
    sent.unsorted.clear();
    item = m.values.Add(std::move(sent));
  }
  m.values[value].items = std::move(items);
}

void ReplaceItems(ScriptMachine& m, ValueId list, ValueId value) {
  const ScriptValue of = m.values[value];
  const std::vector<std::int32_t> unsorted = m.values.AllUnsorted(value);
  if (m.values[list].kind != ValueKind::kSequence && m.values[list].kind != ValueKind::kUnknown) return;
  m.values.Derive(m.values[list], value);
  ScriptValue& replaced = m.values[list];
  replaced.unsorted = unsorted;
  if (unsorted.empty()) SortWalk(m, replaced);
  if (of.kind == ValueKind::kSequence && replaced.kind == ValueKind::kSequence) replaced.items = of.items;
}

bool IsPosition(const ScriptValue& key) {
  return key.kind == ValueKind::kInteger || (key.traits & kPosition) != 0;
}

void SetByPosition(ScriptValue& map, bool by_position) {
  map.traits = static_cast<std::uint8_t>(by_position ? map.traits | kPosition : map.traits & ~kPosition);
}

void AddUnderKey(ScriptMachine& m, ValueId map, ValueId key, ValueId value) {
  const bool by_position = (m.values[map].traits & kPosition) != 0 || IsPosition(m.values[key]);
  m.values.Derive(m.values[map], value);
  SetByPosition(m.values[map], by_position);
}

}  // namespace paritect
