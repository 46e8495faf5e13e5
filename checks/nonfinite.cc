#include "checks/nonfinite.h"

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/numbers.h"

namespace paritect {
namespace {

constexpr int kZerosMin = 3;     // a single zero may be a rounded loss
constexpr int kNanNormsMin = 3;  // a scaler prints one now and then
constexpr int kEvidenceMax = 5;

// Steps at which one thing went wrong.
struct Events {
  std::int64_t count = 0;
  std::int64_t first_step = 0;
  double value = 0;
  std::vector<std::string> where;

  void Add(const v1::StepRecord& record, double seen, const LogSource& source) {
    if (count++ == 0) {
      first_step = record.step();
      value = seen;
    }
    if (where.size() < kEvidenceMax) where.push_back(Where(source, record.line()));
  }
};

struct Found {
  Events nan_loss;
  Events nan_eval;
  Events zeros;
  Events missing;
  Events nan_norm;
};

bool Skipped(const v1::StepRecord& record) {
  return record.overflow() || record.skipped() > 0;
}

// Walks one log's records of one rank and engine in file order.
class Walker {
 public:
  Walker(const LogSource& source, Found& found) : source_(source), found_(found) {}

  void Next(const v1::StepRecord& record) {
    if (record.step_unknown()) return;
    const bool skipped = Skipped(record);
    if (record.has_eval_loss() && !std::isfinite(record.eval_loss())) {
      found_.nan_eval.Add(record, record.eval_loss(), source_);
    }
    if (record.has_grad_norm() && std::isnan(record.grad_norm()) && !skipped) {
      found_.nan_norm.Add(record, record.grad_norm(), source_);
    }
    if (record.loss_absent() && seen_real_ && !skipped) found_.missing.Add(record, 0, source_);
    if (record.has_loss()) NextLoss(record, skipped);
    // Megatron prints the mean of an interval over its steps without NaN, and how many it left out. Those of skipped
    // steps are overflows of the search for a scale.
    const auto left_out = record.metrics().find("number of nan iterations");
    if (left_out != record.metrics().end() && left_out->second > static_cast<double>(record.skipped())) {
      found_.nan_loss.Add(record, std::numeric_limits<double>::quiet_NaN(), source_);
    }
  }

  // One NaN at the very beginning that heals is a value that was not recorded, not a training gone wrong.
  void End() {
    if (seen_real_ && leading_.size() < 2) return;
    for (const auto& [record, value] : leading_) found_.nan_loss.Add(*record, value, source_);
  }

 private:
  void NextLoss(const v1::StepRecord& record, bool skipped) {
    const double loss = record.loss();
    if (!std::isfinite(loss)) {
      if (skipped) return;
      if (seen_real_) {
        found_.nan_loss.Add(record, loss, source_);
      } else {
        leading_.emplace_back(&record, loss);
      }
      return;
    }
    if (loss != 0) {
      seen_real_ = true;
      zeros_.clear();
      return;
    }
    if (!seen_real_) return;
    const bool nan_beside = record.has_grad_norm() && std::isnan(record.grad_norm());
    zeros_.push_back(&record);
    if (nan_beside || reported_ || zeros_.size() >= kZerosMin) {
      reported_ = true;
      for (const v1::StepRecord* zero : zeros_) found_.zeros.Add(*zero, 0, source_);
      zeros_.clear();
    }
  }

  const LogSource& source_;
  Found& found_;
  bool seen_real_ = false;
  bool reported_ = false;
  std::vector<const v1::StepRecord*> zeros_;
  std::vector<std::pair<const v1::StepRecord*, double>> leading_;
};

v1::Finding& Report(const CheckContext& context, v1::CheckResult& result, v1::Severity severity, absl::string_view id,
                    const RunSeries& run, const Events& events) {
  v1::Finding& finding = AddFinding(context, result, severity, id, run.name,
                                    {{"run", run.name},
                                     {"step", absl::StrCat(events.first_step)},
                                     {"count", absl::StrCat(events.count)},
                                     {"value", FormatDouble(events.value)}});
  SetFact(finding, "step", events.first_step);
  SetFact(finding, "count", events.count);
  SetFact(finding, "value", events.value);
  SetFact(finding, "run", run.name);
  for (const std::string& where : events.where) finding.add_evidence(where);
  (run.side == Side::kBaseline ? finding.mutable_baseline() : finding.mutable_migrated())
      ->assign(absl::StrCat(id == "loss_missing" ? "no loss" : FormatDouble(events.value), " (", run.name, ")"));
  return finding;
}

}  // namespace

bool FindNonFinite(const CheckContext& context, v1::CheckResult& result, const RunSeries& run) {
  Found found;
  for (const LogSource& source : run.logs) {
    std::map<std::pair<std::string, int>, Walker> walkers;
    for (const v1::StepRecord& record : source.log().records()) {
      const int rank = record.has_rank() ? record.rank() : -1;
      walkers.try_emplace({record.engine(), rank}, source, found).first->second.Next(record);
    }
    for (auto& [key, walker] : walkers) walker.End();
  }
  if (found.nan_loss.count > 0) Report(context, result, v1::SEVERITY_ERROR, "nan_loss", run, found.nan_loss);
  if (found.nan_eval.count > 0) Report(context, result, v1::SEVERITY_ERROR, "nan_loss/validation", run, found.nan_eval);
  if (found.zeros.count > 0) Report(context, result, v1::SEVERITY_ERROR, "nan_suspected", run, found.zeros);
  if (found.missing.count > 0) Report(context, result, v1::SEVERITY_ERROR, "loss_missing", run, found.missing);
  const bool many = found.nan_norm.count >= kNanNormsMin;
  if (found.nan_norm.count > 0) {
    Report(context, result, many ? v1::SEVERITY_ERROR : v1::SEVERITY_WARNING, "nan_grad_norm", run, found.nan_norm);
  }
  return found.nan_loss.count + found.nan_eval.count + found.zeros.count + found.missing.count > 0 || many;
}

}  // namespace paritect
