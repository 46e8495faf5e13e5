// diff settings A B: effective values side by side, grouped by the item that judges them; equal ones are counted.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/settings/diff.h"
#include "client/diff/diff_kind.h"
#include "client/diff/diff_side.h"
#include "client/render/table_writer.h"
#include "client/report/json.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "report/language.h"
#include "report/summary.h"
#include "report/terminal.h"
#include "report/view.h"

namespace paritect {
namespace {

using absl::StrCat;
using Relation = SettingRow::Relation;

bool IsSettings(const v1::Evidence& evidence) {
  return evidence.kind() == v1::EVIDENCE_KIND_SETTINGS;
}

// What could not be read, one line a source; InvalidArgument where nothing at all was.
absl::StatusOr<std::vector<std::string>> Unread(const Rules& rules, const RenderOptions& options,
                                                const std::string& path, const std::vector<v1::Bundle>& bundles) {
  std::vector<std::string> unread;
  bool any = false;
  for (const v1::Bundle& bundle : bundles) {
    any = any || !bundle.plan().facts().empty();
    for (const v1::Evidence& evidence : bundle.evidence()) {
      any = any || evidence.has_settings() || evidence.run_log().settings_size() > 0;
      if (!IsSettings(evidence) || evidence.outcome() == v1::OUTCOME_COLLECTED) continue;
      MessageArgs args(evidence.problem().args().begin(), evidence.problem().args().end());
      std::sort(args.begin(), args.end());
      for (auto& [name, value] : args) value = ValueIn(options.languages[0], value);
      unread.push_back(InAll(options.languages, rules.messages.Say(evidence.problem().id(), args)));
    }
  }
  if (any) return unread;
  return absl::InvalidArgumentError(
      StrCat(DisplayBytes(path), ": no settings found", unread.empty() ? "" : ": ", absl::StrJoin(unread, "; ")));
}

absl::string_view RelationWord(Relation relation) {
  switch (relation) {
    case Relation::kEqual: return "equal";
    case Relation::kDiffers: return "differs";
    case Relation::kOnlyBaseline: return "only_a";
    case Relation::kOnlyMigrated: return "only_b";
  }
  return "";
}

struct Counts {
  int equal = 0;
  int different = 0;
};

std::map<std::string, Counts> CountAreas(const SettingsDifference& difference) {
  std::map<std::string, Counts> counts;
  for (const SettingRow& row : difference.rows) {
    ++(row.relation == Relation::kEqual ? counts[row.area].equal : counts[row.area].different);
  }
  return counts;
}

v1::Text TitleOf(const Rules& rules, const std::string& area) {
  const CatalogueItem* item = rules.catalogue.FindItem(area);
  return item != nullptr ? item->title : rules.messages.Say("ui_diff_other");
}

OrderedJson SideJson(const std::string& value, const std::string& origin, bool by_default, bool there) {
  if (!there) return nullptr;
  return {{"value", value}, {"origin", origin}, {"default", by_default}};
}

OrderedJson ToJson(const DiffRequest& request, const SettingsDifference& difference, const Rules& rules,
                   const std::vector<std::string>& unread) {
  OrderedJson json;
  json["schema"] = "paritect.diff/1";
  json["kind"] = "settings";
  json["a"] = DisplayBytes(request.a);
  json["b"] = DisplayBytes(request.b);
  json["equal"] = difference.different() == 0 && unread.empty();
  json["counts"] = {{"different", difference.different()},
                    {"equal", static_cast<int>(difference.rows.size()) - difference.different()},
                    {"ignored", difference.ignored.size()},
                    {"by_nature", difference.by_nature.size()},
                    {"withheld", difference.withheld}};
  json["areas"] = OrderedJson::array();
  const std::map<std::string, Counts> counts = CountAreas(difference);
  for (const SettingRow& row : difference.rows) {
    OrderedJson& areas = json["areas"];
    if (areas.empty() || areas.back()["area"] != row.area) {
      const v1::Text title = TitleOf(rules, row.area);
      areas.push_back({{"area", row.area},
                       {"title", {{"en", title.en()}, {"zh", title.zh()}}},
                       {"equal", counts.at(row.area).equal},
                       {"different", counts.at(row.area).different},
                       {"settings", OrderedJson::array()}});
    }
    if (row.relation == Relation::kEqual && !request.all) continue;
    areas.back()["settings"].push_back({{"key", DisplayBytes(row.key)},
                                        {"relation", RelationWord(row.relation)},
                                        {"a", SideJson(row.baseline, row.baseline_origin, row.baseline_default,
                                                       row.relation != Relation::kOnlyMigrated)},
                                        {"b", SideJson(row.migrated, row.migrated_origin, row.migrated_default,
                                                       row.relation != Relation::kOnlyBaseline)}});
  }
  json["ignored"] = difference.ignored;
  json["unread"] = unread;
  return json;
}

class Table {
 public:
  Table(CommandEnv& env, const DiffRequest& request)
      : rules_(env.rules), request_(request), w_(request.render, env.out) {}

  void Print(const SettingsDifference& difference, const std::vector<std::string>& unread) {
    const std::map<std::string, Counts> counts = CountAreas(difference);
    std::string area;
    for (const SettingRow& row : difference.rows) {
      const bool shown = row.relation != Relation::kEqual || request_.all;
      if (!shown) continue;
      if (row.area != area) {
        area = row.area;
        w_.Heading(StrCat(area, "  ", InAll(request_.render.languages, TitleOf(rules_, area))));
      }
      Row(row);
    }
    if (!area.empty()) w_.Line();
    for (const std::string& one : unread)
      w_.Wrapped(0, StrCat(Say("ui_diff_unread"), LabelColon(request_.render.languages[0])), one, Style::kYellow);
    List("ui_diff_ignored", difference.ignored);
    List("ui_diff_by_nature", difference.by_nature);
    if (difference.withheld > 0)
      w_.Wrapped(0, "", Say("ui_diff_withheld", {{"count", StrCat(difference.withheld)}}), Style::kDim);
    const int equal = static_cast<int>(difference.rows.size()) - difference.different();
    w_.Wrapped(0, "",
               Say(request_.all ? "ui_diff_counts" : "ui_diff_counts_hidden",
                   {{"different", StrCat(difference.different())}, {"equal", StrCat(equal)}}));
  }

 private:
  std::string Say(absl::string_view id, const MessageArgs& args = {}) const {
    return InAll(request_.render.languages, rules_.messages.Say(id, args));
  }

  std::string Value(const std::string& value, const std::string& origin, bool there) const {
    if (!there) return Say("ui_diff_not_there");
    return StrCat(value, origin.empty() ? "" : StrCat("  (", origin, ")"));
  }

  void Row(const SettingRow& row) {
    const bool equal = row.relation == Relation::kEqual;
    w_.Wrapped(2, "", row.key, equal ? Style::kDim : Style::kBold);
    w_.Wrapped(4, equal ? "=" : "a:", Value(row.baseline, row.baseline_origin, row.relation != Relation::kOnlyMigrated),
               equal ? Style::kDim : Style::kRed);
    if (!equal || row.migrated_origin != row.baseline_origin) {
      w_.Wrapped(4,
                 equal ? "=" : "b:", Value(row.migrated, row.migrated_origin, row.relation != Relation::kOnlyBaseline),
                 equal ? Style::kDim : Style::kGreen);
    }
  }

  void List(absl::string_view id, const std::vector<std::string>& keys) {
    if (keys.empty()) return;
    w_.Wrapped(0, "", Say(id, {{"count", StrCat(keys.size())}, {"keys", absl::StrJoin(keys, ", ")}}), Style::kDim);
  }

  const Rules& rules_;
  const DiffRequest& request_;
  TableWriter w_;
};

absl::StatusOr<bool> Run(CommandEnv& env, const DiffRequest& request) {
  const std::string* paths[] = {&request.a, &request.b};
  std::vector<v1::Bundle> sides[2];
  std::vector<std::string> unread;
  for (int i = 0; i < 2; ++i) {
    PARITECT_ASSIGN_OR_RETURN(sides[i], LoadDiffSide(env, *paths[i], BareFiles::kSettings));
    PARITECT_ASSIGN_OR_RETURN(std::vector<std::string> one, Unread(env.rules, request.render, *paths[i], sides[i]));
    unread.insert(unread.end(), one.begin(), one.end());
  }
  const EvidenceSet evidence(std::move(sides[0]), std::move(sides[1]));
  // Every node of the side's first run; a run of another role stands alone.
  const auto run = [&](Side side) {
    const std::vector<RunView> runs = evidence.Runs(side);
    if (!runs.empty()) return runs[0];
    const v1::Bundle& bundle = evidence.bundles(side)[0];
    return RunView{bundle.plan().run(), bundle.plan().role(), {&bundle}};
  };
  const CheckContext context{evidence, request.profile, env.rules};
  const SettingsDifference difference = DiffSettings(context, run(Side::kBaseline), run(Side::kMigrated));
  if (request.json) {
    env.out << DumpJson(ToJson(request, difference, env.rules, unread)) << "\n";
  } else {
    Table(env, request).Print(difference, unread);
  }
  // What was not read was not seen to be equal.
  return difference.different() == 0 && unread.empty();
}

}  // namespace

extern const DiffKind kSettingsDiff;
const DiffKind kSettingsDiff = {"settings", "effective settings, side by side", &Run};

}  // namespace paritect
