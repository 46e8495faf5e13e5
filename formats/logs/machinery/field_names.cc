#include "formats/logs/machinery/field_names.h"

#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/utf8.h"
#include "rules/metrics.h"

namespace paritect {

void FieldCollector::AddLoss(const LogKey& key, const LogNumber& number) {
  const LogField field = key.field;
  if (field == LogField::kOtherLoss) {
    ++other_losses_;
    other_loss_number_ = number;
  } else if (loss_ == LogField::kOther || field < loss_) {
    loss_ = field;
    loss_number_ = number;
  }
  // A named part stays visible; the total is `loss` itself.
  if (field != LogField::kLoss && number.kind == LogNumber::Kind::kValue) {
    record_.values.mutable_metrics().Set(key.name, number.value);
  }
}

// A sum with a term that is missing or refused is none either.
void FieldCollector::AddTerm(const LogNumber& number) {
  if (terms_++ == 0) {
    term_sum_ = number;
    return;
  }
  if (term_sum_.kind != LogNumber::Kind::kValue) return;
  term_sum_.value += number.value;
  term_sum_.resolution += number.resolution;
  term_sum_.kind = number.kind;
}

void FieldCollector::Add(const LogKey& key, const LogNumber& number) {
  const LogField field = key.field;
  StepValues& values = record_.values;
  if (number.kind == LogNumber::Kind::kSpliced) spliced_ = true;
  if (key.summed) AddTerm(number);
  if (IsTrainingLoss(field) || field == LogField::kOtherLoss) {
    AddLoss(key, number);
    return;
  }
  if (number.kind == LogNumber::Kind::kRefused && field != LogField::kOther) {
    absl::StrAppend(&refused_, refused_.empty() ? "" : ", ", *key.name, " '", DisplayBytes(number.text), "'");
    odd_step_ = odd_step_ || field == LogField::kStep;
  }
  if (field == LogField::kOverflow) {
    const bool yes =
        absl::EqualsIgnoreCase(number.text, "true") || (number.kind == LogNumber::Kind::kValue && number.value != 0);
    values.set_overflow(yes);
    has_values_ = true;
    return;
  }
  if (number.kind != LogNumber::Kind::kValue) return;
  const double value = number.value;
  const bool whole = std::fabs(value) < 9e15 && value == std::floor(value);
  switch (field) {
    case LogField::kStep: SetStep(key, number); return;
    case LogField::kEpoch:
      if (!values.has_epoch()) values.set_epoch(value);
      return;
    case LogField::kSamples:
      if (whole) values.set_samples(static_cast<std::int64_t>(value));
      return;
    case LogField::kRank:
      if (whole && value >= 0 && value < 1e7) values.set_rank(static_cast<std::int32_t>(value));
      return;
    case LogField::kLr: SetLr(key, value); break;
    case LogField::kGradNorm:
    case LogField::kGradNormPart: SetGradNorm(key, value); break;
    case LogField::kSkippedTotal:
      if (!whole) return;
      values.set_skipped(static_cast<std::int64_t>(value));
      record_.skipped_is_total = true;
      break;
    case LogField::kLossScale: values.set_loss_scale(value); break;
    case LogField::kAccuracy: SetAccuracy(key, number); break;
    case LogField::kMetric:
      has_metric_ = true;
      values.mutable_metrics().Set(key.name, value);
      return;
    case LogField::kEvalLoss: SetEvalLoss(key, value); break;
    default: values.mutable_metrics().Set(key.name, value); return;
  }
  has_values_ = true;
}

// Of "acc" and "val_acc" on one line the second counts, of "val_acc" and "test_acc" the first.
void FieldCollector::SetAccuracy(const LogKey& key, const LogNumber& number) {
  if (evaluation_accuracy_ && (!key.evaluation || key.eval_order > accuracy_order_)) return;
  evaluation_accuracy_ = key.evaluation;
  accuracy_order_ = key.eval_order;
  record_.values.set_accuracy(number.value);
  record_.values.set_accuracy_in_points(number.percent);
  record_.accuracy_resolution = number.resolution;
}

// The first group's rate is the schedule's; the others stay visible by their names.
void FieldCollector::SetLr(const LogKey& key, double value) {
  StepValues& values = record_.values;
  if (key.derived) values.mutable_metrics().Set(key.name, value);
  if (key.derived && values.has_lr()) return;
  values.set_lr(value);
}

// A norm under its usual name beats one under a longer name, and both a dictionary's: groups of parameters have no
// parameter in common, so the norm over all is the root of their squares' sum.
void FieldCollector::SetGradNorm(const LogKey& key, double value) {
  StepValues& values = record_.values;
  const bool part = key.field == LogField::kGradNormPart;
  if (part || key.derived) values.mutable_metrics().Set(key.name, value);
  if (plain_norm_ && (part || key.derived)) return;
  if (part) {
    norm_squares_ += value * value;
    if (!has_norm_parts_ && values.has_grad_norm()) return;
    has_norm_parts_ = true;
    return values.set_grad_norm(std::sqrt(norm_squares_));
  }
  plain_norm_ = !key.derived;
  values.set_grad_norm(value);
}

// Of "val_loss" and "val_nll_loss" the first counts; of "val/box_loss" and "val/cls_loss" none does.
void FieldCollector::SetEvalLoss(const LogKey& key, double value) {
  constexpr int kPart = 3;
  StepValues& values = record_.values;
  values.mutable_metrics().Set(key.name, value);
  if (key.eval_order == kPart && eval_loss_order_ == kPart) {
    values.clear_eval_loss();
    eval_parts_ = true;
  }
  if (key.eval_order > eval_loss_order_ || (eval_parts_ && key.eval_order == kPart)) return;
  eval_loss_order_ = key.eval_order;
  values.set_eval_loss(value);
}

// The first step of a line counts, unless a later one says that it is the run's.
void FieldCollector::SetStep(const LogKey& key, const LogNumber& number) {
  const auto step = WholeLogNumber(number.value);
  if (!step) odd_step_ = true;
  if (!step || (record_.has_step && (global_step_ || !key.global_step))) return;
  global_step_ = key.global_step;
  record_.has_step = true;
  record_.values.set_step(*step);
}

void FieldCollector::MarkEvaluation() {
  StepValues& values = record_.values;
  if (values.loss_of_parts() && terms_ > 0) {  // of an evaluation's parts none is the whole
    Metrics own;
    for (const auto& [name, value] : values.metrics().entries()) {
      const LogKey& key = LookUpLogKey(*name);
      const bool part = key.summed || key.field == LogField::kOtherLoss;
      part ? own.Set(absl::StrCat("val/", *name), value) : own.Set(name, value);
    }
    values.mutable_metrics() = std::move(own);
  } else if (!values.has_eval_loss() && values.has_loss()) {
    values.set_eval_loss(values.loss());
  }
  values.drop_loss();
  values.clear_accuracy_of_training();
}

void FieldCollector::SetLoss(const LogNumber& number) {
  switch (number.kind) {
    case LogNumber::Kind::kValue:
      record_.values.set_loss(number.value);
      if (number.resolution > 0) record_.values.set_loss_resolution(number.resolution);
      return;
    case LogNumber::Kind::kRefused:
      absl::StrAppend(&refused_, refused_.empty() ? "" : ", ", "loss '", DisplayBytes(number.text), "'");
      [[fallthrough]];
    default: record_.values.set_loss_absent(true); return;
  }
}

void FieldCollector::Finish(RunLogBuilder& out) {
  record_.values.set_loss_of_parts(loss_ == LogField::kOther && (other_losses_ > 0 || terms_ > 0));
  if (loss_ != LogField::kOther) {
    SetLoss(loss_number_);
  } else if (other_losses_ == 1) {
    SetLoss(other_loss_number_);
  } else if (terms_ > 1) {
    SetLoss(term_sum_);
  }
  const StepValues& values = record_.values;
  record_.values.set_accuracy_of_training(values.has_accuracy() && !evaluation_accuracy_ && has_loss_key() &&
                                          !values.has_eval_loss());
  if (refused_.empty()) return;
  out.AddNote("number_refused", record_.values.line(),
              absl::StrCat("step ", record_.values.step(), ": ", refused_, " is not a number; the value is left out"));
}

}  // namespace paritect
