#include "checks/settings/diff.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/glob.h"

namespace paritect {
namespace {

using Relation = SettingRow::Relation;

// Group of a canonical key -> the item that judges it.
std::string AreaOf(const SettingKey& key) {
  static const std::map<std::string, std::string, std::less<>> kAreas = {{"precision", "migrated.mixed-precision"},
                                                                         {"loss-scale", "migrated.loss-scale"},
                                                                         {"data", "data.preprocessing"},
                                                                         {"layers", "network.definition"},
                                                                         {"parallel", "training.flow"},
                                                                         {"cluster", "training.flow"},
                                                                         {"code", "training.flow"},
                                                                         {"platform", "cluster.consistency"},
                                                                         {"versions", "cluster.consistency"}};
  if (!key.pipeline.empty()) return "data.preprocessing";
  auto it = kAreas.find(key.group);
  return it == kAreas.end() ? "model.hyperparameters" : it->second;
}

// One side's value of a key that has no type: text and where it was read.
struct Said {
  std::string text;
  std::string origin;
  bool withheld = false;
};
using SaidByKey = std::map<std::string, Said>;

// Values of several nodes as one: the value where they agree, else each with its node.
Said OfNodes(const std::vector<VariableOnNode>& list) {
  Said said;
  std::vector<std::string> each;
  bool agree = true;
  for (const VariableOnNode& one : list) {
    said.withheld = said.withheld || one.withheld;
    agree = agree && one.text == list[0].text;
    each.push_back(absl::StrCat(one.node, ": ", one.text));
  }
  said.text = agree ? list[0].text : absl::StrJoin(each, ", ");
  said.origin = list[0].origin;
  return said;
}

SaidByKey VariablesOf(const SettingsView& view) {
  SaidByKey said;
  for (const auto& [name, list] : view.variables()) {
    if (!list.empty()) said[name] = OfNodes(list);
  }
  return said;
}

// Packages, versions and devices: of several nodes the first that has it.
SaidByKey InstalledOf(const RunView& run) {
  SaidByKey said;
  for (const v1::Bundle* bundle : run.nodes) {
    for (const v1::Evidence& evidence : bundle->evidence()) {
      if (!evidence.has_settings()) continue;
      const std::string& kind = evidence.settings().kind();
      if (kind != "packages" && kind != "versions" && kind != "devices" && kind != "host") continue;
      for (const v1::Setting& setting : evidence.settings().settings()) {
        if (absl::StartsWith(setting.raw_key(), "env.")) continue;
        said.try_emplace(setting.raw_key(), Said{setting.raw_value(), setting.origin(), !setting.has_value()});
      }
    }
  }
  return said;
}

bool SameText(const std::string& a, const std::string& b) {
  v1::Value x;
  v1::Value y;
  x.set_text(a);
  y.set_text(b);
  return SameMeaning(SettingType::kText, x, y) || SameMeaning(SettingType::kBoolean, x, y) ||
         SameMeaning(SettingType::kVersion, TypedValue(SettingType::kVersion, x), TypedValue(SettingType::kVersion, y));
}

class Differ {
 public:
  Differ(const CheckContext& context, const SettingsView& baseline, const SettingsView& migrated)
      : context_(context), baseline_(baseline), migrated_(migrated) {}

  void Canonical() {
    for (const auto& [name, key] : context_.rules.settings.keys()) {
      const EffectiveValue* a = baseline_.Find(name);
      const EffectiveValue* b = migrated_.Find(name);
      // What neither side states is no setting of theirs.
      const bool stated = baseline_.FindStated(name) != nullptr || migrated_.FindStated(name) != nullptr;
      if (!stated) continue;
      SettingRow row = RowOf(AreaOf(key), name, a == nullptr ? nullptr : &a->value, b == nullptr ? nullptr : &b->value);
      if (a != nullptr && b != nullptr)
        row.relation = SameMeaning(key.type, a->value.value, b->value.value) ? Relation::kEqual : Relation::kDiffers;
      const std::string raw = (a != nullptr ? a : b)->value.raw_key;
      Add(std::move(row), IsIgnoredKey(context_.profile, name, raw));
    }
  }

  void Unknown() {
    for (const auto& [name, a] : baseline_.unknown()) {
      auto other = migrated_.unknown().find(name);
      const SourcedValue* b = other == migrated_.unknown().end() ? nullptr : &other->second;
      SettingRow row = RowOf("other", a.raw_key, &a, b);
      if (b != nullptr) {
        const bool same =
            SameMeaning(SettingType::kText, a.value, b->value) || SameMeaning(SettingType::kBoolean, a.value, b->value);
        row.relation = same ? Relation::kEqual : Relation::kDiffers;
      }
      Add(std::move(row), IsIgnoredKey(context_.profile, name, a.raw_key));
    }
    for (const auto& [name, b] : migrated_.unknown()) {
      if (baseline_.unknown().contains(name)) continue;
      Add(RowOf("other", b.raw_key, nullptr, &b), IsIgnoredKey(context_.profile, name, b.raw_key));
    }
  }

  // `defaults`: an unset variable counts as its default.
  void Plain(const SaidByKey& a, const SaidByKey& b, bool variables) {
    std::set<std::string> names;
    for (const auto& [name, said] : a) names.insert(name);
    for (const auto& [name, said] : b) names.insert(name);
    for (const std::string& name : names) OnePlain(name, Find(a, name), Find(b, name), variables);
  }

  SettingsDifference Finish() {
    std::map<std::string, int> order;
    for (const CatalogueItem& item : context_.rules.catalogue.items) {
      order.emplace(item.id, static_cast<int>(order.size()));
    }
    const int last = static_cast<int>(order.size());
    const auto place = [&](const SettingRow& row) {
      auto it = order.find(row.area);
      return it == order.end() ? last : it->second;
    };
    std::stable_sort(out_.rows.begin(), out_.rows.end(), [&](const SettingRow& x, const SettingRow& y) {
      return place(x) != place(y) ? place(x) < place(y) : x.key < y.key;
    });
    return std::move(out_);
  }

 private:
  static const Said* Find(const SaidByKey& said, const std::string& name) {
    auto it = said.find(name);
    return it == said.end() ? nullptr : &it->second;
  }

  // As written; of a value that its name turns round what it means.
  static std::string TextOf(const SourcedValue& value) {
    return value.text.empty() || value.converted ? ValueToText(value.value) : value.text;
  }

  static SettingRow RowOf(std::string area, std::string key, const SourcedValue* a, const SourcedValue* b) {
    SettingRow row;
    row.area = std::move(area);
    row.key = std::move(key);
    row.relation = b == nullptr ? Relation::kOnlyBaseline : Relation::kOnlyMigrated;
    if (a != nullptr) {
      row.baseline = TextOf(*a);
      row.baseline_origin = a->origin;
      row.baseline_default = a->source == SettingSource::kDefault;
    }
    if (b != nullptr) {
      row.migrated = TextOf(*b);
      row.migrated_origin = b->origin;
      row.migrated_default = b->source == SettingSource::kDefault;
    }
    return row;
  }

  void OnePlain(const std::string& name, const Said* a, const Said* b, bool variables) {
    if ((a != nullptr && a->withheld) || (b != nullptr && b->withheld)) {
      ++out_.withheld;
      return;
    }
    SettingRow row;
    row.area = "cluster.consistency";
    row.key = name;
    const std::string fallback = variables ? context_.rules.settings.DefaultOf(name) : "";
    row.relation = b == nullptr ? Relation::kOnlyBaseline : Relation::kOnlyMigrated;
    Side(a, fallback, row.baseline, row.baseline_origin, row.baseline_default);
    Side(b, fallback, row.migrated, row.migrated_origin, row.migrated_default);
    if ((a != nullptr && b != nullptr) || !fallback.empty()) {
      row.relation = SameText(row.baseline, row.migrated) ? Relation::kEqual : Relation::kDiffers;
    }
    const bool by_nature = variables && context_.rules.settings.EffectOf(name) == VariableEffect::kByNature;
    if (by_nature && row.relation != Relation::kEqual) {
      out_.by_nature.push_back(name);
    } else {
      Add(std::move(row), IsIgnoredKey(context_.profile, absl::StrCat("env.", name), name));
    }
  }

  static void Side(const Said* said, const std::string& fallback, std::string& text, std::string& origin,
                   bool& by_default) {
    text = said != nullptr ? said->text : fallback;
    origin = said != nullptr ? said->origin : "";
    by_default = said == nullptr && !fallback.empty();
  }

  void Add(SettingRow row, bool ignored) {
    if (ignored && row.relation != Relation::kEqual) {
      out_.ignored.push_back(row.key);
    } else {
      out_.rows.push_back(std::move(row));
    }
  }

  const CheckContext& context_;
  const SettingsView& baseline_;
  const SettingsView& migrated_;
  SettingsDifference out_;
};

}  // namespace

int SettingsDifference::different() const {
  return static_cast<int>(
      std::count_if(rows.begin(), rows.end(), [](const SettingRow& row) { return row.relation != Relation::kEqual; }));
}

bool IsIgnoredKey(const Profile& profile, absl::string_view canonical, absl::string_view raw) {
  return std::any_of(profile.ignore_keys.begin(), profile.ignore_keys.end(), [&](const std::string& pattern) {
    return GlobMatch(pattern, canonical) || GlobMatch(pattern, raw);
  });
}

SettingsDifference DiffSettings(const CheckContext& context, const RunView& baseline, const RunView& migrated) {
  const SettingsView& a = SettingsView::Of(context, Side::kBaseline, baseline);
  const SettingsView& b = SettingsView::Of(context, Side::kMigrated, migrated);
  Differ differ(context, a, b);
  differ.Canonical();
  differ.Unknown();
  differ.Plain(VariablesOf(a), VariablesOf(b), true);
  differ.Plain(InstalledOf(baseline), InstalledOf(migrated), false);
  return differ.Finish();
}

}  // namespace paritect
