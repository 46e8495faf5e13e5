// Following: what merging settles over all records of a log is settled record by record while it is written.
//
// A step that counts within its epoch becomes global with the length printed, else with the largest step of an epoch
// that is over; a counter of skipped steps becomes differences; a restart gives the offset of steps that began anew.
// What was settled stands: a later line never changes a step that was given.
#ifndef PARITECT_FORMATS_LOGS_MACHINERY_LIVE_STEPS_H_
#define PARITECT_FORMATS_LOGS_MACHINERY_LIVE_STEPS_H_

#include <map>
#include <vector>

#include "formats/logs/machinery/log_record.h"
#include "paritect/v1/run_stats.pb.h"

namespace paritect {

// A value: who looks ahead works on a copy.
class LiveSteps {
 public:
  // The record as it is given, with its global step. Records come in the order of the log. `place`: among those that
  // are kept, behind `forgotten` that are not; `markers` count places likewise.
  v1::StepRecord Settle(const LogRecord& entry, std::size_t place, const std::vector<RestartMarker>& markers,
                        std::size_t forgotten);
  std::int64_t last_step() const { return last_step_; }
  // Ranks print one overflow each: that of the lowest rank so far counts.
  bool CountsOverflowOf(std::int32_t rank);

 private:
  // What the records that were given leave for those to come.
  struct Writer {
    std::int64_t skipped_total = 0;
    std::int64_t offset = 0;
    std::int64_t last = -1;
    std::size_t seen = 0;  // entries up to its last one, of all that there were
  };

  std::map<LogWriter, Writer> writers_;
  std::int64_t last_step_ = 0;
  std::int64_t epoch_ = -1;
  std::int64_t first_epoch_ = 0;
  std::int64_t largest_ = 0;  // step of that epoch
  std::int64_t length_ = 0;   // of an epoch
  bool falls_ = false;        // steps were seen to count within their epochs
  bool goes_on_ = false;      // steps were seen to go on over an epoch's end
  std::int32_t overflow_rank_ = -1;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_MACHINERY_LIVE_STEPS_H_
