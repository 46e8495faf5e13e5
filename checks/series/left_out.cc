#include "checks/series/left_out.h"

#include "checks/series/held_rate.h"

namespace paritect {
namespace {

// The scale of the step after an overflow tells whether a dynamic scaler saw it.
bool ScaleFalls(const std::vector<const v1::StepRecord*>& records, std::size_t at) {
  if (!records[at]->has_loss_scale()) return false;
  const double scale = records[at]->loss_scale();
  if (at > 0 && records[at - 1]->has_loss_scale() && scale < records[at - 1]->loss_scale()) return true;
  return at + 1 < records.size() && records[at + 1]->has_loss_scale() && records[at + 1]->loss_scale() < scale;
}

// A counter may tell of an overflow with the next record.
bool CountedLate(const std::vector<const v1::StepRecord*>& records, std::size_t at) {
  return at + 1 < records.size() && records[at + 1]->skipped() > 0;
}

}  // namespace

Update UpdateAt(const std::string& format, const std::vector<const v1::StepRecord*>& records, std::size_t at) {
  const v1::StepRecord& record = *records[at];
  if (record.overflow_applied()) return Update::kMade;
  if (record.overflow() || record.skipped() > 0) return Update::kLeftOut;
  if (ScaleFalls(records, at)) return Update::kLeftOut;
  if (record.has_skipped()) return CountedLate(records, at) ? Update::kLeftOut : Update::kMade;
  if (record.has_overflow()) return Update::kMade;
  if (!ScheduleCountsUpdates(format)) return Update::kUnknown;
  return HeldRateAt(records, at) == HeldRate::kHeld ? Update::kLeftOut : Update::kUnknown;
}

}  // namespace paritect
