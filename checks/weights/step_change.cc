#include "checks/weights/step_change.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "checks/settings/derived.h"
#include "checks/settings/view.h"
#include "checks/weights/counters.h"
#include "common/numbers.h"
#include "common/utf8.h"

namespace paritect {
namespace {

std::string LineOf(const v1::Evidence& evidence, std::int64_t line) {
  return absl::StrCat(DisplayBytes(evidence.source()), ":", line);
}

// The records of the steps of the change: logs number a run's first step 0 or 1.
template <typename Visit>
void ForEachRecord(const StepChange& change, Visit visit) {
  for (const v1::Bundle* bundle : change.run->run.nodes) {
    for (const v1::Evidence& evidence : bundle->evidence()) {
      if (evidence.outcome() != v1::OUTCOME_COLLECTED || !evidence.has_run_log()) continue;
      const auto& records = evidence.run_log().records();
      const bool from_zero =
          std::any_of(records.begin(), records.end(), [](const auto& one) { return one.step() == 0; });
      const std::int64_t first = change.from + (from_zero ? 0 : 1);
      const std::int64_t last = change.to - (from_zero ? 1 : 0);
      for (const v1::StepRecord& record : records) {
        if (record.step() >= first && record.step() <= last) visit(evidence, record);
      }
    }
  }
}

double NumberOf(const v1::Value& value) {
  return value.kind_case() == v1::Value::kInteger ? static_cast<double>(value.integer()) : value.number();
}

// What the checkpoint after the step says of itself.
void ReadFacts(const std::vector<const Checkpoint*>& after, StepChange& change) {
  for (const Checkpoint* checkpoint : after) {
    for (const v1::Weights* piece : checkpoint->pieces) {
      for (const v1::CheckpointFact& fact : piece->facts()) {
        const absl::string_view name = fact.name();
        if (name == "skipped_steps" && NumberOf(fact.value()) >= static_cast<double>(change.to)) {
          change.gate = StepGate::kSkipped;
          change.gate_where = absl::StrCat(checkpoint->sources.front(), ": ", name);
        }
        const bool is_rate = name == "learning_rate" || absl::EndsWith(name, "param_groups.0.lr");
        if (is_rate && !change.rate.has_value()) {
          change.rate = NumberOf(fact.value());
          change.rate_where = absl::StrCat(checkpoint->sources.front(), ": ", name);
        }
      }
    }
  }
}

void ReadLogs(StepChange& change) {
  int rates = 0, zeros = 0;
  ForEachRecord(change, [&](const v1::Evidence& evidence, const v1::StepRecord& record) {
    if ((record.has_skipped() && record.skipped() > 0) ||
        (record.has_overflow() && record.overflow() && !record.overflow_applied())) {
      change.gate = StepGate::kSkipped;
      change.gate_where = LineOf(evidence, record.line());
    }
    if (!record.has_lr()) return;
    ++rates;
    zeros += record.lr() == 0 ? 1 : 0;
    change.rate = std::max(change.rate.value_or(0), record.lr());
    change.rate_where = LineOf(evidence, record.line());
  });
  if (rates > 0 && rates == zeros && change.gate == StepGate::kOpen) {
    change.gate = StepGate::kZeroRate;
    change.gate_where = change.rate_where;
  }
}

void ReadSettings(const CheckContext& context, StepChange& change) {
  if (change.rate.has_value()) return;
  const EffectiveValue* rate = BaseRate(SettingsView::Of(context, change.run->side, change.run->run));
  if (rate == nullptr) return;
  change.rate = NumberOf(rate->value.value);
  change.rate_where = rate->value.origin;
}

}  // namespace

std::optional<StepChange> FirstChange(const CheckContext& context, v1::CheckResult& result, const RunCheckpoints& run) {
  const std::vector<std::int64_t> steps = run.Steps();
  if (steps.size() < 2) {
    AddMissing(context, result, "two_states_needed", run.run.name, {{"run", run.run.name}});
    return std::nullopt;
  }
  StepChange change;
  change.run = &run;
  change.from = steps[0];
  change.to = steps[1];
  change.before = StateOf(context, run.At(change.from));
  change.after = StateOf(context, run.At(change.to));
  for (const std::int64_t step : {change.from, change.to}) {
    for (const Checkpoint* one : run.At(step)) {
      const auto beyond = BeyondItsStep(*one);
      if (!beyond.has_value()) continue;
      AddMissing(context, result, "step_contradicted", run.run.name,
                 {{"run", run.run.name},
                  {"step", absl::StrCat(step)},
                  {"where", one->sources.front()},
                  {"name", beyond->first},
                  {"value", FormatShort(beyond->second, 10)}});
      return std::nullopt;
    }
  }
  ReadLogs(change);
  ReadFacts(run.At(change.to), change);
  ReadSettings(context, change);
  return change;
}

Movement MovementOf(const StepChange& change, const ModelTensor& after) {
  const ModelTensor* before = change.before.Find(after.name);
  if (before == nullptr || before->parts.size() != after.parts.size()) return Movement::kUnknown;
  for (std::size_t i = 0; i < after.parts.size(); ++i) {
    const v1::TensorFingerprint& a = *before->parts[i];
    const v1::TensorFingerprint& b = *after.parts[i];
    if (a.xxh3().empty() || b.xxh3().empty()) return Movement::kUnknown;
    // A checkpoint in another type than the one before: values decide.
    const bool same = a.dtype() == b.dtype()
                          ? a.xxh3() == b.xxh3()
                          : a.values().low() == b.values().low() && a.values().high() == b.values().high();
    if (!same) return Movement::kMoved;
  }
  return Movement::kStill;
}

std::vector<double> UpdateSketch(const StepChange& change, const ModelTensor& after) {
  const ModelTensor* before = change.before.Find(after.name);
  if (before == nullptr || !before->whole() || !after.whole()) return {};
  const auto& a = before->first().sketch();
  const auto& b = after.first().sketch();
  if (a.size() != b.size()) return {};
  std::vector<double> update;
  for (int i = 0; i < a.size(); ++i) update.push_back(b[i] - a[i]);
  return update;
}

std::optional<double> UpdateSize(const StepChange& change, const ModelTensor& after) {
  constexpr std::size_t kPlacesMin = 16;  // fewer say too little
  const std::vector<double> sketch = UpdateSketch(change, after);
  if (sketch.size() < kPlacesMin) return std::nullopt;
  double squares = 0;
  for (const double one : sketch) squares += one * one;
  return std::sqrt(squares / static_cast<double>(after.elements()));
}

double RoundingLimit(const v1::TensorFingerprint& tensor) {
  const int bits = tensor.dtype() == "BF16" ? 8 : tensor.dtype() == "F16" ? 11 : 0;  // of precision
  const double low = tensor.statistics().min(), high = tensor.statistics().max();
  if (bits == 0 || low * high <= 0) return 0;
  int exponent = 0;  // smallest = fraction * 2^exponent, fraction in [0.5, 1)
  const double fraction = std::frexp(std::min(std::fabs(low), std::fabs(high)), &exponent);
  // Below a power of two neighbours stand closer together.
  return std::ldexp(1.0, exponent - bits - 1 - (fraction == 0.5 ? 1 : 0));
}

}  // namespace paritect
