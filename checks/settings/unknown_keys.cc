#include "checks/settings/unknown_keys.h"

#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/settings/compare.h"
#include "checks/settings/diff.h"
#include "rules/argument_words.h"

namespace paritect {
namespace {

using absl::StrCat;

// A value that leaves things as they are without the option: None, False, 0, "", [].
bool IsOff(const SourcedValue& value) {
  const std::string text = absl::AsciiStrToLower(ValueToText(value.value));
  static const std::set<absl::string_view> kOff = {"", "none", "null", "false", "0", "0.0", "[]", "{}", "no", "off"};
  return kOff.contains(text);
}

bool Same(const SourcedValue& a, const SourcedValue& b) {
  return SameMeaning(SettingType::kText, a.value, b.value) || SameMeaning(SettingType::kBoolean, a.value, b.value);
}

class Comparison {
 public:
  Comparison(const CheckContext& context, const SettingsView& baseline, const SettingsView& migrated)
      : context_(context), baseline_(baseline), migrated_(migrated) {}

  UnknownKeys Run() {
    std::set<std::string> names;
    for (const SettingsView* view : {&baseline_, &migrated_}) {
      for (const auto& [name, value] : view->unknown()) names.insert(name);
    }
    for (const std::string& name : names) One(name, Find(baseline_, name), Find(migrated_, name));
    return std::move(out_);
  }

 private:
  static const SourcedValue* Find(const SettingsView& view, const std::string& name) {
    auto it = view.unknown().find(name);
    return it == view.unknown().end() ? nullptr : &it->second;
  }

  void One(const std::string& name, const SourcedValue* a, const SourcedValue* b) {
    const SourcedValue& present = a != nullptr ? *a : *b;
    const bool both = a != nullptr && b != nullptr;
    if (!both) ++out_.one_sided;
    if (both && Same(*a, *b)) {
      ++out_.equal;
      return;
    }
    if (!both && IsOff(present)) return;
    if (NamesAPlace(name, a != nullptr ? a->text : "", b != nullptr ? b->text : "") ||
        IsIgnoredKey(context_.profile, name, present.raw_key)) {
      if (both) ++out_.places;
      return;
    }
    const bool same_format =
        both ? a->format == b->format : (a == nullptr ? baseline_ : migrated_).HasFormat(present.format);
    out_.differing.push_back({name, a, b, context_.rules.settings.SubtreeOf(name), same_format});
  }

  const CheckContext& context_;
  const SettingsView& baseline_;
  const SettingsView& migrated_;
  UnknownKeys out_;
};

}  // namespace

UnknownKeys CompareUnknownKeys(const CheckContext& context, const SettingsView& baseline,
                               const SettingsView& migrated) {
  return Comparison(context, baseline, migrated).Run();
}

bool IsArgumentOf(const UnknownDifference& one, absl::string_view owner) {
  return one.subtree != nullptr && one.subtree->owner == owner && one.subtree->sure && one.same_format &&
         one.baseline != nullptr && one.migrated != nullptr;
}

void JudgeUnknownKeys(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                      const SettingsView& migrated, absl::string_view owner, absl::string_view message_id) {
  const UnknownKeys keys = CompareUnknownKeys(context, baseline, migrated);
  std::vector<std::string> not_understood;
  for (const UnknownDifference& one : keys.differing) {
    if (one.subtree == nullptr || one.subtree->owner != owner) continue;
    const SourcedValue* a = one.baseline;
    const SourcedValue* b = one.migrated;
    if (IsArgumentOf(one, owner)) {
      const std::string shown_a = ShowValue(*a);
      const std::string shown_b = ShowValue(*b);
      if (HasFinding(result, message_id.substr(0, message_id.find('/')), one.name, shown_a, shown_b)) continue;
      v1::Finding& finding = AddError(context, result, message_id, one.name,
                                      {{"key", a->raw_key}, {"baseline", a->text}, {"migrated", b->text}});
      finding.set_baseline(shown_a);
      finding.set_migrated(shown_b);
      SetValueFact(finding, "baseline_value", a->value);
      SetValueFact(finding, "migrated_value", b->value);
      continue;
    }
    const bool one_sided = a == nullptr || b == nullptr;
    if (one_sided && !one.same_format && !one.subtree->sure) continue;
    if (!one_sided && owner != "schedule" && SpeaksOfNumbers(one.name)) continue;  // .values names all of these itself
    const auto shown = [](const SourcedValue* value) { return value == nullptr ? "-" : ShowValue(*value); };
    not_understood.push_back(StrCat(one.name, ": ", shown(a), " / ", shown(b)));
  }
  if (not_understood.empty()) return;
  AddMissing(context, result, "keys_not_understood", migrated.run_name(),
             {{"keys", absl::StrJoin(not_understood, "; ")}, {"run", migrated.run_name()}});
}

}  // namespace paritect
