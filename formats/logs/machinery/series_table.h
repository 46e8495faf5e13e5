// Named series over steps (TensorBoard, wandb, MLflow, golden values) to records: which tag is the loss is decided
// once, over all tags.
#ifndef PARITECT_FORMATS_LOGS_MACHINERY_SERIES_TABLE_H_
#define PARITECT_FORMATS_LOGS_MACHINERY_SERIES_TABLE_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "formats/logs/machinery/field_names.h"
#include "formats/logs/machinery/run_log_builder.h"

namespace paritect {

// One column a tag.
class SeriesTable {
 public:
  // The later of two values of one tag at one step stands. Beyond a bound on values nothing is added (Finish notes it).
  // Returns whether the tag's step goes back.
  bool Add(std::int64_t step, absl::string_view tag, double value);
  // A restart at `step`: what stands at it or behind it is void.
  void DropFrom(std::int64_t step);
  // One record a step, in step order, all tags under `metrics`; the table is empty afterwards.
  void Finish(RunLogBuilder& out);

 private:
  struct Point {
    std::int64_t step = 0;
    double value = 0;
  };
  struct Series {
    MetricName name;
    LogKey key;
    std::vector<Point> points;
    std::int64_t last_step = 0;
    bool sorted = true;
    std::size_t next = 0;  // while rows are made
  };

  Series& SeriesOf(absl::string_view tag);
  int ChooseLoss() const;
  void Sort(Series& series);
  void AddRow(std::int64_t step, const std::vector<std::size_t>& present, int loss, bool evaluation,
              RunLogBuilder& out);

  absl::flat_hash_map<std::string, std::size_t> index_;
  std::vector<Series> series_;
  std::size_t last_used_ = 0;
  std::size_t values_ = 0;
  bool full_ = false;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_MACHINERY_SERIES_TABLE_H_
