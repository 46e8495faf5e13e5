// Fields of one line or row, by what their keys mean (log_keys.h), become a record.
#ifndef PARITECT_FORMATS_LOGS_MACHINERY_FIELD_NAMES_H_
#define PARITECT_FORMATS_LOGS_MACHINERY_FIELD_NAMES_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "formats/logs/machinery/log_keys.h"
#include "formats/logs/machinery/log_numbers.h"
#include "formats/logs/machinery/run_log_builder.h"

namespace paritect {

// Collects the fields of one line or row and turns them into a record.
class FieldCollector {
 public:
  void Add(absl::string_view key, const LogNumber& number) { Add(LookUpLogKey(key), number); }
  void Add(const LogKey& key, const LogNumber& number);
  void SetLine(std::int64_t line) { record_.values.set_line(line); }

  LogRecord& record() { return record_; }
  bool has_loss_key() const { return loss_ != LogField::kOther || other_losses_ > 0 || terms_ > 1; }
  bool has_values() const { return has_values_; }
  bool spliced() const { return spliced_; }
  // A step that is no whole number: refused, NaN, or too large to be counted.
  bool odd_step() const { return odd_step_; }
  // Settles which loss counts and notes refused numbers. `name_metrics`: other numbers are kept as metrics.
  void Finish(RunLogBuilder& out);
  // After Finish, where the line is of an evaluation: its loss is no training loss, its accuracy a validation's.
  void MarkEvaluation();
  bool has_evaluation() const { return record_.values.has_eval_loss() || evaluation_accuracy_ || eval_parts_; }
  bool has_metric() const { return has_metric_; }

 private:
  void AddTerm(const LogNumber& number);
  void SetLoss(const LogNumber& number);
  void SetStep(const LogKey& key, const LogNumber& number);
  void SetAccuracy(const LogKey& key, const LogNumber& number);
  void SetLr(const LogKey& key, double value);
  void SetGradNorm(const LogKey& key, double value);
  void SetEvalLoss(const LogKey& key, double value);
  void AddLoss(const LogKey& key, const LogNumber& number);

  LogRecord record_;
  LogField loss_ = LogField::kOther;
  LogNumber loss_number_;
  int other_losses_ = 0;
  LogNumber other_loss_number_;
  int terms_ = 0;
  LogNumber term_sum_;
  bool has_values_ = false;
  bool plain_norm_ = false;  // a gradient norm under its usual name
  double norm_squares_ = 0;  // of the groups of a dictionary
  bool has_norm_parts_ = false;
  bool evaluation_accuracy_ = false;
  int accuracy_order_ = 9;
  int eval_loss_order_ = 9;
  bool eval_parts_ = false;  // several losses of an evaluation, none of which is the whole
  bool has_metric_ = false;
  bool global_step_ = false;
  bool odd_step_ = false;
  bool spliced_ = false;
  std::string refused_;  // "loss '2,3'", ...
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_MACHINERY_FIELD_NAMES_H_
