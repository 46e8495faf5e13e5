// migrated.mixed-precision.matmul-conv and baseline.mixed-precision.hidden-low-precision: TF32 on the GPU and HF32 on
// the NPU shorten fp32 operands unseen. NVIDIA_TF32_OVERRIDE=0 beats what the program sets. Sources: PyTorch
// notes/cuda.rst; torch_npu npu_config.py; TF Adapter ENABLE_HF32_EXECUTION.md; defaults.yaml.
#include "absl/strings/str_cat.h"
#include "checks/settings/compare.h"
#include "checks/settings/derived.h"

namespace paritect {
namespace {

struct Shortcut {
  std::optional<bool> on;
  std::string evidence;
  bool by_default = false;  // nothing states it
};

Shortcut ShortcutOf(const SettingsView& view, absl::string_view key) {
  const EffectiveValue* forced = view.FindStated("tf32_override");
  if (forced != nullptr && view.Boolean("tf32_override") == false) return {false, ShowValue(forced->value)};
  const EffectiveValue* found = view.Find(key);
  const std::optional<bool> on = view.Boolean(key);
  if (found == nullptr || !on) return {};
  return {on, absl::StrCat(found->value.raw_key, "=", ShowValue(found->value)),
          found->value.source == SettingSource::kDefault};
}

// The shortcut as far as it is known: a default counts for nothing where a script that may set it was not read.
Shortcut KnownShortcut(const CheckContext& context, v1::CheckResult& result, const SettingsView& view,
                       absl::string_view key) {
  const Shortcut found = ShortcutOf(view, key);
  if (found.by_default && ReportUnreadScripts(context, result, view, "allow_tf32, allow_hf32")) return {};
  return found;
}

absl::string_view OnOff(bool on) {
  return on ? "on" : "off";
}

void AddDifference(const CheckContext& context, v1::CheckResult& result, v1::Severity severity, absl::string_view what,
                   const Shortcut& a, const Shortcut& b) {
  if (HasFinding(result, "shortcut_differs", what, a.evidence, b.evidence)) return;
  v1::Finding& finding = AddFinding(
      context, result, severity, "shortcut_differs", what,
      {{"what", std::string(what)}, {"baseline", std::string(OnOff(*a.on))}, {"migrated", std::string(OnOff(*b.on))}});
  finding.set_baseline(a.evidence);
  finding.set_migrated(b.evidence);
}

// False where a side is not known.
bool BothKnown(const CheckContext& context, v1::CheckResult& result, absl::string_view what,
               const SettingsView& baseline, const Shortcut& a, const SettingsView& migrated, const Shortcut& b) {
  if (!a.on) {
    AddMissing(context, result, "shortcut_unknown", baseline.run_name(),
               {{"what", std::string(what)}, {"run", baseline.run_name()}});
  }
  if (!b.on) {
    AddMissing(context, result, "shortcut_unknown", migrated.run_name(),
               {{"what", std::string(what)}, {"run", migrated.run_name()}});
  }
  return a.on && b.on;
}

// fp32 operands are what the shortcuts shorten: under mixed precision few are left, so a difference is a warning.
void Compare(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
             const SettingsView& migrated) {
  if (baseline.Variable("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE") == "1" &&
      !HasFinding(result, "tf32_by_variable", baseline.run_name(), "", "")) {
    AddWarning(context, result, "tf32_by_variable", baseline.run_name());
  }
  const std::string dtype = ComputeTypeOf(migrated).dtype;
  if (migrated.Variable("ENABLE_HF32_EXECUTION") == "1" && (dtype == "float16" || dtype == "bfloat16")) {
    AddNote(context, result, "hf32_ineffective", migrated.run_name(), {{"dtype", dtype}});
  }
  const bool fp32 = ComputeTypeOf(baseline).dtype == "float32" || ComputeTypeOf(migrated).dtype == "float32";
  const Shortcut a = KnownShortcut(context, result, baseline, "matmul_low_precision");
  const Shortcut b = KnownShortcut(context, result, migrated, "matmul_low_precision");
  if (BothKnown(context, result, "matmul", baseline, a, migrated, b)) {
    const auto severity = fp32 ? v1::SEVERITY_ERROR : v1::SEVERITY_WARNING;
    if (*a.on != *b.on) {
      AddDifference(context, result, severity, "matmul", a, b);
      for (const SettingsView* view : {&baseline, &migrated}) {
        if (fp32 || !ComputeTypeOf(*view).dtype.empty()) continue;
        AddMissing(context, result, "shortcut_type_unknown", view->run_name(), {{"run", view->run_name()}});
      }
    } else {
      v1::Finding& note = AddNote(context, result, "measured/shortcut", migrated.run_name(),
                                  {{"what", "matmul"}, {"state", std::string(OnOff(*a.on))}});
      note.set_baseline(a.evidence);
      note.set_migrated(b.evidence);
    }
  }
  const Shortcut x = KnownShortcut(context, result, baseline, "conv_low_precision");
  const Shortcut y = KnownShortcut(context, result, migrated, "conv_low_precision");
  if (!BothKnown(context, result, "convolution", baseline, x, migrated, y)) return;
  if (*x.on != *y.on) {
    AddDifference(context, result, v1::SEVERITY_WARNING, "convolution", x, y);
  } else if (*x.on) {
    v1::Finding& note = AddNote(context, result, "reduced_convolution", migrated.run_name());
    note.set_baseline(x.evidence);
    note.set_migrated(y.evidence);
  }
}

void MatmulConv(const CheckContext& context, v1::CheckResult& result) {
  ComparePairs(context, result, [&](const SettingsView& baseline, const SettingsView& migrated) {
    Compare(context, result, baseline, migrated);
  });
}

void JudgeReference(const CheckContext& context, v1::CheckResult& result, const SettingsView& view) {
  const std::string& run = view.run_name();
  const ComputeType type = ComputeTypeOf(view);
  if (type.dtype == "float16" || type.dtype == "bfloat16") {
    AddError(context, result, "hidden_low_precision/mixed", run,
             {{"run", run}, {"dtype", type.dtype}, {"evidence", type.evidence}})
        .add_evidence(type.evidence);
  }
  const Shortcut matmul = KnownShortcut(context, result, view, "matmul_low_precision");
  if (!matmul.on) {
    AddMissing(context, result, "shortcut_unknown", run, {{"what", "matmul"}, {"run", run}});
  } else if (*matmul.on) {
    AddError(context, result, "hidden_low_precision", run, {{"run", run}, {"evidence", matmul.evidence}})
        .add_evidence(matmul.evidence);
  } else {
    AddNote(context, result, "measured/shortcut", run, {{"what", "matmul"}, {"state", "off"}})
        .add_evidence(matmul.evidence);
  }
  const Shortcut convolution = KnownShortcut(context, result, view, "conv_low_precision");
  if (convolution.on.value_or(false)) {
    AddNote(context, result, "reduced_convolution", run).add_evidence(convolution.evidence);
  }
}

void HiddenLowPrecision(const CheckContext& context, v1::CheckResult& result) {
  const auto views = ViewsOf(context, Side::kBaseline, v1::ROLE_FP32_REFERENCE);
  if (views.empty()) AddMissing(context, result, "no_fp32_reference", SideName(Side::kBaseline));
  for (const RunView& run : context.evidence.Runs(Side::kBaseline, v1::ROLE_FP32_REFERENCE)) {
    for (const v1::Bundle* bundle : run.nodes) {
      for (const v1::Evidence& evidence : bundle->evidence()) {
        if (evidence.kind() == v1::EVIDENCE_KIND_SETTINGS && evidence.outcome() != v1::OUTCOME_COLLECTED)
          AddMissing(context, result, evidence.problem(), WhereFrom(*bundle, evidence));
      }
    }
  }
  for (const SettingsView& view : views) {
    if (view.empty()) {
      AddMissing(context, result, "no_settings_of_run", view.run_name(), {{"run", view.run_name()}});
    } else {
      JudgeReference(context, result, view);
    }
  }
}

}  // namespace

extern const Check kMatmulConv;
const Check kMatmulConv = {"migrated.mixed-precision.matmul-conv", {}, &MatmulConv};
extern const Check kHiddenLowPrecision;
const Check kHiddenLowPrecision = {"baseline.mixed-precision.hidden-low-precision", {}, &HiddenLowPrecision};

}  // namespace paritect
