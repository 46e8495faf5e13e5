#include "checks/settings/view.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "checks/scripts/one_process.h"
#include "checks/scripts/script_settings.h"
#include "checks/settings/document_values.h"
#include "checks/settings/platform.h"
#include "common/glob.h"
#include "common/numbers.h"
#include "common/recorded_formats.h"
#include "rules/log_formats.h"

namespace paritect {
namespace {

using absl::StrCat;

// Overrides of Hydra are a command line in a file (.hydra/overrides.yaml).
SettingSource SourceOf(const v1::SettingsDocument& document, bool from_log) {
  if (document.format() == kObservedFormat) return SettingSource::kLog;  // the surest of what a run tells of itself
  if (document.format() == kScriptSettings || document.kind() == kScriptOptions) return SettingSource::kScript;
  const SettingsFormatFacts& facts = FactsOfSettingsFormat(document.format());
  if (from_log || document.kind() == "printed" || facts.printed) return SettingSource::kLog;
  if (facts.launches || document.kind() == "overrides") return SettingSource::kLaunch;
  return SettingSource::kFile;
}

bool IsDeepSpeed(const SourcedValue& value) {
  return FactsOfSettingsFormat(value.format).deepspeed;
}

// What was observed in the process counts before what it printed.
bool IsObserved(const SourcedValue& value) {
  return value.format == kObservedFormat;
}

// Whether nothing tells which of the two counts. A trainer hands its engine a file of its own: where they disagree,
// some launchers stop and others go on with either.
bool Contradict(const SourcedValue& a, const SourcedValue& b) {
  if (a.source == SettingSource::kScript || b.source == SettingSource::kScript) return false;
  if (IsObserved(a) != IsObserved(b)) {
    return a.source == SettingSource::kFact || b.source == SettingSource::kFact;
  }
  return a.source == b.source || a.source == SettingSource::kFact || b.source == SettingSource::kFact ||
         IsDeepSpeed(a) != IsDeepSpeed(b);
}

bool IsNull(const v1::Value& value) {
  return value.kind_case() == v1::Value::kNull || value.kind_case() == v1::Value::KIND_NOT_SET;
}

// Set to what the source does not tell. What was withheld has no text either.
bool IsUntold(const v1::Setting& setting) {
  return !setting.has_value() && !setting.raw_value().empty();
}

// Documents of a run's arguments: not what a node has, and not what a model or an optimizer is made of.
bool HoldsArguments(const v1::SettingsDocument& document) {
  for (const std::string& name : {document.format(), document.kind()}) {
    if (FactsOfSettingsFormat(name).no_arguments) return false;
  }
  for (const v1::Setting& setting : document.settings()) {
    if (absl::StartsWith(setting.raw_key(), "black-list.") || absl::StartsWith(setting.raw_key(), "white-list."))
      return false;
  }
  return true;
}

// Keys whose values differ by nature within a run (one a layer, one a device, one a node).
bool MayDiffer(const SettingKey& key) {
  return key.group == "layers" || key.group == "platform" || key.group == "cluster" || key.group == "versions" ||
         key.group == "code";
}

// Whether a setting is an argument that may be compared by its own name: nothing withheld, no variable, no launcher's.
bool IsArgument(const v1::SettingsDocument& document, const v1::Setting& setting) {
  return setting.has_value() && HoldsArguments(document) && !absl::StartsWith(setting.raw_key(), "env.") &&
         !absl::StartsWith(setting.raw_key(), "launch.");
}

SourcedValue ArgumentOf(const v1::Bundle& bundle, const v1::SettingsDocument& document, const v1::Setting& setting,
                        bool from_log) {
  SourcedValue value;
  value.value = setting.value();
  value.text = setting.raw_value();
  value.raw_key = setting.raw_key();
  value.origin = setting.origin();
  value.format = document.format();
  value.node = bundle.plan().node();
  value.scope = setting.scope();
  value.source = SourceOf(document, from_log);
  return value;
}

// Of a node's ranks the first one's settings stand for all: seeds and the like differ between ranks by right.
bool IsOtherRank(const v1::Bundle& bundle, const v1::Evidence& evidence) {
  if (evidence.settings().format() != kObservedFormat || !evidence.has_rank()) return false;
  return std::any_of(bundle.evidence().begin(), bundle.evidence().end(), [&](const v1::Evidence& other) {
    return other.settings().format() == kObservedFormat && other.has_rank() && other.rank() < evidence.rank();
  });
}

}  // namespace

const SettingsView& SettingsView::Of(const CheckContext& context, Side side, const RunView& run) {
  // A run is known by its bundles, each of which stands on one side.
  const Views::Key key(run.nodes.begin(), run.nodes.end());
  return context.views->Get<SettingsView>(key, [&] { return Make(context, side, run); });
}

SettingsView SettingsView::Make(const CheckContext& context, Side side, const RunView& run) {
  SettingsView view;
  view.side_ = side;
  view.run_name_ = run.name;
  const Platform platform = PlatformOf(context.rules, run);
  if (platform.family != nullptr) view.product_ = platform.family->id;
  for (const v1::Bundle* bundle : run.nodes) view.AddBundle(context, *bundle);
  view.AddScripts(context, run);
  view.Establish(context.rules);
  view.Settle(context.rules);
  if (auto version = view.Text(StrCat(view.framework_ == "pytorch" ? "torch" : view.framework_, "_version"))) {
    view.framework_version_ = *version;
  }
  view.AddDefaults(context.rules);
  view.ApplySwitches(context.rules);
  return view;
}

void SettingsView::AddScripts(const CheckContext& context, const RunView& run) {
  const ScriptFlow& flow = ScriptFlow::Of(context, run);
  flow_ = &flow;
  if (!flow.read()) return;
  if (framework_.empty()) framework_ = flow.framework();
  v1::SettingsDocument document = SettingsOfScripts(flow);
  // Only where nothing else tells how many processes there were: a proof says nothing against what was stated or seen.
  static constexpr absl::string_view kSizes[] = {"world_size",           "nodes",
                                                 "devices_per_node",     "data_parallel_size",
                                                 "tensor_parallel_size", "pipeline_parallel_size"};
  const bool told = std::any_of(std::begin(kSizes), std::end(kSizes), [&](absl::string_view key) {
    return values_.contains(std::string(key)) || untold_.contains(std::string(key));
  });
  if (const auto proven = told ? std::nullopt : ProvenOneProcess(run)) *document.add_settings() = *proven;
  if (document.settings_size() > 0) AddDocument(context.rules, *run.nodes[0], document, false);
}

void SettingsView::AddBundle(const CheckContext& context, const v1::Bundle& bundle) {
  if (bundle.plan().framework() != "auto" && !bundle.plan().framework().empty()) framework_ = bundle.plan().framework();
  for (const v1::Evidence& evidence : bundle.evidence()) {
    if (evidence.outcome() != v1::OUTCOME_COLLECTED) {
      if (evidence.kind() == v1::EVIDENCE_KIND_SCRIPTS) unread_scripts_.push_back(evidence.source());
      continue;
    }
    if (evidence.has_settings() && !IsOtherRank(bundle, evidence)) {
      AddDocument(context.rules, bundle, evidence.settings(), false);
    }
    if (!evidence.has_run_log()) continue;
    written_.insert(evidence.run_log().format());
    for (const v1::SettingsDocument& document : evidence.run_log().settings()) {
      AddDocument(context.rules, bundle, document, true);
    }
    AddStepLines(bundle, evidence);
  }
  AddFacts(context.rules, bundle);
}

// What a format's lines state of the run beside their step (rules/data/log_formats.yaml). A batch that changes (a
// ramp-up) is no one value.
void SettingsView::AddStepLines(const v1::Bundle& bundle, const v1::Evidence& evidence) {
  const v1::RunLog& log = evidence.run_log();
  const LogFormatFacts& facts = FactsOfLogFormat(log.format());
  if (!facts.lines_state_batch && !facts.lines_state_length) return;
  SourcedValue value;
  value.format = log.format();
  value.node = bundle.plan().node();
  value.source = SettingSource::kLog;
  const auto add = [&](const std::string& key, absl::string_view printed, double number, std::int64_t line) {
    value.value.set_integer(static_cast<std::int64_t>(number));
    value.text = StrCat(value.value.integer());
    value.raw_key = std::string(printed);
    value.origin = line > 0 ? StrCat(evidence.source(), ":", line) : std::string(evidence.source());
    Add(key, value);
  };
  std::optional<double> batch;
  std::int64_t line = 0;
  bool changes = false;
  for (const v1::StepRecord& record : log.records()) {
    const auto found = record.metrics().find("global batch size");
    if (found == record.metrics().end() || !(found->second > 0) || found->second > 1e15) continue;
    if (!batch.has_value()) line = record.line();
    changes = changes || (batch.has_value() && *batch != found->second);
    batch = found->second;
  }
  if (facts.lines_state_batch && batch.has_value() && !changes) {
    add("global_batch_size", "global batch size", *batch, line);
  }
  if (facts.lines_state_length && log.end().total_steps() > 0) {
    add("train_steps", facts.lines_state_batch ? "iteration" : "step", static_cast<double>(log.end().total_steps()),
        log.end().line());
  }
}

void SettingsView::AddDocument(const Rules& rules, const v1::Bundle& bundle, const v1::SettingsDocument& document,
                               bool from_log) {
  // What scripts say makes no settings of a run that has none.
  if (document.format() != kScriptSettings) {
    formats_.push_back(document.format());
    written_.insert(document.format());
  }
  if (from_log) written_.insert(StrCat(document.format(), " in a log"));
  const std::string& stated = bundle.plan().framework();
  if (!stated.empty() && stated != "auto") written_.insert(StrCat(document.format(), " under ", stated));
  const bool environment = document.format() == "environment" || document.kind() == "environment";
  StepLists steps(rules, document);
  DocumentValues values;
  for (const v1::Setting& setting : document.settings()) {
    absl::string_view variable = setting.raw_key();
    if (environment || absl::ConsumePrefix(&variable, "env.")) {
      variables_[std::string(variable)].push_back({bundle.plan().node(), setting.origin(),
                                                   !setting.has_value() && setting.raw_value().empty(),
                                                   setting.raw_value(), setting.keyed_hash(), IsUntold(setting)});
    }
    NoteUse(document, setting);
    if (steps.Take(setting)) continue;
    std::vector<CanonicalSetting> canonical = rules.settings.Canonicalise(document.format(), setting);
    if (canonical.empty()) AddUnknown(bundle, document, setting, from_log);
    if (IsUntold(setting)) AddUntold(rules, bundle, document, setting, from_log);
    for (CanonicalSetting& one : canonical) {
      SourcedValue value = ArgumentOf(bundle, document, setting, from_log);
      const bool no_number = IsNoNumber(one);
      value.value = std::move(one.value);
      value.converted = one.converted;
      value.replaceable = setting.is_default() && document.format() == "launch-script";
      if (no_number) {
        unreadable_[one.key->key].push_back(std::move(value));
      } else if (MayDiffer(*one.key)) {
        Add(one.key->key, std::move(value));
      } else {
        values.Add(one, std::move(value), setting);
      }
    }
  }
  for (v1::Setting& list : steps.Finish()) {
    for (CanonicalSetting& one : rules.settings.Canonicalise(document.format(), list)) {
      SourcedValue value = ArgumentOf(bundle, document, list, from_log);
      value.value = std::move(one.value);
      Add(one.key->key, std::move(value));
    }
  }
  values.Settle([&](const std::string& key, SourcedValue value) { Add(key, std::move(value)); },
                [&](const v1::Setting& setting) { AddUnknown(bundle, document, setting, from_log); });
}

void SettingsView::NoteUse(const v1::SettingsDocument& document, const v1::Setting& setting) {
  absl::string_view key = setting.raw_key();
  if (absl::ConsumePrefix(&key, "package.")) {
    packages_.insert(std::string(key));
  } else if (key == "launch.command" || key == "launch.entry" || key == "launch.m" || key == "launch.module") {
    commands_.insert(setting.raw_value());
  } else if (key == "framework" && framework_.empty()) {
    framework_ = absl::AsciiStrToLower(setting.raw_value());
  } else if (HoldsArguments(document) && !setting.raw_value().empty() &&
             setting.value().kind_case() != v1::Value::kNull && absl::AsciiStrToLower(setting.raw_value()) != "false") {
    arguments_.insert(NormaliseSettingKey(key));
  }
}

// What the run itself wrote counts before what launched it, and that before what is installed; where several frameworks
// are found on one of these levels, none is.
void SettingsView::Establish(const Rules& rules) {
  std::set<std::string> found[3];
  for (const LibraryEvidence& library : rules.settings.libraries()) {
    const auto any = [&](const std::vector<std::string>& names, const std::set<std::string>& seen) {
      return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return seen.contains(name); });
    };
    const bool printed = std::any_of(library.formats.begin(), library.formats.end(), [&](const std::string& format) {
      return written_.contains(StrCat(format, " in a log"));
    });
    const bool launched = any(library.arguments, arguments_) ||
                          std::any_of(commands_.begin(), commands_.end(), [&](const std::string& c) {
                            return std::any_of(library.commands.begin(), library.commands.end(),
                                               [&](const std::string& pattern) { return GlobMatch(pattern, c); });
                          });
    const bool by_level[] = {printed || any(library.written, written_), launched, any(library.packages, packages_)};
    for (int level = 0; level < 3; ++level) {
      if (!by_level[level]) continue;
      if (!library.framework.empty()) found[level].insert(library.framework);
      libraries_.insert(library.name);
      library_formats_.insert(library.formats.begin(), library.formats.end());
    }
  }
  for (const std::set<std::string>& frameworks : found) {
    if (framework_.empty() && frameworks.size() == 1) framework_ = *frameworks.begin();
    if (!frameworks.empty()) break;
  }
}

void SettingsView::AddUnknown(const v1::Bundle& bundle, const v1::SettingsDocument& document,
                              const v1::Setting& setting, bool from_log) {
  if (!IsArgument(document, setting)) return;
  SourcedValue value = ArgumentOf(bundle, document, setting, from_log);
  auto [it, added] = unknown_.try_emplace(NormaliseSettingKey(setting.raw_key()), value);
  if (!added && value.source > it->second.source) it->second = std::move(value);
}

std::map<std::string, std::vector<SourcedValue>> DisagreeingUnknown(const CheckContext& context,
                                                                    const SettingsView& view) {
  std::map<std::string, std::vector<SourcedValue>> result;
  const auto look_at = [&](const v1::Bundle& bundle, const v1::SettingsDocument& document, bool from_log) {
    for (const v1::Setting& setting : document.settings()) {
      if (!IsArgument(document, setting)) continue;
      const std::string name = NormaliseSettingKey(setting.raw_key());
      const auto used = view.unknown().find(name);
      if (used == view.unknown().end()) continue;
      SourcedValue value = ArgumentOf(bundle, document, setting, from_log);
      if (value.scope != used->second.scope || value.source == used->second.source) continue;
      if (value.node != used->second.node) continue;  // nodes are compared with each other elsewhere
      if (SameMeaning(SettingType::kText, value.value, used->second.value) ||
          SameMeaning(SettingType::kBoolean, value.value, used->second.value)) {
        continue;
      }
      result[name].push_back(std::move(value));
    }
  };
  for (const v1::Bundle& bundle : context.evidence.bundles(view.side())) {
    if (bundle.plan().run() != view.run_name()) continue;
    for (const v1::Evidence& evidence : bundle.evidence()) {
      if (evidence.outcome() != v1::OUTCOME_COLLECTED) continue;
      if (evidence.has_settings()) look_at(bundle, evidence.settings(), false);
      for (const v1::SettingsDocument& document : evidence.run_log().settings()) look_at(bundle, document, true);
    }
  }
  return result;
}

void SettingsView::AddUntold(const Rules& rules, const v1::Bundle& bundle, const v1::SettingsDocument& document,
                             const v1::Setting& setting, bool from_log) {
  v1::Setting stated = setting;  // a value of any kind, for the keys that the name states
  stated.mutable_value()->set_text(setting.raw_value());
  for (const CanonicalSetting& one : rules.settings.Canonicalise(document.format(), stated)) {
    SourcedValue value;
    value.text = setting.raw_value();
    value.raw_key = setting.raw_key();
    value.origin = setting.origin();
    value.format = document.format();
    value.node = bundle.plan().node();
    value.scope = setting.scope();
    value.source = SourceOf(document, from_log);
    auto [it, added] = untold_.try_emplace(one.key->key, value);
    if (!added && value.source > it->second.source) it->second = std::move(value);
  }
}

void SettingsView::AddFacts(const Rules& rules, const v1::Bundle& bundle) {
  std::set<std::string> names;
  for (const auto& [name, fact] : bundle.plan().facts()) names.insert(name);
  has_facts_ = has_facts_ || bundle.plan().has_world_size();
  for (const std::string& name : names) {
    v1::Setting setting;
    setting.set_raw_key(name);
    *setting.mutable_value() = bundle.plan().facts().at(name);
    for (CanonicalSetting& one : rules.settings.Canonicalise("fact", setting)) {
      has_facts_ = true;  // a fact that is no setting (a reference accuracy) makes none
      SourcedValue value;
      const bool no_number = IsNoNumber(one);
      value.text = ValueToText(one.value);
      value.value = std::move(one.value);
      value.raw_key = name;
      auto origin = bundle.plan().fact_origins().find(name);
      value.origin =
          StrCat("fact in ", origin == bundle.plan().fact_origins().end() ? bundle.plan().plan_file() : origin->second);
      value.format = "fact";
      value.node = bundle.plan().node();
      value.source = SettingSource::kFact;
      if (no_number) {
        unreadable_[one.key->key].push_back(std::move(value));
      } else {
        Add(one.key->key, std::move(value));
      }
    }
  }
  if (bundle.plan().has_world_size()) {
    SourcedValue value;
    value.value.set_integer(bundle.plan().world_size());
    value.text = StrCat(bundle.plan().world_size());
    value.raw_key = "world_size";
    value.origin = StrCat("plan ", bundle.plan().plan_file());
    value.format = "fact";
    value.node = bundle.plan().node();
    value.source = SettingSource::kFact;
    Add("world_size", std::move(value));
  }
}

void SettingsView::Add(const std::string& key, SourcedValue value) {
  values_[key].push_back(std::move(value));
}

void SettingsView::Settle(const Rules& rules) {
  for (auto& [name, values] : values_) {
    const SettingKey* key = rules.settings.FindKey(name);
    if (key == nullptr) continue;
    const SourcedValue* best = nullptr;
    const auto strong = [&](const SourcedValue& one) {
      return std::find(key->stronger.begin(), key->stronger.end(), one.format) != key->stronger.end();
    };
    for (const SourcedValue& value : values) {
      if (IsNull(value.value)) continue;
      const auto rank = [&](const SourcedValue& one) {
        const bool printed = one.source == SettingSource::kLog;
        return std::make_tuple(!one.replaceable, IsObserved(one), printed, strong(one), one.source);
      };
      if (best == nullptr || rank(value) > rank(*best)) best = &value;
    }
    if (best == nullptr) continue;
    EffectiveValue effective{*best, {}, {}};
    for (const SourcedValue& value : values) {
      if (MayDiffer(*key) || IsNull(value.value) || value.scope != best->scope || value.replaceable) continue;
      if (strong(*best) && !strong(value)) continue;  // replaced by the library, and no contradiction
      if (SameMeaning(key->type, value.value, best->value)) continue;
      (Contradict(*best, value) ? effective.disagreeing : effective.overridden).push_back(value);
    }
    std::stable_sort(effective.overridden.begin(), effective.overridden.end(),
                     [](const SourcedValue& a, const SourcedValue& b) { return a.source > b.source; });
    effective_[name] = std::move(effective);
  }
  // A file is not believed of what a command line sets to something else that is not told.
  for (auto it = untold_.begin(); it != untold_.end();) {
    const auto stated = effective_.find(it->first);
    const bool over_file = it->second.source == SettingSource::kLaunch && stated != effective_.end() &&
                           stated->second.value.source == SettingSource::kFile;
    if (over_file) effective_.erase(stated);
    it = !over_file && stated != effective_.end() ? untold_.erase(it) : std::next(it);
  }
}

void SettingsView::AddDefaults(const Rules& rules) {
  std::vector<std::string> libraries;
  for (const std::string& format : formats_) {
    if (library_formats_.contains(format)) libraries.push_back(format);
  }
  libraries.push_back("");
  for (const DefaultValue& candidate : rules.defaults.all()) {
    if (effective_.contains(candidate.key) || untold_.contains(candidate.key)) continue;
    const SettingKey* key = rules.settings.FindKey(candidate.key);
    if (key == nullptr || key->group == "layers" || doubted_.contains(candidate.key)) continue;
    for (const std::string& library : libraries) {
      const DefaultValue* found = rules.defaults.Find(candidate.key, product_, framework_, library, framework_version_);
      if (found == nullptr) continue;
      if (Doubtful(rules, *key)) break;
      EffectiveValue effective;
      v1::Value raw;
      raw.set_text(found->text);
      effective.value.value = TypedValue(key->type, raw, key->words);
      effective.value.text = found->text;
      effective.value.raw_key = candidate.key;
      std::string whose = found->library.empty() ? framework_ : found->library;
      if (!found->versions.empty()) absl::StrAppend(&whose, whose.empty() ? "" : " ", framework_version_);
      if (!found->product.empty()) absl::StrAppend(&whose, whose.empty() ? "" : " on ", found->product);
      effective.value.origin = StrCat("default of ", whose, " (", found->source, ")");
      effective.value.source = SettingSource::kDefault;
      effective_[candidate.key] = std::move(effective);
      break;
    }
  }
}

bool SettingsView::Doubtful(const Rules& rules, const SettingKey& key) {
  for (const auto& [name, value] : unknown_) {
    if (IsNull(value.value) || rules.settings.IsExcepted(name) || !rules.settings.MayBe(name, key)) continue;
    doubted_[key.key] = value;
    return true;
  }
  return false;
}

void SettingsView::ApplySwitches(const Rules& rules) {
  for (const auto& [name, key] : rules.settings.keys()) {
    if (key.switched_by.empty() || Boolean(key.switched_by) != false) continue;
    const EffectiveValue& off_by = *Find(key.switched_by);
    // By a default alone nothing is said where the value itself is not stated either.
    if (off_by.value.source == SettingSource::kDefault && FindStated(name) == nullptr) continue;
    EffectiveValue effective = off_by;
    v1::Value off;
    off.set_text(key.off);
    effective.value.value = TypedValue(key.type, off, key.words);
    if (effective.value.source == SettingSource::kDefault) effective.value.source = SettingSource::kFile;
    effective_[name] = std::move(effective);
  }
}

const EffectiveValue* SettingsView::Find(absl::string_view key) const {
  auto it = effective_.find(std::string(key));
  return it == effective_.end() ? nullptr : &it->second;
}

const EffectiveValue* SettingsView::FindStated(absl::string_view key) const {
  const EffectiveValue* found = Find(key);
  return found != nullptr && found->value.source != SettingSource::kDefault ? found : nullptr;
}

const SourcedValue* SettingsView::Untold(absl::string_view key) const {
  auto it = untold_.find(std::string(key));
  return it == untold_.end() ? nullptr : &it->second;
}

std::optional<double> SettingsView::Number(absl::string_view key) const {
  const EffectiveValue* found = Find(key);
  if (found == nullptr) return std::nullopt;
  const v1::Value& value = found->value.value;
  if (value.kind_case() == v1::Value::kInteger) return static_cast<double>(value.integer());
  if (value.kind_case() == v1::Value::kNumber) return value.number();
  return std::nullopt;
}

std::optional<bool> SettingsView::Boolean(absl::string_view key) const {
  const EffectiveValue* found = Find(key);
  if (found == nullptr || found->value.value.kind_case() != v1::Value::kBoolean) return std::nullopt;
  return found->value.value.boolean();
}

std::optional<std::string> SettingsView::Text(absl::string_view key) const {
  const EffectiveValue* found = Find(key);
  if (found == nullptr || found->value.value.kind_case() != v1::Value::kText) return std::nullopt;
  return found->value.value.text();
}

const SourcedValue* SettingsView::FindNone(absl::string_view key) const {
  auto it = values_.find(std::string(key));
  if (it == values_.end() || FindStated(key) != nullptr || Untold(key) != nullptr) return nullptr;
  return it->second.empty() ? nullptr : &it->second.front();
}

std::vector<const SourcedValue*> SettingsView::All(absl::string_view key) const {
  std::vector<const SourcedValue*> all;
  auto it = values_.find(std::string(key));
  if (it == values_.end()) return all;
  for (const SourcedValue& value : it->second) {
    if (!IsNull(value.value)) all.push_back(&value);
  }
  return all;
}

std::vector<std::string> SettingsView::StatedKeys() const {
  std::vector<std::string> keys;
  for (const auto& [key, effective] : effective_) {
    if (effective.value.source != SettingSource::kDefault) keys.push_back(key);
  }
  return keys;
}

std::optional<std::string> SettingsView::Variable(absl::string_view name) const {
  auto it = variables_.find(std::string(name));
  if (it == variables_.end() || it->second.empty()) return std::nullopt;
  for (const VariableOnNode& one : it->second) {
    if (one.withheld || one.text != it->second[0].text) return std::nullopt;
  }
  return it->second[0].text;
}

bool SettingsView::HasFormat(absl::string_view format) const {
  return std::find(formats_.begin(), formats_.end(), format) != formats_.end();
}

bool SettingsView::HasFormatThat(bool SettingsFormatFacts::*fact) const {
  return std::any_of(formats_.begin(), formats_.end(),
                     [fact](const std::string& format) { return FactsOfSettingsFormat(format).*fact; });
}

std::vector<std::reference_wrapper<const SettingsView>> ViewsOf(const CheckContext& context, Side side, v1::Role role) {
  std::vector<std::reference_wrapper<const SettingsView>> views;
  for (const RunView& run : context.evidence.Runs(side, role)) views.push_back(SettingsView::Of(context, side, run));
  return views;
}

bool NamesAPlace(absl::string_view name, absl::string_view a, absl::string_view b) {
  static const std::set<absl::string_view> kPlaces = {
      "path",   "paths",   "dir",        "dirs",        "file",    "files",   "folder",  "save", "load",
      "log",    "logs",    "logging",    "wandb",       "node",    "host",    "backend", "addr", "name",
      "device", "devices", "checkpoint", "tensorboard", "master",  "port",    "cuda",    "npu",  "gpu",
      "cache",  "url",     "time",       "timeout",     "version", "hostname"};
  const std::vector<absl::string_view> words = absl::StrSplit(name, absl::ByAnyChar("_."), absl::SkipEmpty());
  for (absl::string_view word : words) {
    if (kPlaces.contains(word) || absl::EndsWith(word, "dir") || absl::EndsWith(word, "path")) return true;
  }
  // Of processes; the rank of a decomposition (lora_rank) is a hyperparameter.
  if (!words.empty() && words.back() == "rank" && (words.size() == 1 || words[0] == "local" || words[0] == "global"))
    return true;
  for (absl::string_view text : {a, b}) {
    if (absl::StrContains(text, '/') || absl::StrContains(text, "cuda") || absl::StrContains(text, "npu") ||
        text == "nccl" || text == "hccl")
      return true;
  }
  return false;
}

std::string ShowValue(const SourcedValue& value) {
  if (value.converted) {
    return StrCat(ValueToText(value.value), " (", value.raw_key, "=", value.text,
                  value.origin.empty() ? "" : StrCat(", ", value.origin), ")");
  }
  return StrCat(value.text.empty() ? ValueToText(value.value) : value.text,
                value.origin.empty() ? "" : StrCat(" (", value.origin, ")"));
}

}  // namespace paritect
