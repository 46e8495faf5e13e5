#include "checks/settings/document_values.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/numbers.h"

namespace paritect {
namespace {

using absl::StrCat;

// The place of the '.' before the first number of a name; npos where there is none.
std::size_t NumberAt(absl::string_view name) {
  for (std::size_t dot = name.find('.'); dot != absl::string_view::npos; dot = name.find('.', dot + 1)) {
    const absl::string_view part = name.substr(dot + 1, name.find('.', dot + 1) - dot - 1);
    if (!part.empty() && part.size() < 6 && part.find_first_not_of("0123456789") == absl::string_view::npos) {
      return dot;
    }
  }
  return absl::string_view::npos;
}

// "RandomFlip(prob=0.5)" of {type: RandomFlip, prob: 0.5}.
std::string StepText(std::map<std::string, std::string> arguments) {
  std::string type;
  for (const char* name : {"type", "_target_", "name", "class_path"}) {
    if (!type.empty() || !arguments.contains(name)) continue;
    type = arguments[name];
    arguments.erase(name);
  }
  return StrCat(type, "(", absl::StrJoin(arguments, ", ", absl::PairFormatter("=")), ")");
}

}  // namespace

StepLists::StepLists(const Rules& rules, const v1::SettingsDocument& document) {
  for (const v1::Setting& setting : document.settings()) {
    const std::size_t dot = NumberAt(setting.raw_key());
    if (dot == std::string::npos) continue;
    const std::string list = setting.raw_key().substr(0, dot);
    if (lists_.contains(list) || others_.contains(list)) continue;
    v1::Setting whole;
    whole.set_raw_key(list);
    whole.mutable_value()->set_text(list);
    const std::vector<CanonicalSetting> canonical = rules.settings.Canonicalise(document.format(), whole);
    if (canonical.size() == 1 && canonical[0].key->steps) {
      lists_[list].origin = setting.origin();
    } else {
      others_.insert(list);
    }
  }
  for (const v1::Setting& setting : document.settings()) lists_.erase(setting.raw_key());
}

bool StepLists::Take(const v1::Setting& setting) {
  const std::size_t dot = NumberAt(setting.raw_key());
  if (dot == std::string::npos) return false;
  const auto list = lists_.find(setting.raw_key().substr(0, dot));
  if (list == lists_.end()) return false;
  absl::string_view rest = absl::string_view(setting.raw_key()).substr(dot + 1);
  const auto number = ParseInt(rest.substr(0, rest.find('.')));
  rest = absl::StrContains(rest, '.') ? rest.substr(rest.find('.') + 1) : "";
  const std::string value = setting.has_value() ? ValueToText(setting.value()) : setting.raw_value();
  list->second.steps[number.value_or(0)][std::string(rest)] = value;
  return true;
}

std::vector<v1::Setting> StepLists::Finish() const {
  std::vector<v1::Setting> out;
  for (const auto& [name, list] : lists_) {
    std::vector<std::string> steps;
    for (const auto& [number, arguments] : list.steps) steps.push_back(StepText(arguments));
    v1::Setting& setting = out.emplace_back();
    setting.set_raw_key(name);
    setting.set_raw_value(StrCat("[", absl::StrJoin(steps, ", "), "]"));
    setting.mutable_value()->set_text(setting.raw_value());
    setting.set_origin(list.origin);
  }
  return out;
}

void DocumentValues::Add(const CanonicalSetting& canonical, SourcedValue value, const v1::Setting& setting) {
  // What makes a batch, a world size or a precision is stated in several ways on purpose: those must agree.
  const std::string& group = canonical.key->group;
  const bool one_name = group == "optimizer" || group == "schedule" || group == "seed" || group == "model" ||
                        group == "data" || group == "length";
  const bool nested = absl::StrContains(value.raw_key, '.');  // two plain names of one key contradict each other
  values_[{canonical.key->key, value.scope}].push_back(
      {canonical.key, one_name && nested ? canonical.order : 0, canonical.sections, std::move(value), &setting});
}

void DocumentValues::Settle(absl::FunctionRef<void(const std::string& key, SourcedValue)> add,
                            absl::FunctionRef<void(const v1::Setting&)> add_unknown) {
  for (auto& [name, list] : values_) {
    const auto rank = [](const One& one) { return std::make_pair(one.sections, one.order); };
    const One* best = nullptr;
    for (const One& one : list) {
      // None under the better name says nothing against a value under another.
      const bool null = one.value.value.kind_case() == v1::Value::kNull;
      if (!null && (best == nullptr || rank(one) < rank(*best))) best = &one;
    }
    const auto same = [&](const One& one) {
      return best == nullptr || one.value.value.kind_case() == v1::Value::kNull ||
             SameMeaning(one.key->type, best->value.value, one.value.value);
    };
    // A plain name that stands twice is for the settings of all sources to settle.
    const bool agree =
        best == nullptr || best->sections == 0 ||
        std::all_of(list.begin(), list.end(), [&](const One& one) { return rank(one) != rank(*best) || same(one); });
    const auto best_rank = best == nullptr ? std::make_pair(0, 0) : rank(*best);
    for (One& one : list) {
      if (same(one) ? agree : agree && rank(one) == best_rank) {
        add(name.first, one.value);  // in the order of the document: of equals the first counts
      } else {
        add_unknown(*one.setting);
      }
    }
  }
}

}  // namespace paritect
