#include "formats/python/values.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "common/numbers.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr std::size_t kFactsMax = 1024;  // of one value
constexpr std::size_t kWalkMax = 4096;   // values looked at for one question
constexpr std::size_t kSymbolBytesMax = 400;
constexpr int kDepthMax = 6;

}  // namespace

void MergeNumbers(std::vector<std::int32_t>& into, const std::vector<std::int32_t>& from) {
  if (from.empty() || into.size() >= kFactsMax) return;
  if (into.empty()) {
    into = from;
    return;
  }
  std::vector<std::int32_t> both;
  both.reserve(into.size() + from.size());
  std::set_union(into.begin(), into.end(), from.begin(), from.end(), std::back_inserter(both));
  into = std::move(both);
}

ValueStore::ValueStore() {
  ScriptValue none;
  none.kind = ValueKind::kNone;
  none_ = Add(std::move(none));
}

ValueId ValueStore::Add(ScriptValue value) {
  if (size_ % kChunk == 0) chunks_.push_back(std::make_unique<ScriptValue[]>(kChunk));
  chunks_.back()[size_ % kChunk] = std::move(value);
  return static_cast<ValueId>(size_++);
}

ValueId ValueStore::Unknown(std::string symbol) {
  ScriptValue value;
  value.symbol = std::move(symbol);
  if (value.symbol.size() > kSymbolBytesMax) {
    value.symbol = absl::StrCat(value.symbol.substr(0, kSymbolBytesMax), "?");
  }
  return Add(std::move(value));
}

ValueId ValueStore::Boolean(bool value) {
  ScriptValue out;
  out.kind = ValueKind::kBoolean;
  out.boolean = value;
  return Add(std::move(out));
}

ValueId ValueStore::Integer(std::int64_t value) {
  ScriptValue out;
  out.kind = ValueKind::kInteger;
  out.integer = value;
  return Add(std::move(out));
}

ValueId ValueStore::Number(double value) {
  ScriptValue out;
  out.kind = ValueKind::kNumber;
  out.number = value;
  return Add(std::move(out));
}

ValueId ValueStore::Text(absl::string_view value) {
  ScriptValue out;
  out.kind = ValueKind::kText;
  out.text = std::string(value);
  return Add(std::move(out));
}

ValueId ValueStore::Api(absl::string_view full_name) {
  ScriptValue out;
  out.kind = ValueKind::kApi;
  out.text = std::string(full_name);
  out.symbol = out.text;
  return Add(std::move(out));
}

template <typename Visit>
void ValueStore::Walk(ValueId id, Visit visit) const {
  std::vector<ValueId> open = {id};
  absl::flat_hash_set<ValueId> seen;
  while (!open.empty() && seen.size() < kWalkMax) {
    const ValueId next = open.back();
    open.pop_back();
    if (next == kNoValue || !seen.insert(next).second) continue;
    const ScriptValue& value = (*this)[next];
    visit(value);
    // What a class or a package holds is not what a value is made of; objects were made of all they were given.
    if (value.closed || value.kind == ValueKind::kObject || value.kind == ValueKind::kClass ||
        value.kind == ValueKind::kModule || value.kind == ValueKind::kFunction)
      continue;
    open.insert(open.end(), value.items.begin(), value.items.end());
    for (const auto& [name, field] : value.fields) open.push_back(field);
    open.push_back(value.self);
  }
}

void ValueStore::Derive(ScriptValue& into, ValueId from, bool order) const {
  if (from == kNoValue) return;
  const ScriptValue& value = (*this)[from];
  into.traits |= value.traits;
  MergeNumbers(into.made_of, value.made_of);
  if (order) MergeNumbers(into.unsorted, value.unsorted);
  if (value.closed || value.kind == ValueKind::kObject ||
      (value.items.empty() && value.fields.empty() && value.self == kNoValue))
    return;
  if (value.kind == ValueKind::kClass || value.kind == ValueKind::kModule || value.kind == ValueKind::kFunction) return;
  into.traits |= AllTraits(from);
  MergeNumbers(into.made_of, AllFacts(from));
  if (order) MergeNumbers(into.unsorted, AllUnsorted(from));
}

std::vector<std::int32_t> ValueStore::Gather(ValueId id, std::vector<std::int32_t> ScriptValue::*numbers) const {
  std::vector<std::int32_t> all;
  Walk(id, [&](const ScriptValue& value) {
    if (all.size() < 8 * kFactsMax) all.insert(all.end(), (value.*numbers).begin(), (value.*numbers).end());
  });
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (all.size() > kFactsMax) all.resize(kFactsMax);
  return all;
}

std::vector<std::int32_t> ValueStore::AllFacts(ValueId id) const {
  return Gather(id, &ScriptValue::made_of);
}

std::vector<std::int32_t> ValueStore::AllUnsorted(ValueId id) const {
  return Gather(id, &ScriptValue::unsorted);
}

std::uint8_t ValueStore::AllTraits(ValueId id) const {
  std::uint8_t traits = 0;
  Walk(id, [&](const ScriptValue& value) { traits |= value.traits; });
  return traits;
}

ValueId ValueStore::Field(ValueId id, absl::string_view name) const {
  for (const auto& [field, value] : (*this)[id].fields) {
    if (field == name) return value;
  }
  return kNoValue;
}

bool ValueStore::ToProto(ValueId id, v1::Value& out) const {
  struct Open {
    ValueId id;
    v1::Value* out;
    int depth;
  };
  std::vector<Open> open = {{id, &out, 0}};
  std::size_t steps = 0;
  while (!open.empty()) {
    const Open one = open.back();
    open.pop_back();
    if (one.depth > kDepthMax || ++steps > kWalkMax) return false;
    const ScriptValue& value = (*this)[one.id];
    switch (value.kind) {
      case ValueKind::kNone: one.out->set_null(true); break;
      case ValueKind::kBoolean: one.out->set_boolean(value.boolean); break;
      case ValueKind::kInteger: one.out->set_integer(value.integer); break;
      case ValueKind::kNumber: one.out->set_number(value.number); break;
      case ValueKind::kText: one.out->set_text(DisplayBytes(value.text)); break;
      case ValueKind::kSequence: {
        v1::Value::List& list = *one.out->mutable_list();
        for (std::size_t i = 0; i < value.items.size(); ++i) list.add_items();
        for (std::size_t i = 0; i < value.items.size(); ++i) {
          open.push_back({value.items[i], list.mutable_items(static_cast<int>(i)), one.depth + 1});
        }
        break;
      }
      default: return false;
    }
  }
  return true;
}

// NOLINTNEXTLINE(misc-no-recursion): lists in lists are not entered
std::string ValueStore::SymbolOf(ValueId id) const {
  if (id == kNoValue) return "?";
  const ScriptValue& value = (*this)[id];
  std::string out;
  switch (value.kind) {
    case ValueKind::kNone: out = "None"; break;
    case ValueKind::kBoolean: out = value.boolean ? "True" : "False"; break;
    case ValueKind::kInteger: out = absl::StrCat(value.integer); break;
    case ValueKind::kNumber: out = FormatDouble(value.number); break;
    case ValueKind::kText: out = absl::StrCat("'", value.text, "'"); break;
    case ValueKind::kSequence:
      if (!value.symbol.empty()) {
        out = value.symbol;
        break;
      }
      out = "[";
      for (ValueId item : value.items) {
        const ScriptValue& one = (*this)[item];
        absl::StrAppend(
            &out, out.size() > 1 ? ", " : "",
            one.kind == ValueKind::kSequence ? (one.symbol.empty() ? "[...]" : one.symbol) : SymbolOf(item));
        if (out.size() > kSymbolBytesMax) break;
      }
      absl::StrAppend(&out, "]");
      break;
    default: out = value.symbol.empty() ? "?" : value.symbol; break;
  }
  if (!value.option.empty() && value.is_constant() && !options_known) out = absl::StrCat("option:", value.option);
  if (out.size() > kSymbolBytesMax) out = absl::StrCat(out.substr(0, kSymbolBytesMax), "?");
  return out;
}

}  // namespace paritect
