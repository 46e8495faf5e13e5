// training.flow.launch: the same entry script by role, arguments equal by meaning. What another check compares counts
// there (every argument with a canonical name); devices, paths and backends may differ. The other arguments of the two
// command lines are compared here; nobody knows what a script makes of them, so a difference is a warning.
// Source: pre-tuning checklist, 训练流程 (启动脚本与参数).
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/scripts/flow.h"
#include "checks/settings/compare.h"

namespace paritect {
namespace {

using absl::StrCat;

struct Argument {
  v1::Value value;
  std::string text;
  std::string origin;
};

struct Launch {
  bool any = false;
  std::string entry;  // as written
  std::string entry_origin;
  std::map<std::string, Argument> arguments;  // without a canonical name, by normalised name
};

Launch LaunchOf(const Rules& rules, const RunView& run) {
  Launch launch;
  for (const v1::Bundle* bundle : run.nodes) {
    for (const v1::Evidence& evidence : bundle->evidence()) {
      if (!evidence.has_settings() || evidence.settings().format() != "launch-script") continue;
      launch.any = true;
      for (const v1::Setting& setting : evidence.settings().settings()) {
        const absl::string_view key = setting.raw_key();
        if (key == "launch.entry" && launch.entry.empty()) {
          launch.entry = setting.raw_value();
          launch.entry_origin = setting.origin();
        }
        if (absl::StartsWith(key, "launch.") || absl::StartsWith(key, "env.") || !setting.has_value()) continue;
        if (!rules.settings.Canonicalise("launch-script", setting).empty()) continue;
        launch.arguments.try_emplace(NormaliseSettingKey(key),
                                     Argument{setting.value(), setting.raw_value(), setting.origin()});
      }
    }
  }
  return launch;
}

absl::string_view Base(absl::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? path : path.substr(slash + 1);
}

void CompareEntry(const CheckContext& context, v1::CheckResult& result, const Launch& a, const Launch& b) {
  if (a.entry.empty() || b.entry.empty() || Base(a.entry) == Base(b.entry)) return;
  if (HasFinding(result, "entry_differs", "launch.entry", a.entry, b.entry)) return;
  v1::Finding& finding =
      AddWarning(context, result, "entry_differs", "launch.entry",
                 {{"baseline", std::string(Base(a.entry))}, {"migrated", std::string(Base(b.entry))}});
  finding.set_baseline(a.entry);
  finding.set_migrated(b.entry);
  finding.add_evidence(a.entry_origin);
  finding.add_evidence(b.entry_origin);
}

void CompareArguments(const CheckContext& context, v1::CheckResult& result, const std::string& run, const Launch& a,
                      const Launch& b) {
  std::vector<std::string> one_sided;
  for (const auto& [name, x] : a.arguments) {
    auto other = b.arguments.find(name);
    if (other == b.arguments.end()) {
      if (!NamesAPlace(name, x.text, "")) one_sided.push_back(StrCat(name, " (", x.origin, ")"));
      continue;
    }
    const Argument& y = other->second;
    const std::string shown_x = StrCat(x.text, " (", x.origin, ")");
    const std::string shown_y = StrCat(y.text, " (", y.origin, ")");
    if (SameMeaning(SettingType::kText, x.value, y.value) || SameMeaning(SettingType::kBoolean, x.value, y.value) ||
        NamesAPlace(name, x.text, y.text) || HasFinding(result, "argument_differs", name, shown_x, shown_y))
      continue;
    v1::Finding& finding = AddWarning(context, result, "argument_differs", name,
                                      {{"name", name}, {"baseline", x.text}, {"migrated", y.text}});
    finding.set_baseline(shown_x);
    finding.set_migrated(shown_y);
  }
  for (const auto& [name, y] : b.arguments) {
    if (!a.arguments.contains(name) && !NamesAPlace(name, y.text, "")) {
      one_sided.push_back(StrCat(name, " (", y.origin, ")"));
    }
  }
  AddNote(context, result, "measured/launch", run,
          {{"entry", std::string(Base(b.entry))}, {"count", StrCat(a.arguments.size() + b.arguments.size())}});
  if (!one_sided.empty()) {
    AddNote(context, result, "argument_on_one_side", run, {{"names", absl::StrJoin(one_sided, ", ")}});
  }
}

// Two revisions of one repository: the port may hold changes that nobody looked at.
void CompareRevisions(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                      const SettingsView& migrated) {
  const EffectiveValue* a = baseline.FindStated("code_revision");
  const EffectiveValue* b = migrated.FindStated("code_revision");
  if (a == nullptr || b == nullptr) return;
  const std::string x = ValueToText(a->value.value);
  const std::string y = ValueToText(b->value.value);
  // An abbreviated revision is the same one.
  if (absl::StartsWith(x, y) || absl::StartsWith(y, x) ||
      HasFinding(result, "revision_differs", "code_revision", ShowValue(a->value), ShowValue(b->value)))
    return;
  v1::Finding& finding =
      AddWarning(context, result, "revision_differs", "code_revision", {{"baseline", x}, {"migrated", y}});
  finding.set_baseline(ShowValue(a->value));
  finding.set_migrated(ShowValue(b->value));
}

// The code of both sides, comments and blanks aside: a port always differs, so that this is a note.
void CompareCode(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                 const SettingsView& migrated) {
  if (!baseline.flow().read() || !migrated.flow().read()) return;
  std::map<std::string, std::string> codes;
  for (const v1::ScriptFile& file : baseline.flow().tree()->files()) {
    if (file.reached()) codes[std::string(Base(file.path()))] = file.code_sha256();
  }
  std::vector<std::string> differ;
  for (const v1::ScriptFile& file : migrated.flow().tree()->files()) {
    const auto other = codes.find(std::string(Base(file.path())));
    if (file.reached() && other != codes.end() && other->second != file.code_sha256()) differ.emplace_back(Base(file.path()));
  }
  if (differ.empty()) return;
  const std::size_t count = differ.size();
  if (differ.size() > 8) differ.resize(8);
  v1::Finding& note = AddNote(context, result, "code_differs/scripts", migrated.run_name(), {{"count", StrCat(count)}, {"files", absl::StrJoin(differ, ", ")}});
  SetFact(note, "files", static_cast<std::uint64_t>(count));
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  std::map<std::string, Launch> launches[2];
  for (const RunView& run : context.evidence.Runs(Side::kBaseline))
    launches[0][run.name] = LaunchOf(context.rules, run);
  for (const RunView& run : context.evidence.Runs(Side::kMigrated))
    launches[1][run.name] = LaunchOf(context.rules, run);
  ComparePairs(context, result, [&](const SettingsView& baseline, const SettingsView& migrated) {
    const Launch& a = launches[0][baseline.run_name()];
    const Launch& b = launches[1][migrated.run_name()];
    const Launch* both[] = {&a, &b};
    const SettingsView* views[] = {&baseline, &migrated};
    for (int i = 0; i < 2; ++i) {
      if (!both[i]->any || both[i]->entry.empty())
        AddMissing(context, result, "launch_unknown", views[i]->run_name(), {{"run", views[i]->run_name()}});
    }
    CompareRevisions(context, result, baseline, migrated);
    CompareCode(context, result, baseline, migrated);
    if (!a.any || !b.any) return;
    CompareEntry(context, result, a, b);
    CompareArguments(context, result, migrated.run_name(), a, b);
  });
}

}  // namespace

extern const Check kFlowLaunch;
const Check kFlowLaunch = {"training.flow.launch", {}, &Evaluate};

}  // namespace paritect
