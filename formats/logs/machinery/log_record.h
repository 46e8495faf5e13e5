// What one line of a log told, and where a run says that it begins or goes on: what the builder of a RunLog collects
// and hands to its merging and to its following.
#ifndef PARITECT_FORMATS_LOGS_MACHINERY_LOG_RECORD_H_
#define PARITECT_FORMATS_LOGS_MACHINERY_LOG_RECORD_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "formats/logs/machinery/step_values.h"

namespace paritect {

// One line's worth of values. `values.step` is as printed.
struct LogRecord {
  StepValues values;
  bool has_step = false;
  // The printed step counts within its epoch: the global step is (epoch_index x steps_per_epoch) + step.
  bool step_in_epoch = false;
  // That is how such a line is meant as a rule ("epoch 1 step 61/240"); where steps go on over the ends of all epochs,
  // they count from the start of the run.
  bool may_go_on = false;
  // As above, but only if the file shows it: the step falls where the epoch grows. Else the step is global.
  bool maybe_in_epoch = false;
  std::int64_t epoch_index = 0;      // 0-based
  std::int64_t steps_per_epoch = 0;  // 0: not printed
  bool skipped_is_total = false;     // `skipped` counts from the start of the run
  bool repeats = false;              // the same step with the same loss stands right before it
  bool stays = false;                // however long the log is (run_log_thin.cc): later records leave out what it tells
  bool taken = false;                // by TakeLive, as it is
  bool beside = false;               // of another dialect's counter (AddBeside)
  bool by_epoch = false;             // the line names no step: its epoch stands for one where no line of the log does
  bool has_result = false;           // of an evaluation
  bool second_result = false;        // another evaluation of a step that has one: no step of the curve
  double accuracy_resolution = 0;    // half a unit of the last printed digit
};

// A line that says that the run goes on from a checkpoint (`resume`), or one that a program prints once, when a run
// begins.
struct RestartMarker {
  std::size_t at = 0;  // records before it
  bool resume = false;
  std::optional<std::int64_t> global_step;
  std::int64_t line = 0;
};

// Who wrote a record: rank and engine; -1: the line names none.
using LogWriter = std::pair<std::int32_t, std::int32_t>;

inline LogWriter WriterOf(const StepValues& record) {
  return {record.has_rank() ? record.rank() : -1, record.has_engine() ? record.engine() : -1};
}

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_MACHINERY_LOG_RECORD_H_
