// Named series over steps (TensorBoard, wandb, MLflow, golden values) to records: which tag is the loss is decided
// once, over all tags.
#ifndef PARITECT_FORMATS_LOGS_SERIES_TABLE_H_
#define PARITECT_FORMATS_LOGS_SERIES_TABLE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "formats/logs/run_log_builder.h"

namespace paritect {

class SeriesTable {
 public:
  // The later of two values of one tag at one step stands. Beyond a bound on values nothing is added (Finish notes it).
  void Add(std::int64_t step, absl::string_view tag, double value);
  // One record a step, in step order, all tags under `metrics`; the table is empty afterwards.
  void Finish(RunLogBuilder& out);

  std::size_t replaced() const { return replaced_; }

 private:
  int TagId(absl::string_view tag);
  int ChooseLoss() const;
  LogRecord ToRecord(std::int64_t step, const std::map<int, double>& values, int loss, bool evaluation) const;

  std::map<std::string, int> tags_;
  std::vector<std::string> names_;
  std::map<std::int64_t, std::map<int, double>> rows_;
  std::size_t values_ = 0;
  std::size_t replaced_ = 0;
  bool full_ = false;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_SERIES_TABLE_H_
