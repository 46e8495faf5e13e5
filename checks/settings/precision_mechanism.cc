// baseline. and migrated.mixed-precision.enabled, .single-mechanism, migrated.mixed-precision.same-mechanism.
// Source: pre-tuning checklist, 正确使能混合精度: exactly one way (casts by hand or one automatic mode), the same on
// both sides. Casts in scripts are seen in scripts only: where the library's own option does not decide, the
// number of mechanisms is not known from settings.
#include "checks/settings/precision_mechanism.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/scripts/detail.h"
#include "checks/scripts/faults.h"
#include "checks/scripts/script_settings.h"
#include "checks/settings/compare.h"
#include "checks/settings/derived.h"
#include "checks/settings/made_by_scripts.h"
#include "checks/settings/platform.h"
#include "common/recorded_formats.h"

namespace paritect {
namespace {

using absl::StrCat;

std::string Origin(const EffectiveValue& found) {
  return StrCat(found.value.shown_key(), "=", found.value.text, " (", found.value.origin, ")");
}

void AddMixedMode(const Rules& rules, const SettingsView& view, std::vector<Mechanism>& out) {
  for (const char* option : {"precision_mode", "precision_mode_v2"}) {
    const EffectiveValue* found = view.FindStated(option);
    if (found == nullptr) continue;
    const PrecisionValue* known = rules.products.FindPrecisionValue(option, ValueToText(found->value.value));
    if (known != nullptr && known->mixed) {
      out.push_back({"graph", "", Origin(*found)});
      return;
    }
  }
  if (view.Boolean("tf_amp_graph_rewrite").value_or(false)) {
    out.push_back({"graph", "", Origin(*view.Find("tf_amp_graph_rewrite"))});
  }
}

// A level that stands beside its own switch counts where that is on (DeepSpeed: amp.enabled, amp.opt_level).
bool ApexIsOn(const SettingsView& view) {
  const EffectiveValue* level = view.FindStated("amp_opt_level");
  const EffectiveValue* own = view.FindStated("amp_enabled");
  if (level == nullptr || own == nullptr || level->value.raw_key != "amp.opt_level") return true;
  return own->value.raw_key != "amp.enabled" || view.Boolean("amp_enabled").value_or(true);
}

// Libraries that decide the type by their options alone: no cast by hand stands beside them in a user's script.
bool LibraryDecides(const SettingsView& view) {
  return view.HasFormatThat(&SettingsFormatFacts::decides_type) || view.FindStated("amp_wrapper") != nullptr;
}

// Any piece of settings evidence, also one that failed.
bool AnySettings(const CheckContext& context, Side side) {
  bool any = false;
  context.evidence.ForEach(side, v1::EVIDENCE_KIND_SETTINGS,
                           [&](const v1::Bundle&, const v1::Evidence&) { any = true; });
  return any;
}

// DeepSpeed's fp16 section against the arguments of the trainer beside it, and the like.
void TypeConflicts(const CheckContext& context, v1::CheckResult& result, const SettingsView& view) {
  for (const char* key : {"bf16", "fp16"}) {
    const EffectiveValue* found = view.FindStated(key);
    if (found != nullptr) AddConflicts(context, result, view, key, found->value, found->disagreeing);
  }
}

bool IsShort(const ComputeType& type) {
  return type.dtype == "float16" || type.dtype == "bfloat16";
}

// Beside a side that computes in a short type, code without any is a difference: its type is the framework's own.
ComputeType BesideShort(const SettingsView& view, bool other_is_short) {
  ComputeType type = ComputeTypeOf(view);
  const v1::ScriptFact* backward = other_is_short ? SinglePrecision(view.flow()) : nullptr;
  if (type.dtype.empty() && view.Untold("compute_dtype") == nullptr && backward != nullptr) {
    type.dtype = "float32";
    type.evidence = StrCat("no autocast, no cast: ", ScriptDetail(*backward), " (", ScriptPlace(*backward), ")");
  }
  return type;
}

// Whether some run of the baseline computes in a short type.
bool BaselineIsShort(const CheckContext& context) {
  const auto views = ViewsOf(context, Side::kBaseline);
  return std::any_of(views.begin(), views.end(), [](const SettingsView& one) { return IsShort(ComputeTypeOf(one)); });
}

void Enabled(const CheckContext& context, v1::CheckResult& result, Side side) {
  // A loss scale in the log is evidence enough; that no settings file was given does not matter then.
  const std::vector<RunView> runs = context.evidence.Runs(side);
  const bool by_logs =
      !runs.empty() && !AnySettings(context, side) && std::all_of(runs.begin(), runs.end(), [](const RunView& run) {
        std::string where;
        return LogsShowLossScale(run, where);
      });
  if (!by_logs) RequireSettings(context, result, side, true, kReadScripts);
  for (const RunView& run : context.evidence.Runs(side)) {
    const SettingsView& view = SettingsView::Of(context, side, run);
    const ComputeType type = BesideShort(view, side == Side::kMigrated && BaselineIsShort(context));
    TypeConflicts(context, result, view);
    std::string evidence;
    const bool scale_seen = LogsShowLossScale(run, evidence);
    if (type.dtype == "float32" && !scale_seen) {
      v1::Finding& finding = AddError(context, result, "mixed_precision_off", run.name, {{"evidence", type.evidence}});
      finding.add_evidence(type.evidence);
    } else if (type.of_tensors && !scale_seen) {
      AddMissing(context, result, "half_type_alone", run.name, {{"value", type.evidence}});
    } else if (!type.dtype.empty() || scale_seen) {
      const std::string dtype = type.dtype.empty() || type.dtype == "float32" ? "float16" : type.dtype;
      v1::Finding& note = AddNote(context, result, "measured/compute_type", run.name,
                                  {{"dtype", dtype}, {"evidence", type.evidence.empty() ? evidence : type.evidence}});
      SetFact(note, "dtype", absl::string_view(dtype));
      const Platform platform = PlatformOf(context.rules, run);
      if (side == Side::kMigrated && dtype == "bfloat16" && platform.family != nullptr && !platform.family->bfloat16) {
        AddError(context, result, "dtype_not_on_product", run.name,
                 {{"dtype", dtype}, {"product", platform.family->name}, {"evidence", type.evidence}})
            .add_evidence(type.evidence);
      }
    } else if (!view.empty() || view.flow().named()) {
      AddMissing(context, result, "compute_type_not_stated", run.name);
    }
  }
}

// A mechanism that only code shows is known as far as the code is.
bool ReportScriptInPart(const CheckContext& context, v1::CheckResult& result, const SettingsView& view) {
  const EffectiveValue* wrapper = view.FindStated("amp_wrapper");
  if (wrapper == nullptr || wrapper->value.source != SettingSource::kScript || view.flow().whole()) return false;
  ReportScriptNotWhole(context, result, view.flow(), view.run_name());
  return true;
}

// The observer saw the whole process: fp32 weights, no automatic mode, no engine, no cast. nullptr: it did not.
const EffectiveValue* SeenPlain(const SettingsView& view) {
  const EffectiveValue* wrapper = view.FindStated("amp_wrapper");
  const bool seen = wrapper != nullptr && wrapper->value.format == kObservedFormat;
  const std::string dtype = view.Text("compute_dtype").value_or("");
  return seen && view.Text("amp_wrapper").value_or("") == "plain" && dtype == "float32" ? wrapper : nullptr;
}

void SingleMechanism(const CheckContext& context, v1::CheckResult& result, Side side) {
  const std::string check = StrCat(SideName(side), ".mixed-precision.single-mechanism");
  AddScriptFaults(context, result, check, side);
  for (const SettingsView& view : RequireSettings(context, result, side, true, kReadScripts)) {
    if (result.findings_size() > 0 && result.findings(0).kind() == "two_mechanisms") continue;
    if (ReportScriptInPart(context, result, view)) continue;
    const std::vector<Mechanism> mechanisms = MechanismsOf(context.rules, view);
    if (mechanisms.size() > 1) {
      std::vector<std::string> told;
      for (const Mechanism& one : mechanisms) told.push_back(one.evidence);
      v1::Finding& finding =
          AddError(context, result, "two_mechanisms", view.run_name(), {{"mechanisms", absl::StrJoin(told, "; ")}});
      for (const std::string& evidence : told) finding.add_evidence(evidence);
    } else if (ReportUnreadScripts(context, result, view, "autocast, casts by hand")) {
      continue;
    } else if (LibraryDecides(view) && !mechanisms.empty()) {
      AddNote(context, result, "measured/mechanism", view.run_name(), {{"mechanism", mechanisms[0].evidence}});
    } else if (const EffectiveValue* plain = SeenPlain(view); plain != nullptr && mechanisms.empty()) {
      AddNote(context, result, "measured/no_mechanism", view.run_name(), {{"evidence", Origin(*plain)}});
    } else {
      AddMissing(context, result, "mechanism_in_script", view.run_name());
    }
  }
}

// Whether something shows that the run reads the variable behind a key: its launcher, its package, or the framework.
bool ReadsVariable(const SettingsView& view, absl::string_view key) {
  if (key == "accelerate_dtype") return view.Uses("Accelerate");
  if (key == "bf16_by_variable") return view.Uses("PyTorch/XLA");
  return view.framework() == "tensorflow";
}

// A variable that turns the type round: the settings state one type and the process computes in another.
void TypeByVariable(const CheckContext& context, v1::CheckResult& result, const SettingsView& view) {
  const ComputeType stated = ComputeTypeOf(view);
  if (stated.dtype.empty()) return;
  for (const char* key : {"accelerate_dtype", "bf16_by_variable", "tf_amp_graph_rewrite"}) {
    const EffectiveValue* found = view.FindStated(key);
    if (found == nullptr || found->value.source != SettingSource::kLaunch) continue;
    std::string dtype = view.Text(key).value_or("");
    if (view.Boolean(key).value_or(false)) dtype = key == std::string("bf16_by_variable") ? "bfloat16" : "float16";
    if (dtype.empty() || dtype == stated.dtype) continue;
    const std::string subject = StrCat(SideName(view.side()), ": ", found->value.raw_key);
    if (HasFinding(result, "dtype_by_variable", subject, "", "")) continue;
    const bool read = ReadsVariable(view, key);
    v1::Finding& finding = AddFinding(context, result, read ? v1::SEVERITY_ERROR : v1::SEVERITY_WARNING,
                                      read ? "dtype_by_variable" : "dtype_by_variable/unread", subject,
                                      {{"variable", Origin(*found)}, {"dtype", dtype}, {"stated", stated.evidence}});
    if (!read) AddMissing(context, result, "variable_decides", view.run_name(), {{"variable", found->value.raw_key}});
    (view.side() == Side::kBaseline ? *finding.mutable_baseline() : *finding.mutable_migrated()) = Origin(*found);
    SetFact(finding, "dtype", absl::string_view(dtype));
    SetFact(finding, "stated_dtype", absl::string_view(stated.dtype));
    finding.add_evidence(found->value.origin);
    finding.add_evidence(stated.evidence);
  }
}

// What keeps the weights under a library's option: "deepspeed", "fsdp", "megatron"; "" where nothing names an engine.
std::string EngineOf(const SettingsView& view) {
  if (view.HasFormatThat(&SettingsFormatFacts::deepspeed) || view.Uses("DeepSpeed by option")) return "deepspeed";
  const EffectiveValue* stated = view.FindStated("sharding_engine");
  return stated == nullptr ? "" : view.Text("sharding_engine").value_or("");
}

// Whether the master weights are known to be kept alike: the same engine, or engines that keep fp32 copies.
bool KeptAlike(const SettingsView& baseline, const SettingsView& migrated) {
  const std::string a = EngineOf(baseline);
  const std::string b = EngineOf(migrated);
  if (a == b) return true;
  if (a == "fsdp" || b == "fsdp") return false;
  // An engine on one side; the other's trainer has none that is known of.
  return !(a.empty() ? baseline : migrated).HasFormatThat(&SettingsFormatFacts::autocast_trainer);
}

// What shows that an option which asks for a short type was not given; "" where it may have been. A command line of
// Transformers' own parser names every option that differs from its default, but for what an engine's file decides, and
// for what the code sets behind the parser: where scripts are named, they have to show that it sets none.
// Source: transformers src/transformers/training_args.py, `fp16` and `bf16`.
std::string LeftOff(const SettingsView& view, const std::string& option) {
  if (const EffectiveValue* stated = view.FindStated(option)) {
    return view.Boolean(option) == false && stated->disagreeing.empty() ? Origin(*stated) : "";
  }
  if (!view.Uses("Transformers") || view.Untold(option) != nullptr || !EngineOf(view).empty() ||
      view.FindStated("accelerate_dtype") != nullptr)
    return "";
  if (!view.unread_scripts().empty() || (view.flow().named() && !AsksByArgumentsAlone(view.flow()))) return "";
  for (const SourcedValue* one : view.All("micro_batch_size")) {
    if (one->format == "launch-script" && one->raw_key == "per_device_train_batch_size")
      return StrCat(one->origin, ": no --", option);
  }
  return "";
}

void AddTypeDifference(const CheckContext& context, v1::CheckResult& result, const ComputeType& a,
                       const ComputeType& b) {
  const std::string shown_a = StrCat(a.dtype, ": ", a.evidence);
  const std::string shown_b = StrCat(b.dtype, ": ", b.evidence);
  if (HasFinding(result, "dtype_differs", "compute type", shown_a, shown_b)) return;
  v1::Finding& finding =
      AddError(context, result, "dtype_differs", "compute type", {{"baseline", a.dtype}, {"migrated", b.dtype}});
  finding.set_baseline(shown_a);
  finding.set_migrated(shown_b);
}

// One side computes in a short type, and the other did not ask for that one: in whichever it computes, it is another.
bool ReportLeftOff(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                   const SettingsView& migrated) {
  ComputeType a = ComputeTypeOf(baseline);
  ComputeType b = ComputeTypeOf(migrated);
  const bool of_baseline = a.dtype.empty();
  const ComputeType& known = of_baseline ? b : a;
  const std::string option = known.dtype == "float16" ? "fp16" : known.dtype == "bfloat16" ? "bf16" : "";
  if (option.empty() || a.contradicted || b.contradicted) return false;
  const std::string evidence = LeftOff(of_baseline ? baseline : migrated, option);
  if (evidence.empty()) return false;
  const std::string other = StrCat("other than ", known.dtype);
  ComputeType& left_off = of_baseline ? a : b;
  left_off.dtype = other;
  left_off.evidence = evidence;
  AddTypeDifference(context, result, a, b);
  return true;
}

void CompareMechanism(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                      const SettingsView& migrated) {
  const ComputeType a = BesideShort(baseline, IsShort(ComputeTypeOf(migrated)));
  const ComputeType b = BesideShort(migrated, IsShort(ComputeTypeOf(baseline)));
  const std::vector<Mechanism> x = MechanismsOf(context.rules, baseline);
  const std::vector<Mechanism> y = MechanismsOf(context.rules, migrated);
  if (a.dtype.empty() != b.dtype.empty() && ReportLeftOff(context, result, baseline, migrated)) return;
  if (a.dtype.empty() || b.dtype.empty()) {
    AddMissing(context, result, "compute_type_not_stated", (a.dtype.empty() ? baseline : migrated).run_name());
  } else if (a.dtype != b.dtype) {
    AddTypeDifference(context, result, a, b);
    return;
  }
  AddCodeApart(context, result, CompareAutocast(baseline.flow(), migrated.flow()), migrated.run_name());
  if (x.size() != 1 || y.size() != 1) {
    if (!a.dtype.empty() && a.dtype == b.dtype && a.dtype != "float32")
      AddMissing(context, result, "mechanism_in_script", migrated.run_name());
    return;
  }
  if (x[0].kind == y[0].kind && x[0].level == y[0].level && a.dtype != "float32" && !KeptAlike(baseline, migrated)) {
    const auto shown = [](const SettingsView& view, const Mechanism& mechanism) {
      const std::string engine = EngineOf(view);
      return StrCat(mechanism.evidence, ", ", engine.empty() ? "no engine named" : engine);
    };
    AddMissing(context, result, "engine_differs", migrated.run_name(),
               {{"baseline", shown(baseline, x[0])}, {"migrated", shown(migrated, y[0])}});
    return;
  }
  if (x[0].kind == y[0].kind && x[0].level == y[0].level) {
    AddNote(context, result, "measured/mechanism", migrated.run_name(), {{"mechanism", y[0].evidence}});
    return;
  }
  // An option of a program of one's own says that the short type is wanted, not by which mechanism.
  for (const auto& [view, mechanism] : {std::pair(&baseline, &x[0]), std::pair(&migrated, &y[0])}) {
    const bool flag = view->Boolean("fp16").value_or(false) || view->Boolean("bf16").value_or(false);
    if (mechanism->kind != "option" || !flag || LibraryDecides(*view)) continue;
    AddMissing(context, result, "mechanism_in_script", view->run_name());
    return;
  }
  if (HasFinding(result, "mechanism_differs", "mechanism", x[0].evidence, y[0].evidence)) return;
  v1::Finding& finding = AddError(context, result, "mechanism_differs", "mechanism",
                                  {{"baseline", x[0].evidence}, {"migrated", y[0].evidence}});
  finding.set_baseline(x[0].evidence);
  finding.set_migrated(y[0].evidence);
}

void SameMechanism(const CheckContext& context, v1::CheckResult& result) {
  for (Side side : kBothSides) {
    for (const SettingsView& view : ViewsOf(context, side)) {
      TypeByVariable(context, result, view);
      TypeConflicts(context, result, view);
    }
  }
  ComparePairs(
      context, result,
      [&](const SettingsView& baseline, const SettingsView& migrated) {
        CompareMechanism(context, result, baseline, migrated);
      },
      kReadScripts);
}

void BaselineEnabled(const CheckContext& context, v1::CheckResult& result) {
  Enabled(context, result, Side::kBaseline);
}
void MigratedEnabled(const CheckContext& context, v1::CheckResult& result) {
  Enabled(context, result, Side::kMigrated);
}
void BaselineSingle(const CheckContext& context, v1::CheckResult& result) {
  SingleMechanism(context, result, Side::kBaseline);
}
void MigratedSingle(const CheckContext& context, v1::CheckResult& result) {
  SingleMechanism(context, result, Side::kMigrated);
}

}  // namespace

std::vector<Mechanism> MechanismsOf(const Rules& rules, const SettingsView& view) {
  std::vector<Mechanism> out;
  // The weights themselves in the short type, without an automatic mode: another way than bf16: true.
  if (view.Boolean("pure_bf16").value_or(false)) out.push_back({"weights", "", Origin(*view.Find("pure_bf16"))});
  // Where the code itself shows the automatic mode, an option of the program only turns that on.
  const EffectiveValue* wrapper = view.FindStated("amp_wrapper");
  const bool seen = wrapper != nullptr && wrapper->value.format == kObservedFormat;  // in the process
  const bool by_code = wrapper != nullptr && (seen || wrapper->value.source == SettingSource::kScript) &&
                       !view.HasFormatThat(&SettingsFormatFacts::decides_type);
  for (const char* key : {"bf16", "fp16"}) {
    if (by_code || !out.empty() || !view.Boolean(key).value_or(false)) continue;
    const bool apex = key == std::string("fp16") && view.Text("half_precision_backend") == "apex";
    out.push_back(
        {apex ? "apex" : "option", apex ? view.Text("fp16_opt_level").value_or("") : "", Origin(*view.Find(key))});
  }
  const EffectiveValue* dtype = view.FindStated("compute_dtype");
  if (out.empty() && wrapper == nullptr && dtype != nullptr && view.Text("compute_dtype") != "float32") {
    // Lightning's "bf16-true" casts the weights, "bf16-mixed" does not.
    const bool weights = absl::EndsWith(absl::AsciiStrToLower(dtype->value.text), "-true");
    out.push_back({weights ? "weights" : "option", "", Origin(*dtype)});
  }
  // The autocast that is seen in a process whose trainer has one by its option is that one.
  const bool of_trainer = seen && !out.empty() && view.HasFormatThat(&SettingsFormatFacts::autocast_trainer);
  if (wrapper != nullptr && view.Text("amp_wrapper") != "plain" && !of_trainer) {
    out.push_back({*view.Text("amp_wrapper"), "", Origin(*wrapper)});
  }
  const auto apex = view.Text("amp_opt_level");
  const bool leveled = apex && (*apex == "o1" || *apex == "o2" || *apex == "o3") && ApexIsOn(view);
  if (leveled) out.push_back({"apex", *apex, Origin(*view.Find("amp_opt_level"))});
  // DeepSpeed's `amp` is apex: its switch and its level are one mechanism.
  if (const EffectiveValue* own = view.Find("amp_enabled");
      own != nullptr && !by_code && view.Boolean("amp_enabled").value_or(false) && !leveled) {
    const bool apex_default = own->value.raw_key == "amp.enabled";
    out.push_back({apex_default ? "apex" : "amp", apex_default ? "o1" : "", Origin(*own)});
  }
  const auto level = view.Text("amp_level");
  if (level && *level != "o0") out.push_back({"amp_level", *level, Origin(*view.Find("amp_level"))});
  if (view.Boolean("manual_casts").value_or(false)) out.push_back({"casts", "", Origin(*view.Find("manual_casts"))});
  AddMixedMode(rules, view, out);
  return out;
}

bool LogsShowLossScale(const RunView& run, std::string& evidence) {
  for (const v1::Bundle* bundle : run.nodes) {
    for (const v1::Evidence& one : bundle->evidence()) {
      for (const v1::StepRecord& record : one.run_log().records()) {
        if (!record.has_loss_scale() || record.loss_scale() == 1) continue;
        evidence = StrCat("loss scale in ", one.source(), ":", record.line());
        return true;
      }
    }
  }
  return false;
}

extern const Check kBaselineMixedEnabled;
const Check kBaselineMixedEnabled = {"baseline.mixed-precision.enabled", {}, &BaselineEnabled};
extern const Check kMigratedMixedEnabled;
const Check kMigratedMixedEnabled = {"migrated.mixed-precision.enabled", {}, &MigratedEnabled};
extern const Check kBaselineSingleMechanism;
const Check kBaselineSingleMechanism = {"baseline.mixed-precision.single-mechanism", {}, &BaselineSingle};
extern const Check kMigratedSingleMechanism;
const Check kMigratedSingleMechanism = {"migrated.mixed-precision.single-mechanism", {}, &MigratedSingle};
extern const Check kSameMechanism;
const Check kSameMechanism = {"migrated.mixed-precision.same-mechanism", {}, &SameMechanism};

}  // namespace paritect
