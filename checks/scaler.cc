#include "checks/scaler.h"

#include <cmath>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "checks/overflow.h"
#include "checks/repeats.h"
#include "checks/run_settings.h"

namespace paritect {
namespace {

std::optional<Sourced> Get(const RunSettings& settings, const std::string& key) {
  const std::optional<double> value = settings.Number(key);
  if (!value.has_value()) return std::nullopt;
  return Sourced{*value, settings.Origin(key)};
}

void ReadType(const RunSettings& settings, ScalerFacts& facts) {
  const auto set = [&](const char* dtype, const char* key) {
    facts.dtype = dtype;
    facts.dtype_evidence = settings.Origin(key);
  };
  if (settings.Boolean("bf16").value_or(false)) {
    set("bfloat16", "bf16");
  } else if (settings.Boolean("fp16").value_or(false)) {
    set("float16", "fp16");
  } else if (const std::optional<std::string> dtype = settings.Text("compute_dtype")) {
    set(dtype->c_str(), "compute_dtype");
  } else if (settings.Find("amp_opt_level") != nullptr) {
    const std::string level = absl::AsciiStrToUpper(settings.Text("amp_opt_level").value_or(""));
    set(level == "O0" ? "float32" : "float16", "amp_opt_level");
  } else if (settings.Boolean("fp16").has_value() && settings.Boolean("bf16").has_value()) {
    set("float32", "fp16");  // both stated as off
  }
}

void ReadParameters(const RunSettings& settings, ScalerFacts& facts) {
  facts.initial = Get(settings, "loss_scale_init");
  facts.window = Get(settings, "loss_scale_window");
  facts.hysteresis = Get(settings, "loss_scale_hysteresis");
  facts.growth = Get(settings, "loss_scale_growth_factor");
  facts.backoff = Get(settings, "loss_scale_backoff_factor");
  facts.minimum = Get(settings, "loss_scale_min");
  facts.global_batch = Get(settings, "global_batch_size");
}

// What the settings say of the kind. A positive `loss_scale` is a static scale in every framework that has
// the key; 0, None and "dynamic" mean a dynamic one (Megatron, DeepSpeed, apex).
void ReadKind(const RunSettings& settings, ScalerFacts& facts) {
  const RunSettings::Entry* scale = settings.Find("loss_scale");
  if (const std::optional<std::string> type = settings.Text("loss_scaler_type")) {
    facts.evidence = settings.Origin("loss_scaler_type");
    const std::string lower = absl::AsciiStrToLower(*type);
    facts.kind = absl::StrContains(lower, "dynamic")                                       ? ScalerKind::kDynamic
                 : absl::StrContains(lower, "fixed") || absl::StrContains(lower, "static") ? ScalerKind::kStatic
                                                                                           : ScalerKind::kUnknown;
    if (facts.kind != ScalerKind::kUnknown) return;
  }
  if (scale != nullptr) {
    facts.evidence = scale->origin;
    const std::optional<double> number = settings.Number("loss_scale");
    if (number.has_value() && *number > 0) {
      facts.kind = ScalerKind::kStatic;
      facts.static_scale = Sourced{*number, scale->origin};
      return;
    }
    facts.kind = ScalerKind::kDynamic;
    return;
  }
  if (facts.initial.has_value() && facts.window.has_value()) {
    facts.kind = ScalerKind::kDynamic;
    facts.evidence = facts.window->origin;
  }
}

// What the log shows: a scale that moves is dynamic; one that stands still through overflows is static.
void ReadLog(const RunSeries& run, ScalerFacts& facts) {
  for (const std::string& engine : ScaleEngines(run)) {
    const std::vector<ScalePoint> points = ScalePoints(run, engine);
    bool moves = false;
    bool overflow = false;
    for (const ScalePoint& point : points) {
      moves = moves || point.scale != points.front().scale;
      overflow = overflow || point.overflow;
    }
    if (moves) {
      facts.kind = ScalerKind::kDynamic;
      facts.static_scale.reset();
      facts.evidence = points.front().where;
      return;
    }
    if (facts.kind == ScalerKind::kUnknown && overflow && points.size() > 1) {
      facts.kind = ScalerKind::kStatic;
      facts.evidence = points.front().where;
    }
    if (facts.kind == ScalerKind::kStatic && !facts.static_scale.has_value()) {
      facts.static_scale = Sourced{points.front().scale, points.front().where};
    }
  }
}

}  // namespace

absl::string_view ScalerWord(ScalerKind kind) {
  switch (kind) {
    case ScalerKind::kOff: return "off";
    case ScalerKind::kStatic: return "static";
    case ScalerKind::kDynamic: return "dynamic";
    default: return "";
  }
}

std::optional<double> ScalerFacts::expected_rate() const {
  if (!window.has_value() || window->value <= 0) return std::nullopt;
  return (hysteresis.has_value() ? hysteresis->value : 1) / window->value;
}

std::vector<std::string> ScaleEngines(const RunSeries& run) {
  std::set<std::string> engines;
  for (const LogSource& source : run.logs) {
    for (const v1::StepRecord& record : source.log().records()) {
      if (record.has_loss_scale()) engines.insert(record.engine());
    }
  }
  return {engines.begin(), engines.end()};
}

std::vector<ScalePoint> ScalePoints(const RunSeries& run, absl::string_view engine) {
  std::vector<ScalePoint> points;
  for (const LogSource& source : run.logs) {
    for (const v1::StepRecord& record : source.log().records()) {
      if (!record.has_loss_scale() || record.engine() != engine) continue;
      points.push_back({record.loss_scale(),
                        record.overflow() || record.skipped() > 0 || std::isinf(record.grad_norm()), record.step(),
                        Where(source, record.line())});
    }
  }
  return points;
}

ScalerFacts ScalerOf(const CheckContext& context, const RunSeries& run) {
  const RunSettings settings(context, run);
  ScalerFacts facts;
  ReadType(settings, facts);
  ReadParameters(settings, facts);
  ReadKind(settings, facts);
  ReadLog(run, facts);
  // Hugging Face and DeepSpeed switch a dynamic scaler on with fp16 and have no option against it.
  if (facts.kind == ScalerKind::kUnknown && facts.dtype == "float16" && facts.dtype_evidence != "" &&
      (settings.HasFormat("hf-training-args-json") || settings.HasFormat("hf-training-args") ||
       settings.HasFormat("deepspeed-json") || settings.HasFormat("megatron-args"))) {
    facts.kind = ScalerKind::kDynamic;
    facts.evidence = facts.dtype_evidence;
  }
  if (facts.kind == ScalerKind::kUnknown) {
    for (const OverflowCount& count : CountOverflows(run)) {
      if (count.skipped == 0) continue;
      facts.evidence = count.evidence.empty() ? "" : count.evidence.front();
      facts.kind = ScalerKind::kDynamic;  // only a scaler skips steps; nothing says that its scale is fixed
    }
  }
  return facts;
}

bool NoScalerNeeded(const CheckContext& context, v1::CheckResult& result, const RunSeries& run,
                    const ScalerFacts& facts) {
  if (!facts.not_needed()) return false;
  AddNote(context, result, "not_applicable/no_scaler_needed", run.name, {{"run", run.name}, {"dtype", facts.dtype}})
      .add_evidence(facts.dtype_evidence);
  return true;
}

}  // namespace paritect
