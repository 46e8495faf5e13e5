#include "checks/runs/scaler.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "checks/series/observed_logs.h"
#include "checks/series/overflow.h"
#include "checks/series/repeats.h"
#include "checks/settings/derived.h"
#include "checks/settings/view.h"
#include "common/recorded_formats.h"

namespace paritect {
namespace {

std::optional<Sourced> Get(const SettingsView& settings, absl::string_view key) {
  const std::optional<double> value = settings.Number(key);
  if (!value.has_value()) return std::nullopt;
  return Sourced{*value, settings.Find(key)->value.origin};
}

void ReadParameters(const SettingsView& settings, ScalerFacts& facts) {
  facts.initial = Get(settings, "loss_scale_init");
  facts.window = Get(settings, "loss_scale_window");
  facts.hysteresis = Get(settings, "loss_scale_hysteresis");
  facts.growth = Get(settings, "loss_scale_growth_factor");
  facts.backoff = Get(settings, "loss_scale_backoff_factor");
  facts.minimum = Get(settings, "loss_scale_min");
  const Derived batch = GlobalBatch(settings);
  if (batch.value.has_value()) facts.global_batch = Sourced{*batch.value, batch.text};
}

void ReadType(const std::string& type, const std::string& origin, ScalerFacts& facts) {
  const std::string lower = absl::AsciiStrToLower(type);
  const bool fixed = absl::StrContains(lower, "fixed") || absl::StrContains(lower, "static");
  if (absl::StrContains(lower, "dynamic")) {
    facts.kind = ScalerKind::kDynamic;
  } else if (fixed) {
    facts.kind = ScalerKind::kStatic;
  }
  facts.evidence = origin;
}

// What the settings say of the kind. A positive `loss_scale` is a static scale in every framework that has the key; 0,
// None and "dynamic" mean a dynamic one (Megatron, DeepSpeed, apex). MindSpore's start value of a dynamic scaler is
// another key.
void ReadKind(const SettingsView& settings, ScalerFacts& facts) {
  if (const EffectiveValue* type = settings.FindStated("loss_scaler_type")) {
    ReadType(type->value.text, type->value.origin, facts);
    if (facts.kind != ScalerKind::kUnknown) return;
  }
  if (const EffectiveValue* policy = settings.FindStated("loss_scale_policy")) {
    facts.kind = ScalerKind::kDynamic;
    facts.evidence = policy->value.origin;
    return;
  }
  const std::vector<const SourcedValue*> stated = settings.All("loss_scale");
  if (!stated.empty()) {
    facts.evidence = stated.front()->origin;
    const std::optional<double> number = settings.Number("loss_scale");
    if (number.has_value() && *number > 0) {
      facts.kind = ScalerKind::kStatic;
      facts.static_scale = Get(settings, "loss_scale");
    } else {
      facts.kind = ScalerKind::kDynamic;
    }
    return;
  }
  const EffectiveValue* window = settings.FindStated("loss_scale_window");
  if (window != nullptr && settings.FindStated("loss_scale_init") != nullptr) {
    facts.kind = ScalerKind::kDynamic;
    facts.evidence = window->value.origin;
  }
}

// Megatron prints the global batch on every line; with a ramp-up the largest is the one that is trained with.
void ReadPrintedBatch(const RunSeries& run, ScalerFacts& facts) {
  if (facts.global_batch.has_value()) return;
  for (const LogSource& source : run.logs) {
    for (const v1::StepRecord& record : source.log().records()) {
      const auto printed = record.metrics().find("global batch size");
      if (printed == record.metrics().end() || !(printed->second > 0)) continue;
      if (facts.global_batch.has_value() && facts.global_batch->value >= printed->second) continue;
      facts.global_batch = Sourced{printed->second, Where(source, record.line())};
    }
  }
}

ScalePoint PointOf(const LogSource& source, const v1::StepRecord& record) {
  const bool skipped = record.overflow() || record.skipped() > 0;
  return {record.loss_scale(),
          skipped || std::isinf(record.grad_norm()),
          skipped,
          record.step(),
          {source.evidence, record.line()}};
}

// A saved state of a scaler: empty where it was switched off, else its scale and how it moves.
void ReadState(const SettingsView& settings, ScalerFacts& facts) {
  const EffectiveValue* seen = settings.FindStated("loss_scaler_enabled");
  if (seen != nullptr && seen->value.format == kObservedFormat) {
    if (settings.Boolean("loss_scaler_enabled") != false) return;
    facts.kind = ScalerKind::kOff;
    facts.evidence = seen->value.origin;
    return;
  }
  if (!settings.HasFormat("scaler-state")) return;
  if (const EffectiveValue* enabled = settings.FindStated("loss_scaler_enabled")) {
    if (settings.Boolean("loss_scaler_enabled") != false || settings.FindStated("loss_scale_state") != nullptr) return;
    facts.kind = ScalerKind::kOff;
    facts.evidence = enabled->value.origin;
    return;
  }
  facts.state_scale = Get(settings, "loss_scale_state");
  if (!facts.state_scale.has_value() || settings.FindStated("loss_scale_window") == nullptr) return;
  facts.kind = ScalerKind::kDynamic;
  facts.evidence = facts.state_scale->origin;
}

// What the log shows: a scale that moves is dynamic; one that stands still through overflows is static.
void ReadLog(const RunSeries& run, ScalerFacts& facts) {
  for (const std::string& engine : ScaleEngines(run)) {
    std::vector<ScalePoint> points = ScalePoints(run, engine);
    std::erase_if(points, [](const ScalePoint& point) { return !std::isfinite(point.scale); });
    if (points.empty()) continue;
    bool moves = false;
    bool overflow = false;
    for (const ScalePoint& point : points) {
      moves = moves || point.scale != points.front().scale;
      overflow = overflow || point.overflow;
    }
    if (!moves) facts.printed_scale = Sourced{points.front().scale, points.front().where};
    if (!moves && points.front().scale == 0) {  // what frameworks print where they have no scaler
      if (facts.kind == ScalerKind::kUnknown) facts.kind = ScalerKind::kOff;
      facts.evidence = points.front().where;
      continue;
    }
    if (moves) {
      facts.printed_scale.reset();
      facts.kind = ScalerKind::kDynamic;
      facts.static_scale.reset();
      facts.evidence = points.front().where;
      return;
    }
    // At its floor a dynamic scale stands still through overflows as well.
    const bool at_floor = points.front().scale <= facts.floor();
    if (facts.kind == ScalerKind::kUnknown && overflow && points.size() > 1 && !at_floor) {
      facts.kind = ScalerKind::kStatic;
      facts.evidence = points.front().where;
    }
    if (facts.kind == ScalerKind::kStatic && !facts.static_scale.has_value()) {
      facts.static_scale = Sourced{points.front().scale, points.front().where};
    }
  }
}

ScalerFacts MakeFacts(const CheckContext& context, const RunSeries& run) {
  const SettingsView& settings = SettingsView::Of(context, run.side, run.view);
  ScalerFacts facts;
  const ComputeType type = ComputeTypeOf(settings);
  if (!type.contradicted) facts.dtype = type.dtype;
  facts.dtype_evidence = type.evidence;
  ReadParameters(settings, facts);
  const ScriptFlow& flow = settings.flow();
  facts.made_new = flow.whole() && flow.OfKind("scaler").size() == 1 && !flow.Has("load_file") && !flow.Has("engine");
  ReadPrintedBatch(run, facts);
  ReadState(settings, facts);
  if (facts.kind == ScalerKind::kUnknown) ReadKind(settings, facts);
  ReadLog(run, facts);
  // Libraries that switch a dynamic scaler on with fp16 and have no option against it, whichever way it was asked for.
  // Source: transformers src/transformers/trainer.py (GradScaler for fp16; from 4.28 on accelerate's).
  const bool asked = settings.Uses("Transformers") && settings.FindStated("fp16") != nullptr;
  if (facts.kind == ScalerKind::kUnknown && facts.dtype == "float16" &&
      (asked || settings.HasFormatThat(&SettingsFormatFacts::scales_fp16))) {
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
  for (const LogSource& source : ScaleLogs(run)) {
    for (const v1::StepRecord& record : source.log().records()) {
      if (record.has_loss_scale()) engines.insert(record.engine());
    }
  }
  return {engines.begin(), engines.end()};
}

std::vector<ScalePoint> ScalePoints(const RunSeries& run, absl::string_view engine) {
  std::vector<ScalePoint> points;
  for (const LogSource& source : ScaleLogs(run)) {
    for (const v1::StepRecord& record : source.log().records()) {
      if (!record.has_loss_scale() || record.engine() != engine) continue;
      points.push_back(PointOf(source, record));
    }
  }
  return points;
}

std::vector<std::vector<ScalePoint>> ScaleSeries(const RunSeries& run, absl::string_view engine) {
  struct Series {
    std::int64_t rank;
    std::int64_t last_step;
    std::vector<ScalePoint> points;
  };
  std::vector<Series> all;
  for (const LogSource& source : ScaleLogs(run)) {
    std::map<std::int64_t, std::vector<ScalePoint>> by_rank;
    for (const v1::StepRecord& record : source.log().records()) {
      if (!record.has_loss_scale() || record.engine() != engine) continue;
      const std::int64_t rank = record.has_rank()             ? record.rank()
                                : source.evidence->has_rank() ? source.evidence->rank()
                                                              : -1;
      by_rank[rank].push_back(PointOf(source, record));
    }
    for (auto& [rank, points] : by_rank) {
      const auto goes_on = std::find_if(all.begin(), all.end(), [&, rank = rank, &points = points](const Series& one) {
        return one.rank == rank && points.front().step > one.last_step;
      });
      Series& series = goes_on != all.end() ? *goes_on : all.emplace_back(Series{rank, 0, {}});
      series.last_step = points.back().step;
      series.points.insert(series.points.end(), points.begin(), points.end());
    }
  }
  std::vector<std::vector<ScalePoint>> result;
  for (Series& one : all) result.push_back(std::move(one.points));
  return result;
}

const ScalerFacts& ScalerOf(const CheckContext& context, const RunSeries& run) {
  return run.views->Get<ScalerFacts>({}, [&] { return MakeFacts(context, run); });
}

UpdateGuard GuardOf(const CheckContext& context, const RunSeries& run) {
  const ScalerFacts& facts = ScalerOf(context, run);
  // A DeepSpeed file states the parameters of a scaler that bf16 leaves off.
  if (facts.not_needed() || facts.kind == ScalerKind::kOff) return UpdateGuard::kNothing;
  return facts.kind == ScalerKind::kUnknown ? UpdateGuard::kUnknown : UpdateGuard::kScaler;
}

bool NoScalerNeeded(const CheckContext& context, v1::CheckResult& result, const RunSeries& run,
                    const ScalerFacts& facts) {
  if (!facts.not_needed()) return false;
  AddNote(context, result, "not_applicable/no_scaler_needed", run.name, {{"run", run.name}, {"dtype", facts.dtype}})
      .add_evidence(facts.dtype_evidence);
  return true;
}

}  // namespace paritect
