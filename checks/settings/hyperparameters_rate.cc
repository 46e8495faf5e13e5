// model.hyperparameters.learning-rate: base value, schedule, warm-up in steps, end value, scaling rule.
// Source: pre-tuning checklist, 模型超参; parts of the schedule are compared through what they make.
#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/scripts/detail.h"
#include "checks/scripts/faults.h"
#include "checks/series/run_series.h"
#include "checks/settings/compare.h"
#include "checks/settings/derived.h"
#include "checks/settings/made_by_scripts.h"
#include "checks/settings/unknown_keys.h"
#include "common/numbers.h"

namespace paritect {
namespace {

constexpr double kSame = 1e-9;      // relative
constexpr double kRoundedStep = 1;  // ratio x steps is rounded up by one library and down by another

bool Same(double a, double b) {
  return std::fabs(a - b) <= kSame * std::max(std::fabs(a), std::fabs(b));
}

v1::Finding* AddDifference(const CheckContext& context, v1::CheckResult& result, absl::string_view kind,
                           absl::string_view subject, const std::string& baseline, const std::string& migrated) {
  if (HasFinding(result, kind.substr(0, kind.find('/')), subject, baseline, migrated)) return nullptr;
  v1::Finding& finding = AddError(context, result, kind, subject,
                                  {{"key", std::string(subject)}, {"baseline", baseline}, {"migrated", migrated}});
  finding.set_baseline(baseline);
  finding.set_migrated(migrated);
  return &finding;
}

// A scheduler's own peak replaces the optimizer's rate, and hides no contradiction: what trainer and engine say of the
// rate is compared whichever of the two counts.
void ReportRateSources(const CheckContext& context, v1::CheckResult& result, const SettingsView& view) {
  const EffectiveValue& used = *BaseRate(view);
  ReportSources(context, result, view, "lr_base", used);
  const EffectiveValue* own = view.FindStated("lr_base");
  if (own == nullptr || own == &used) return;
  ReportSources(context, result, view, "lr_base", *own);
  std::vector<SourcedValue> others = own->overridden;
  others.push_back(own->value);
  for (const SourcedValue& other : others) {
    const bool engine = absl::StartsWith(other.format, "deepspeed") == absl::StartsWith(used.value.format, "deepspeed");
    if (engine || SameMeaning(SettingType::kNumber, other.value, used.value.value)) continue;
    AddConflicts(context, result, view, "lr_base", used.value, {&other, 1});
  }
}

std::optional<double> RateOf(const SettingsView& view) {
  const EffectiveValue* rate = BaseRate(view);
  return rate == nullptr ? std::nullopt : view.Number(rate == view.Find("lr_base") ? "lr_base" : "warmup_max_lr");
}

// False where the base value is not known on both sides.
bool CompareBase(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                 const SettingsView& migrated) {
  const EffectiveValue* a = BaseRate(baseline);
  const EffectiveValue* b = BaseRate(migrated);
  for (const SettingsView* view : {&baseline, &migrated}) {
    ReportNoNumbers(context, result, *view, {"schedule"});
    const EffectiveValue* one = BaseRate(*view);
    if (one == nullptr) {
      const auto doubted = view->doubted().find("lr_base");
      const bool may_be = doubted != view->doubted().end();
      AddMissing(context, result, may_be ? "learning_rate_unknown/doubted" : "learning_rate_unknown", view->run_name(),
                 {{"run", view->run_name()},
                  {"value", may_be ? absl::StrCat(doubted->second.shown_key(), "=", ShowValue(doubted->second)) : ""}});
    } else {
      ReportRateSources(context, result, *view);
    }
  }
  const auto x = RateOf(baseline);
  const auto y = RateOf(migrated);
  if (a == nullptr || b == nullptr || !x || !y) return false;
  if (Same(*x, *y)) return true;
  if (v1::Finding* finding = AddDifference(context, result, "learning_rate_differs", "lr_base", ShowValue(a->value),
                                           ShowValue(b->value))) {
    SetFact(*finding, "baseline_value", *x);
    SetFact(*finding, "migrated_value", *y);
    if (*x != 0) SetFact(*finding, "ratio", *y / *x);
  }
  return true;
}

// "" where not known.
std::string StyleOf(const SettingsView& view) {
  return view.Text("lr_style").value_or("");
}

bool BothConstant(const SettingsView& baseline, const SettingsView& migrated) {
  return StyleOf(baseline) == "constant" && StyleOf(migrated) == "constant";
}

// Whether the schedule of a side can read the key.
bool Reads(const SettingsView& view, const SettingKey& key) {
  const std::string style = StyleOf(view);
  if (key.key == "lr_style" || key.key == "warmup_init") return true;
  if (style == "constant") return false;
  return key.styles.empty() || style.empty() ||
         std::find(key.styles.begin(), key.styles.end(), style) != key.styles.end();
}

// Stated on one side, and no default is known of the other. Nothing (0, False) is what a library does without it.
void ReportOneSided(const CheckContext& context, v1::CheckResult& result, const SettingKey& key,
                    const SettingsView& without, const EffectiveValue& found) {
  if (ValueToText(found.value.value) == "0" || ValueToText(found.value.value) == "false") return;
  AddOneSided(context, result, without, absl::StrCat(key.key, "=", ShowValue(found.value)));
}

void CompareKey(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                const SettingsView& migrated, const SettingKey& key) {
  if (baseline.FindStated(key.key) == nullptr && migrated.FindStated(key.key) == nullptr) return;
  if (!Reads(baseline, key) && !Reads(migrated, key)) return;
  for (const SettingsView* view : {&baseline, &migrated}) {
    const EffectiveValue* one = view->Find(key.key);
    if (one != nullptr) ReportSources(context, result, *view, key.key, *one);
  }
  const EffectiveValue* a = baseline.Find(key.key);
  const EffectiveValue* b = migrated.Find(key.key);
  if (a == nullptr || b == nullptr) {
    ReportOneSided(context, result, key, a == nullptr ? baseline : migrated, a == nullptr ? *b : *a);
    return;
  }
  if (SameMeaning(key.type, a->value.value, b->value.value)) return;
  if (v1::Finding* finding =
          AddDifference(context, result, "schedule_differs", key.key, ShowValue(a->value), ShowValue(b->value))) {
    SetValueFact(*finding, "baseline_value", a->value.value);
    SetValueFact(*finding, "migrated_value", b->value.value);
  }
}

struct EndRate {
  std::optional<double> value;
  std::string shown;
};

// The rate at the end: as stated, as a share of the base value, or the library's default.
EndRate EndRateOf(const SettingsView& view) {
  const EffectiveValue* ratio = view.FindStated("lr_min_ratio");
  const std::optional<double> base = RateOf(view);
  if (view.FindStated("lr_min") == nullptr && ratio != nullptr && base && view.Number("lr_min_ratio")) {
    const double end = *base * *view.Number("lr_min_ratio");
    return {end, absl::StrCat(FormatShort(end), " (", ratio->value.shown_key(), "=", ShowValue(ratio->value), ")")};
  }
  const EffectiveValue* end = view.Find("lr_min");
  return end == nullptr ? EndRate{} : EndRate{view.Number("lr_min"), ShowValue(end->value)};
}

void CompareEnd(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                const SettingsView& migrated) {
  bool stated = false;
  for (const SettingsView* view : {&baseline, &migrated}) {
    stated = stated || view->FindStated("lr_min") != nullptr || view->FindStated("lr_min_ratio") != nullptr;
    const EffectiveValue* one = view->FindStated("lr_min");
    if (one != nullptr) AddConflicts(context, result, *view, "lr_min", one->value, one->disagreeing);
  }
  if (!stated || BothConstant(baseline, migrated)) return;
  const EndRate a = EndRateOf(baseline);
  const EndRate b = EndRateOf(migrated);
  if (!a.value || !b.value) {
    // A rate that falls to 0 is what most schedules do by themselves.
    if (a.value.value_or(b.value.value_or(0)) == 0) return;
    AddOneSided(context, result, a.value ? migrated : baseline, absl::StrCat("lr_min=", a.value ? a.shown : b.shown));
    return;
  }
  if (Same(*a.value, *b.value)) return;
  if (v1::Finding* finding = AddDifference(context, result, "schedule_differs", "lr_min", a.shown, b.shown)) {
    SetFact(*finding, "baseline_value", *a.value);
    SetFact(*finding, "migrated_value", *b.value);
  }
}

// Every key of the schedule but those that are compared through what they make: the base value, the warm-up in steps,
// the length of the decay.
void CompareSchedule(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                     const SettingsView& migrated) {
  static constexpr absl::string_view kThrough[] = {
      "lr_base",          "lr_min",       "lr_min_ratio", "warmup_max_lr",  "lr_decay_steps",
      "lr_decay_samples", "warmup_steps", "warmup_ratio", "warmup_samples", "warmup_epochs"};
  for (const auto& [name, key] : context.rules.settings.keys()) {
    if (key.group != "schedule" || std::find(std::begin(kThrough), std::end(kThrough), name) != std::end(kThrough))
      continue;
    CompareKey(context, result, baseline, migrated, key);
  }
  JudgeUnknownKeys(context, result, baseline, migrated, "schedule", "schedule_differs");
}

bool CountsOtherwise(const SettingsView& view) {
  const EffectiveValue* stated = view.FindStated("lr_decay_steps");
  return stated != nullptr && FactsOfSettingsFormat(stated->value.format).decay_after_warmup;
}

// The steps over which the rate falls: where nobody states them, the training length (compared by .values).
void CompareDecay(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                  const SettingsView& migrated) {
  if ((!StatesDecay(baseline) && !StatesDecay(migrated)) || BothConstant(baseline, migrated)) return;
  for (const SettingsView* view : {&baseline, &migrated}) {
    const EffectiveValue* one = view->FindStated("lr_decay_steps");
    if (one != nullptr) AddConflicts(context, result, *view, "lr_decay_steps", one->value, one->disagreeing);
  }
  if (CountsOtherwise(baseline) != CountsOtherwise(migrated)) {
    AddMissing(context, result, "decay_length_unknown", migrated.run_name(), {{"run", migrated.run_name()}});
    return;
  }
  const Derived a = DecaySteps(baseline);
  const Derived b = DecaySteps(migrated);
  if (!a.value || !b.value) {
    const SettingsView& view = a.value ? migrated : baseline;
    AddMissing(context, result, "decay_length_unknown", view.run_name(), {{"run", view.run_name()}});
    return;
  }
  if (std::fabs(*a.value - *b.value) <= kRoundedStep) return;
  // Another batch with as many fewer steps is the same decay over the samples.
  const Derived x = GlobalBatch(baseline);
  const Derived y = GlobalBatch(migrated);
  if (x.value && y.value && std::fabs(*a.value * *x.value - *b.value * *y.value) <= std::max(*x.value, *y.value))
    return;
  if (v1::Finding* finding =
          AddDifference(context, result, "schedule_differs/decay", "lr_decay_steps", a.text, b.text)) {
    SetFact(*finding, "baseline_steps", *a.value);
    SetFact(*finding, "migrated_steps", *b.value);
    finding->add_evidence(absl::StrJoin(a.evidence, "; "));
    finding->add_evidence(absl::StrJoin(b.evidence, "; "));
  }
}

void CompareWarmup(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                   const SettingsView& migrated) {
  const Derived a = WarmupSteps(baseline);
  const Derived b = WarmupSteps(migrated);
  if (a.value && b.value) {
    if (std::fabs(*a.value - *b.value) <= kRoundedStep) return;
    if (v1::Finding* finding =
            AddDifference(context, result, "warmup_differs", "warmup", FormatShort(*a.value), FormatShort(*b.value))) {
      SetFact(*finding, "baseline_steps", *a.value);
      SetFact(*finding, "migrated_steps", *b.value);
      finding->add_evidence(absl::StrJoin(a.evidence, "; "));
      finding->add_evidence(absl::StrJoin(b.evidence, "; "));
    }
    return;
  }
  // Neither is to be turned into steps: the same unit on both sides can still be compared.
  const bool neither = !a.value && !b.value;
  for (absl::string_view key : {"warmup_epochs", "warmup_ratio", "warmup_samples"}) {
    const EffectiveValue* x = baseline.FindStated(key);
    const EffectiveValue* y = migrated.FindStated(key);
    if (!neither || x == nullptr || y == nullptr) continue;
    if (SameMeaning(SettingType::kNumber, x->value.value, y->value.value)) return;
    if (v1::Finding* finding =
            AddDifference(context, result, "warmup_differs/unit", "warmup", ShowValue(x->value), ShowValue(y->value))) {
      SetValueFact(*finding, "baseline_value", x->value.value);
      SetValueFact(*finding, "migrated_value", y->value.value);
    }
    return;
  }
  const bool a_states = !a.value && a.lacking != std::vector<std::string>{"warmup_steps"};
  const bool b_states = !b.value && b.lacking != std::vector<std::string>{"warmup_steps"};
  if (a.value.has_value() || b.value.has_value() || a_states || b_states) {
    const SettingsView& view = a.value ? migrated : baseline;
    AddMissing(context, result, "warmup_unknown", view.run_name(), {{"run", view.run_name()}});
  }
}

void CompareScaling(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                    const SettingsView& migrated) {
  const Derived a = GlobalBatch(baseline);
  const Derived b = GlobalBatch(migrated);
  const auto x = RateOf(baseline);
  const auto y = RateOf(migrated);
  if (!a.value || !b.value || !x || !y || *x == 0 || *a.value == 0 || Same(*a.value, *b.value)) return;
  const double batch_ratio = *b.value / *a.value;
  const double rate_ratio = *y / *x;
  if (std::fabs(rate_ratio - batch_ratio) > 1e-6 * batch_ratio) return;
  v1::Finding& note = AddNote(context, result, "linear_scaling", "lr_base", {{"ratio", FormatShort(batch_ratio)}});
  SetFact(note, "ratio", batch_ratio);
}

bool PrintsRate(const CheckContext& context, const SettingsView& view) {
  for (const RunSeries& run : SeriesOf(context, view.side())) {
    if (run.name == view.run_name() && !run.Curves(Metric::kLearningRate).curves.empty()) return true;
  }
  return false;
}

// What both sides' code makes, where no log prints the rate that came of it: the curve of the rate says more than the
// name of a class.
void CompareScriptSchedules(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                            const SettingsView& migrated) {
  if (PrintsRate(context, baseline) && PrintsRate(context, migrated)) return;
  const std::optional<MadeByScripts> made = MadeOnBothSides(baseline, migrated, "schedule");
  if (made && !made->differ && !made->open.empty()) {
    AddMissing(context, result, "script_arguments_open", migrated.run_name(),
               {{"what", ScriptDetail(*made->migrated)},
                {"where", ScriptPlace(*made->migrated)},
                {"arguments", absl::StrJoin(made->open, ", ")}});
  }
  if (!made) {
    const ComparedFacts schedules = BuiltInScriptWords().MadeOf("schedule");
    const FactsComparison found = CompareFacts(schedules, baseline.flow(), migrated.flow());
    return AddScriptFacts(context, result, found, migrated.run_name());
  }
  if (!made->differ) return;
  v1::Finding* finding =
      AddDifference(context, result, "schedule_differs", "schedule", made->baseline_brief, made->migrated_brief);
  if (finding == nullptr) return;
  finding->add_evidence(ScriptPlace(*made->baseline));
  finding->add_evidence(ScriptPlace(*made->migrated));
}

// The rate that the code gives its optimizers, and when its schedules move on.
void CompareScriptRates(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                        const SettingsView& migrated) {
  if (PrintsRate(context, baseline) && PrintsRate(context, migrated)) return;
  CompareScriptFacts(context, result, "model.hyperparameters.learning-rate", baseline, migrated);
  AddScriptFacts(context, result, CompareScheduleSteps(baseline.flow(), migrated.flow()), migrated.run_name());
  AddCodeApart(context, result, CompareCode(CodeSubject::kRate, baseline.flow(), migrated.flow()), migrated.run_name());
}

// "lr: cosine(...) in adjust" of every line that sets the rate of an optimizer's groups by hand.
std::vector<std::string> RatesByHand(const ScriptFlow& flow, std::string& place) {
  std::vector<std::string> set;
  for (const v1::ScriptFact* fact : flow.OfKind("group_set")) {
    const v1::ScriptArgument* rate = FindScriptArgument(*fact, "lr");
    if (rate == nullptr || !fact->called()) continue;
    if (place.empty()) place = ScriptPlace(*fact);
    // What the source does not tell is alike where all of its code is.
    std::string text = rate->has_value() ? ShowScriptValue(*rate) : rate->symbol();
    if (absl::StrContains(text, '?')) {
      for (const v1::ScriptFile& file : flow.tree()->files()) {
        if (file.path() == fact->file()) absl::StrAppend(&text, " ", file.code_sha256());
      }
    }
    set.push_back(absl::StrCat(text, fact->conditional() ? " perhaps" : ""));
  }
  return set;
}

// A rate that the code sets by hand moves where no setting says so.
void CompareRatesByHand(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                        const SettingsView& migrated) {
  if (!baseline.flow().read() || !migrated.flow().read()) return;
  if (PrintsRate(context, baseline) && PrintsRate(context, migrated)) return;
  std::string a, b;
  if (RatesByHand(baseline.flow(), a) == RatesByHand(migrated.flow(), b)) return;
  AddMissing(context, result, "rate_by_hand", migrated.run_name(),
             {{"baseline", a.empty() ? "-" : a}, {"migrated", b.empty() ? "-" : b}});
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  for (const Side side : kBothSides) AddScriptFaults(context, result, "model.hyperparameters.learning-rate", side);
  ComparePairs(
      context, result,
      [&](const SettingsView& baseline, const SettingsView& migrated) {
        const bool known = CompareBase(context, result, baseline, migrated);
        for (const auto& [name, key] : context.rules.settings.keys()) {
          if (key.group != "schedule") continue;
          for (const SettingsView* view : {&baseline, &migrated}) {
            if (Reads(*view, key)) ReportUntold(context, result, *view, name);
          }
        }
        CompareSchedule(context, result, baseline, migrated);
        CompareScriptSchedules(context, result, baseline, migrated);
        CompareScriptRates(context, result, baseline, migrated);
        CompareRatesByHand(context, result, baseline, migrated);
        CompareEnd(context, result, baseline, migrated);
        CompareDecay(context, result, baseline, migrated);
        CompareWarmup(context, result, baseline, migrated);
        CompareScaling(context, result, baseline, migrated);
        if (known) {
          AddNote(context, result, "measured/learning_rate", migrated.run_name(),
                  {{"value", FormatShort(*RateOf(migrated))}});
        }
      },
      kReadScripts);
}

}  // namespace

extern const Check kHyperparametersRate;
const Check kHyperparametersRate = {"model.hyperparameters.learning-rate", {}, &Evaluate};

}  // namespace paritect
