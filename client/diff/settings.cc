// diff settings A B: effective values side by side, grouped by the item that judges them; equal ones are counted.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/collect.h"
#include "checks/settings_diff.h"
#include "client/diff/diff_kind.h"
#include "client/offline_audit.h"
#include "client/render/table_writer.h"
#include "client/report_json.h"
#include "client/report_view.h"
#include "client/terminal.h"
#include "common/document.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/bundle.h"

namespace paritect {
namespace {

using absl::StrCat;
using Relation = SettingRow::Relation;

constexpr std::size_t kHeadBytes = 1 << 20;

bool IsFolder(FileSystem& fs, const std::string& path) {
  auto info = fs.Stat(path);
  return info.ok() && info->type == FileInfo::Type::kDirectory;
}

// A plan names what it collects; a configuration file of a framework does not.
bool LooksLikePlan(FileSystem& fs, const std::string& path) {
  if (absl::EndsWith(path, ".pbundle")) return true;
  auto text = ReadWholeFile(fs, path, kHeadBytes);
  if (!text.ok() || LooksLikeBundle(*text)) return true;
  auto root = ParseDocument(*text);
  if (!root.ok() || !root->is_map()) return BaseName(path) == "plan.yaml";
  const DocumentNode* settings = root->Find("settings");
  const DocumentNode* logs = root->Find("logs");
  return BaseName(path) == "plan.yaml" || root->Find("run") != nullptr ||
         (settings != nullptr && settings->is_list()) || (logs != nullptr && logs->is_list());
}

// Settings files without a plan: one file, or those that lie in a folder.
absl::StatusOr<v1::Bundle> CollectFiles(CommandEnv& env, const std::string& path) {
  v1::Plan plan;
  plan.mutable_info()->set_run(DisplayBytes(path));
  plan.mutable_info()->set_node(env.host_name);
  plan.mutable_info()->set_role(v1::ROLE_RUN);
  plan.mutable_info()->set_platform("auto");
  plan.mutable_info()->set_framework("auto");
  plan.mutable_info()->set_plan_file(DisplayBytes(path));
  std::vector<std::string> names;
  if (IsFolder(env.fs, path)) {
    plan.set_base(path);
    PARITECT_RETURN_IF_ERROR(env.fs.List(path, [&](const DirectoryEntry& entry) { names.push_back(entry.name); }));
    std::sort(names.begin(), names.end());
  } else {
    plan.set_base(std::string(DirName(path)));
    names.emplace_back(BaseName(path));
  }
  for (const std::string& name : names) {
    if (!IsFolder(env.fs, JoinPath(plan.base(), name))) plan.add_settings()->set_file(name);
  }
  return CollectPlan({env.fs, env.rules}, plan);
}

absl::StatusOr<v1::Bundle> LoadSide(CommandEnv& env, const std::string& path) {
  if (!env.fs.Stat(path).ok()) {
    return absl::NotFoundError(
        StrCat(DisplayBytes(path), ": not there; give a plan, a folder, an evidence bundle or a settings file"));
  }
  if (IsFolder(env.fs, path)) {
    const bool planned = env.fs.Stat(JoinPath(path, "plan.yaml")).ok();
    return planned ? LoadSidePlan(env, path) : CollectFiles(env, path);
  }
  return LooksLikePlan(env.fs, path) ? LoadSidePlan(env, path) : CollectFiles(env, path);
}

bool IsSettings(const v1::Evidence& evidence) {
  return evidence.kind() == v1::EVIDENCE_KIND_SETTINGS;
}

// What could not be read, one line a source; InvalidArgument where nothing at all was.
absl::StatusOr<std::vector<std::string>> Unread(const Rules& rules, const RenderOptions& options,
                                                const std::string& path, const v1::Bundle& bundle) {
  std::vector<std::string> unread;
  bool any = !bundle.plan().facts().empty();
  for (const v1::Evidence& evidence : bundle.evidence()) {
    any = any || evidence.has_settings() || evidence.run_log().settings_size() > 0;
    if (!IsSettings(evidence) || evidence.outcome() == v1::OUTCOME_COLLECTED) continue;
    MessageArgs args(evidence.problem().args().begin(), evidence.problem().args().end());
    std::sort(args.begin(), args.end());
    unread.push_back(InAll(options.languages, rules.messages.Say(evidence.problem().id(), args)));
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
    for (const std::string& one : unread) w_.Wrapped(0, StrCat(Say("ui_diff_unread"), ":"), one, Style::kYellow);
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
    PARITECT_ASSIGN_OR_RETURN(v1::Bundle bundle, LoadSide(env, *paths[i]));
    PARITECT_ASSIGN_OR_RETURN(std::vector<std::string> one, Unread(env.rules, request.render, *paths[i], bundle));
    unread.insert(unread.end(), one.begin(), one.end());
    sides[i].push_back(std::move(bundle));
  }
  const EvidenceSet evidence(std::move(sides[0]), std::move(sides[1]));
  const auto run = [&](Side side) {
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
