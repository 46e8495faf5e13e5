// How the run ended: its last words, unless steps behind them tell that it went on.
#include "absl/strings/str_cat.h"
#include "common/numbers.h"
#include "formats/logs/machinery/run_log_builder.h"

namespace paritect {

void RunLogBuilder::End(v1::RunEnd::State state, std::string words, std::int64_t line,
                        std::optional<std::int32_t> rank) {
  end_mark_ = {-1, 0, markers_.size(), rank};
  if (last_added_ != last_of_.end()) {
    const LogRecord& last = entries_[last_added_->second];
    end_mark_.step = last.values.step();
    end_mark_.epoch_index = last.step_in_epoch ? last.epoch_index : 0;
  }
  log_.mutable_end()->set_state(state);
  log_.mutable_end()->set_evidence(std::move(words));
  log_.mutable_end()->set_line(line);
}

void RunLogBuilder::ReviseEnd(const LogRecord& record) {
  const v1::RunEnd::State state = log_.end().state();
  if (state == v1::RunEnd::STATE_UNSPECIFIED) return;
  const StepValues& values = record.values;
  if (state == v1::RunEnd::STATE_ABORTED) {
    // What another rank still prints does not bring the one back that broke off.
    const bool other = end_mark_.rank && values.has_rank() && values.rank() != *end_mark_.rank;
    if (!other) log_.clear_end();
    return;
  }
  // An evaluation behind the end mark, or the last step of another rank, is of the run that ended.
  if (!values.has_loss() && !values.has_lr() && !values.has_grad_norm()) return;
  const std::pair<std::int64_t, std::int64_t> at(record.step_in_epoch ? record.epoch_index : 0, values.step());
  const bool beyond = at > std::pair<std::int64_t, std::int64_t>(end_mark_.epoch_index, end_mark_.step);
  if ((record.has_step && beyond) || markers_.size() > end_mark_.markers) log_.clear_end();
}

// `last`: the largest step; `epoch`: the largest epoch.
void RunLogBuilder::FillEnd(std::int64_t last, double epoch) {
  v1::RunEnd& end = *log_.mutable_end();
  if (last >= 0) end.set_last_step(last);
  if (total_steps_ > 0) end.set_total_steps(total_steps_);
  const bool reached = total_steps_ > 0 && last >= total_steps_;
  // Who broke off behind the last step did not end well, whatever the step.
  if (end.state() == v1::RunEnd::STATE_ABORTED || (end.state() != v1::RunEnd::STATE_UNSPECIFIED && !reached)) return;
  if (total_steps_ > 0 && last >= 0) {
    end.set_state(last >= total_steps_ ? v1::RunEnd::STATE_FINISHED : v1::RunEnd::STATE_UNFINISHED);
    end.set_evidence(absl::StrCat("step ", last, " of ", total_steps_));
  } else if (total_epochs_ > 0 && (epoch > 0 || epochs_from_zero_)) {
    epoch += epochs_from_zero_ ? 1 : 0;
    end.set_state(epoch >= total_epochs_ ? v1::RunEnd::STATE_FINISHED : v1::RunEnd::STATE_UNFINISHED);
    end.set_evidence(absl::StrCat("epoch ", FormatDouble(epoch), " of ", FormatDouble(total_epochs_)));
  }
}

}  // namespace paritect
