// data.preprocessing.read-count, .shuffle, .padding, .transform, .parallelism, .host-dependent, as far as settings show
// the input pipeline. Which key belongs to which check is data (`pipeline` in rules/data/settings.yaml). Settings can
// prove a difference and never equality: a script may set what no option names, so that a check here passes only on
// what scripts show beside them. Source: pre-tuning checklist, 数据处理：预处理流程与基准一致, steps 1 to 4.
#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/observed/pipeline.h"
#include "checks/scripts/faults.h"
#include "checks/scripts/pipeline.h"
#include "checks/settings/compare.h"
#include "checks/settings/diff.h"
#include "common/numbers.h"

namespace paritect {
namespace {

using absl::StrCat;

struct Question {
  absl::string_view pipeline;  // of the keys that it compares
  absl::string_view differs;   // message id
  v1::Severity severity;
};
constexpr Question kReadCount = {"read-count", "read_count_differs", v1::SEVERITY_ERROR};
constexpr Question kShuffle = {"shuffle", "shuffle_differs", v1::SEVERITY_ERROR};
constexpr Question kPadding = {"padding", "padding_differs", v1::SEVERITY_ERROR};
constexpr Question kTransform = {"transform", "transform_differs", v1::SEVERITY_ERROR};
constexpr Question kParallelism = {"parallelism", "parallelism_differs", v1::SEVERITY_WARNING};

// With workers that hand over in any order, their number changes the order of the samples.
bool OrderIsFree(const SettingsView& view) {
  return view.Boolean("deterministic_order") == false;
}

// Sources that disagree under one name; two names of a key may speak of two parts of a pipeline.
std::vector<SourcedValue> OfSameName(const EffectiveValue& value) {
  std::vector<SourcedValue> same;
  for (const SourcedValue& other : value.disagreeing) {
    if (other.raw_key == value.value.raw_key) same.push_back(other);
  }
  return same;
}

bool AllAre(SettingType type, const v1::Value& list, const v1::Value& value) {
  if (list.kind_case() != v1::Value::kList || list.list().items_size() == 0) return false;
  return std::all_of(list.list().items().begin(), list.list().items().end(),
                     [&](const v1::Value& item) { return SameMeaning(type, item, value); });
}

// A size of 224 is one of [224, 224].
bool SameValue(SettingType type, const v1::Value& a, const v1::Value& b) {
  return SameMeaning(type, a, b) || AllAre(type, a, b) || AllAre(type, b, a);
}

void AddDifference(const CheckContext& context, v1::CheckResult& result, const Question& question,
                   v1::Severity severity, const SettingKey& key, const SourcedValue& a, const SourcedValue& b) {
  const std::string baseline = ShowValue(a);
  const std::string migrated = ShowValue(b);
  if (HasFinding(result, question.differs, key.key, baseline, migrated)) return;
  v1::Finding& finding =
      AddFinding(context, result, severity, question.differs, key.key,
                 {{"key", key.key}, {"baseline", ValueToText(a.value)}, {"migrated", ValueToText(b.value)}});
  finding.set_baseline(baseline);
  finding.set_migrated(migrated);
  SetValueFact(finding, "baseline_value", a.value);
  SetValueFact(finding, "migrated_value", b.value);
  finding.add_evidence(a.origin);
  finding.add_evidence(b.origin);
}

void Compare(const CheckContext& context, v1::CheckResult& result, const Question& question,
             const SettingsView& baseline, const SettingsView& migrated, bool by_scripts) {
  const bool free_order = OrderIsFree(baseline) || OrderIsFree(migrated);
  std::vector<std::string> compared;
  std::vector<std::string> lacking_a;
  std::vector<std::string> lacking_b;
  for (const auto& [name, key] : context.rules.settings.keys()) {
    if (key.pipeline != question.pipeline) continue;
    const EffectiveValue* a = baseline.Find(name);
    const EffectiveValue* b = migrated.Find(name);
    const EffectiveValue* any = a != nullptr ? a : b;
    if (any == nullptr || IsIgnoredKey(context.profile, name, any->value.raw_key) ||
        (b != nullptr && IsIgnoredKey(context.profile, name, b->value.raw_key)))
      continue;
    if (a != nullptr) AddConflicts(context, result, baseline, name, a->value, OfSameName(*a));
    if (b != nullptr) AddConflicts(context, result, migrated, name, b->value, OfSameName(*b));
    if (a == nullptr || b == nullptr) {
      (a == nullptr ? lacking_a : lacking_b).push_back(StrCat(name, "=", ShowValue(any->value)));
      continue;
    }
    compared.push_back(name);
    if (SameValue(key.type, a->value.value, b->value.value)) continue;
    const bool raised = question.severity == v1::SEVERITY_WARNING && free_order;
    AddDifference(context, result, question, raised ? v1::SEVERITY_ERROR : question.severity, key, a->value, b->value);
  }
  const std::string& run = migrated.run_name();
  if (!compared.empty()) {
    v1::Finding& note = AddNote(context, result, "measured/pipeline", run, {{"keys", absl::StrJoin(compared, ", ")}});
    SetFact(note, "compared", static_cast<std::int64_t>(compared.size()));
  }
  // The code that both sides run was read: what an option or a file gives stands there.
  if (by_scripts) return;
  if (!lacking_a.empty()) AddOneSided(context, result, baseline, absl::StrJoin(lacking_a, ", "));
  if (!lacking_b.empty()) AddOneSided(context, result, migrated, absl::StrJoin(lacking_b, ", "));
  AddMissing(context, result, "pipeline_in_script", run);
}

// Compares what the scripts of both sides build. True where that is all of it: nothing stays open.
bool JudgeScripts(const CheckContext& context, v1::CheckResult& result, const Question& question) {
  const std::vector<RunView> baseline = context.evidence.Runs(Side::kBaseline);
  std::vector<std::string> names;
  for (const RunView& run : baseline) names.push_back(run.name);
  if (names.empty()) return false;
  const ComparedRuns runs = RunsToCompare(context, names);
  bool settled = true;
  for (const RunView& run : context.evidence.Runs(Side::kMigrated)) {
    if (runs.left_out.contains(run.name)) continue;
    const auto reference =
        std::find_if(baseline.begin(), baseline.end(), [&](const RunView& one) { return one.name == runs.reference; });
    const PipelineAnswer answer =
        ComparePipelines(context, result, question.pipeline, question.differs, question.severity, *reference, run);
    settled = settled && (answer == PipelineAnswer::kEqual || answer == PipelineAnswer::kDiffers);
  }
  return settled && !context.evidence.Runs(Side::kMigrated).empty();
}

bool AnySettings(const CheckContext& context, Side side) {
  const auto views = ViewsOf(context, side);
  return std::any_of(views.begin(), views.end(), [](const SettingsView& view) { return !view.empty(); });
}

bool HasErrors(const v1::CheckResult& result) {
  return std::any_of(result.findings().begin(), result.findings().end(),
                     [](const v1::Finding& finding) { return finding.severity() == v1::SEVERITY_ERROR; });
}

// What was observed says more than options and code: where it was seen of every run, it alone is compared. kUnseen: not
// of every run.
ObservedAnswer JudgeObserved(const CheckContext& context, v1::CheckResult& result, const Question& question) {
  const std::vector<ObservedPair> pairs = ObservedPairs(context);
  bool all = !pairs.empty() && pairs.size() == context.evidence.Runs(Side::kMigrated).size();
  bool open = false;
  for (const ObservedPair& pair : pairs) {
    const ObservedAnswer answer = CompareObservedPipelines(context, result, question.pipeline, question.differs,
                                                           question.severity, pair.baseline, pair.migrated);
    all = all && answer != ObservedAnswer::kUnseen;
    open = open || answer == ObservedAnswer::kOpen;
  }
  return !all ? ObservedAnswer::kUnseen : open ? ObservedAnswer::kOpen : ObservedAnswer::kJudged;
}

// A record with gaps that shows no difference, and code that was read whole and builds the same: the code answers what
// the record leaves open.
void AnswerByCode(const CheckContext& context, v1::CheckResult& result, const Question& question, int asked) {
  v1::CheckResult by_code;
  by_code.set_id(result.id());
  if (HasErrors(result) || !JudgeScripts(context, by_code, question) || HasErrors(by_code)) return;
  result.mutable_missing()->DeleteSubrange(asked, result.missing_size() - asked);
  result.mutable_findings()->MergeFrom(by_code.findings());
}

void Judge(const CheckContext& context, v1::CheckResult& result, const Question& question) {
  const int asked = result.missing_size();
  const ObservedAnswer observed = JudgeObserved(context, result, question);
  if (observed == ObservedAnswer::kOpen) AnswerByCode(context, result, question, asked);
  if (observed != ObservedAnswer::kUnseen) return;
  const bool by_scripts = JudgeScripts(context, result, question);
  if (by_scripts && !(AnySettings(context, Side::kBaseline) && AnySettings(context, Side::kMigrated))) return;
  ComparePairs(context, result, [&](const SettingsView& baseline, const SettingsView& migrated) {
    Compare(context, result, question, baseline, migrated, by_scripts);
  });
}

void ReadCount(const CheckContext& context, v1::CheckResult& result) {
  Judge(context, result, kReadCount);
}
void Shuffle(const CheckContext& context, v1::CheckResult& result) {
  for (const Side side : kBothSides) AddScriptFaults(context, result, "data.preprocessing.shuffle", side);
  Judge(context, result, kShuffle);
}
void Padding(const CheckContext& context, v1::CheckResult& result) {
  Judge(context, result, kPadding);
}
void Transform(const CheckContext& context, v1::CheckResult& result) {
  Judge(context, result, kTransform);
}
void Parallelism(const CheckContext& context, v1::CheckResult& result) {
  for (const Side side : kBothSides) {
    for (const RunView& run : context.evidence.Runs(side)) JudgeWorkerStates(context, result, run);
  }
  Judge(context, result, kParallelism);
}

// --- host-dependent: a value that moves with the memory or the CPU count of the node it was read on.

struct OnHost {
  std::string node;
  double value = 0;
  std::string shown;
  std::map<std::string, double> host;  // "memory" -> bytes, "CPU count"
};

std::map<std::string, double> HostFigures(const v1::Bundle& bundle) {
  std::map<std::string, double> figures;
  for (const v1::Evidence& evidence : bundle.evidence()) {
    for (const v1::Setting& setting : evidence.settings().settings()) {
      const bool memory = setting.raw_key() == "host.memory_bytes";
      if (!memory && setting.raw_key() != "host.cpu_count") continue;
      if (auto number = ParseDouble(setting.raw_value())) figures[memory ? "memory" : "CPU count"] = *number;
    }
  }
  return figures;
}

void CollectOnHosts(const CheckContext& context, std::map<std::string, std::vector<OnHost>>& by_key) {
  for (Side side : kBothSides) {
    for (const RunView& run : context.evidence.Runs(side)) {
      std::map<std::string, std::map<std::string, double>> hosts;
      for (const v1::Bundle* bundle : run.nodes) {
        for (const auto& [name, figure] : HostFigures(*bundle)) hosts[bundle->plan().node()][name] = figure;
      }
      const SettingsView& view = SettingsView::Of(context, side, run);
      for (const auto& [name, key] : context.rules.settings.keys()) {
        if (key.pipeline.empty()) continue;
        for (const SourcedValue* value : view.All(name)) {
          const v1::Value typed = TypedValue(SettingType::kNumber, value->value);
          const double number =
              typed.kind_case() == v1::Value::kInteger ? static_cast<double>(typed.integer()) : typed.number();
          if (number > 1) by_key[name].push_back({value->node, number, ShowValue(*value), hosts[value->node]});
        }
      }
    }
  }
}

// The order of the samples is what suffers: a number of workers that follows the host is a warning.
void FollowsHost(const CheckContext& context, v1::CheckResult& result, const std::string& key,
                 const std::vector<OnHost>& values) {
  const bool orders = context.rules.settings.FindKey(key)->pipeline == kShuffle.pipeline;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i + 1; j < values.size(); ++j) {
      if (values[i].value == values[j].value) continue;
      for (const auto& [figure, x] : values[i].host) {
        auto other = values[j].host.find(figure);
        if (other == values[j].host.end() || x <= 0 || other->second == x) continue;
        const double ratio = values[j].value / values[i].value;
        const double of_host = other->second / x;
        if (std::fabs(ratio - of_host) > context.profile.threshold("host_share") * of_host) continue;
        v1::Finding& finding =
            AddFinding(context, result, orders ? v1::SEVERITY_ERROR : v1::SEVERITY_WARNING, "follows_host", key,
                       {{"key", key},
                        {"a", StrCat(values[i].node, ": ", values[i].shown)},
                        {"b", StrCat(values[j].node, ": ", values[j].shown)},
                        {"figure", figure}});
        SetFact(finding, "ratio", ratio);
        SetFact(finding, "host_ratio", of_host);
        return;
      }
    }
  }
}

// Whether the scripts tell of every value of the pipeline where it comes from.
bool KnowsPipeline(const CheckContext& context, v1::CheckResult& result, const RunView& run) {
  const ScriptFlow& flow = ScriptFlow::Of(context, run);
  if (!flow.whole() || !HasPipeline(flow)) {
    ReportScriptNotWhole(context, result, flow, run.name);
    return false;
  }
  bool known = true;
  for (absl::string_view part : {kShuffle.pipeline, kParallelism.pipeline}) {
    for (const PipelineItem& item : PipelineItems(flow, part, true)) {
      // A function, an option, a variable of the environment: no figure of the host by itself.
      if (item.known || item.code || !absl::StrContains(item.symbol, '?')) continue;
      known = false;
      AddMissing(
          context, result, "pipeline_unresolved", run.name,
          {{"what", StrCat(item.step, " ", item.name)}, {"where", ScriptPlace(*item.fact)}, {"text", item.shown}});
    }
  }
  return known;
}

void HostDependent(const CheckContext& context, v1::CheckResult& result) {
  bool by_scripts = true;
  for (const Side side : kBothSides) {
    AddScriptFaults(context, result, "data.preprocessing.host-dependent", side);
    const std::vector<RunView> runs = context.evidence.Runs(side);
    by_scripts = by_scripts && !runs.empty();
    for (const RunView& run : runs) by_scripts = KnowsPipeline(context, result, run) && by_scripts;
  }
  if (!by_scripts) {
    for (Side side : kBothSides) RequireSettings(context, result, side);
  }
  std::map<std::string, std::vector<OnHost>> by_key;
  CollectOnHosts(context, by_key);
  for (const auto& [key, values] : by_key) FollowsHost(context, result, key, values);
  if (!by_scripts) AddMissing(context, result, "pipeline_in_script", "");
}

}  // namespace

extern const Check kPreprocessingReadCount;
const Check kPreprocessingReadCount = {"data.preprocessing.read-count", {}, &ReadCount};
extern const Check kPreprocessingShuffle;
const Check kPreprocessingShuffle = {"data.preprocessing.shuffle", {}, &Shuffle};
extern const Check kPreprocessingPadding;
const Check kPreprocessingPadding = {"data.preprocessing.padding", {}, &Padding};
extern const Check kPreprocessingTransform;
const Check kPreprocessingTransform = {"data.preprocessing.transform", {}, &Transform};
extern const Check kPreprocessingParallelism;
const Check kPreprocessingParallelism = {"data.preprocessing.parallelism", {}, &Parallelism};
extern const Check kPreprocessingHostDependent;
const Check kPreprocessingHostDependent = {"data.preprocessing.host-dependent", {}, &HostDependent};

}  // namespace paritect
