// Taking: what the readers of logs hand over, line by line, and how it becomes one RunLog: one record a (rank, step).
// How the records of several ranks and of restarts become one curve is segment_merger.h's, how a log is followed while
// it is written live_steps.h's.
//
// Rules (docs/log-formats.md): lines that tell different things of one step add up; a counter of skipped steps beats
// counted lines; nothing is averaged and nothing guessed.
#ifndef PARITECT_FORMATS_LOGS_MACHINERY_RUN_LOG_BUILDER_H_
#define PARITECT_FORMATS_LOGS_MACHINERY_RUN_LOG_BUILDER_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "formats/logs/machinery/live_steps.h"
#include "formats/logs/machinery/log_numbers.h"
#include "formats/logs/machinery/log_record.h"
#include "formats/logs/machinery/loss_parts.h"
#include "formats/logs/machinery/missing_loss.h"
#include "formats/logs/machinery/record_list.h"
#include "formats/logs/machinery/step_values.h"
#include "paritect/v1/run_stats.pb.h"

namespace paritect {

// A line that says that a step was skipped.
struct OverflowMessage {
  std::int64_t line = 0;
  std::optional<std::int32_t> rank;
  std::optional<double> scale;            // to which it brings the loss scale
  bool applied = false;                   // the step was not skipped in spite of the overflow
  bool one_writer = false;                // only one process prints such lines, so that each is an overflow of its own
  std::uint64_t wording = 0;              // alike for lines of one place of a program
  std::optional<std::int64_t> iteration;  // by its own number, counted from 0; ranks that print it again add nothing
};

// Records that are kept at most; beyond them every second one gives way (run_log_thin.cc), so that a log of any
// length fits into memory.
inline constexpr std::size_t kLogRecordsMax = 500'000;

class RunLogBuilder {
 public:
  void Add(LogRecord record);
  // What a line tells that names no step: an evaluation's result belongs to the training step told before it. Where the
  // log has told no step so far, a whole epoch stands for the step (RunLog::notes `step_is_epoch`).
  void AddWithoutStep(LogRecord record);
  // A record that belongs before the only one that there is; false, adding nothing, where there are others or none.
  bool AddBeforeFirst(LogRecord record);
  // What another dialect's counter tells beside the curve: it has its steps and no loss. Folded into the curve's record
  // of the same step, where there is one.
  void AddBeside(LogRecord record);
  // Programs tell an overflow more than once: rank by rank, and by a scaler's message beside an engine's.
  void Overflow(const OverflowMessage& message);
  // The scale of the overflow told before.
  void OverflowScale(double scale);
  // The run goes on from a checkpoint; `global_step` where the line says it.
  void Resume(std::int64_t line, std::optional<std::int64_t> global_step);
  // What a program prints once, when a run begins.
  void Banner(std::int64_t line);
  void AddNote(absl::string_view kind, std::int64_t line, std::string message);
  void Unparsed(std::int64_t line, std::string why);
  void TotalSteps(std::int64_t total);
  void TotalEpochs(double total);
  void set_epochs_from_zero() { epochs_from_zero_ = true; }
  // The last word counts, but for what comes after it: training steps behind it tell that the run went on.
  void End(v1::RunEnd::State state, std::string words, std::int64_t line,
           std::optional<std::int32_t> rank = std::nullopt);
  void AddSettings(v1::SettingsDocument document);
  void set_interval_means() { log_.set_interval_means(true); }
  void set_overflow_seen() { log_.set_overflow_seen(true); }
  void set_incomplete_tail() { log_.set_incomplete_tail(true); }
  // Steps are counted from the order of the lines: the format prints none.
  void set_steps_by_order(std::int64_t line);

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  // To be changed by the caller.
  LogRecord* last() {
    if (entries_.empty()) return nullptr;
    entries_.back().taken = false;
    return &entries_.back();
  }
  RecordList<LogRecord>& entries() { return entries_; }

  v1::RunLog Build(absl::string_view format);

  // For tests: lines of a known form (line_form.h) are read like any other.
  void set_reads_every_line_anew() { reads_every_line_anew_ = true; }
  bool reads_every_line_anew() const { return reads_every_line_anew_; }

  // For a log that is still written: TakeLive is called between the lines, Build never. Readers that number steps when
  // all is read number them at once.
  void set_live() { is_live_ = true; }
  bool is_live() const { return is_live_; }
  // The records since the call before, and those that hold more than they did then, with steps and counts as far as
  // the log told so far (run_log_live.cc). What was taken is forgotten, but for the last record of each rank.
  std::vector<v1::StepRecord> TakeLive();
  const v1::RunEnd& end() const { return log_.end(); }
  // What was told beside the records so far: flags, settings, notes, the end mark, what the run states of its length.
  v1::RunLog LiveAbout() const;

 private:
  using Key = LogWriter;
  // The overflow told before, by whatever messages.
  struct OverflowTold {
    std::int64_t first_line = 0;
    std::int64_t line = 0;  // of the last message
    std::optional<double> scale;
    std::optional<std::int32_t> rank;
    bool applied = false;
    std::size_t entries = 0;  // with its record, of all that there were
    std::vector<std::uint64_t> wordings;
  };
  enum class SameOverflow { kNo, kYes, kPerhaps };

  // `at`: where the record stands or will stand.
  void LookForLoss(const Key& key, std::size_t at, StepValues& record);
  // Gives the record the loss that its parts make; and those before it, where it tells of a part that they lack.
  void SettleLoss(StepValues& record);
  void NoteLossParts(v1::RunLog& log) const;
  // Takes the end mark back where the record tells that the run went on.
  void ReviseEnd(const LogRecord& record);
  bool FoldIntoLast(LogRecord& record);
  void DecideByEpoch();
  void ForgetTaken(const std::vector<std::size_t>& kept);
  void Thin();
  void DropValuesOfOtherSteps();
  void DecideWhetherStepsGoOn();
  void DecideMaybeInEpoch();
  void ResolveEpochSteps();
  void ResolveRank0Overflows();
  SameOverflow IsToldAgain(const OverflowMessage& message) const;
  bool MergesIntoTold(const OverflowMessage& message);
  void FoldBeside();
  void FoldFlaggedOverflows();
  void DropImpossibleOverflows();
  void CountersToDifferences();
  void MergeSegments();
  void NoteKind(const LogRecord& record, const Key& key);
  void FillEnd(std::int64_t last, double epoch);

  // Where the end mark stands among the records.
  struct EndMark {
    std::int64_t step = -1;  // of the last record before it, with its epoch where steps count within one
    std::int64_t epoch_index = 0;
    std::size_t markers = 0;
    std::optional<std::int32_t> rank;
  };

  v1::RunLog log_;
  RecordList<LogRecord> entries_;
  EndMark end_mark_;
  // What the records hold at all: passes over them that would find nothing are left out.
  bool has_in_epoch_ = false;
  bool has_maybe_in_epoch_ = false;
  bool has_skipped_ = false;
  bool has_skipped_totals_ = false;
  bool only_grows_ = true;  // one rank and engine, each record with a step above the one before
  std::int64_t last_step_ = 0;
  bool has_unknown_steps_ = false;
  Key only_key_;
  bool has_steps_ = false;     // some record does not go by its epoch
  bool has_by_epoch_ = false;  // some record goes by its epoch
  bool has_beside_ = false;
  std::vector<bool> dropped_;
  LossParts loss_parts_;
  MissingLoss missing_loss_;
  OverflowTold told_;
  std::set<std::int64_t> told_iterations_;  // of this segment
  std::vector<RestartMarker> markers_;
  std::map<Key, std::size_t> last_of_;
  std::map<Key, std::size_t>::iterator last_added_ = last_of_.end();
  std::map<std::string, int> note_counts_;
  std::int64_t kept_stride_ = 1;  // in printed intervals
  std::size_t thin_at_ = kLogRecordsMax;
  bool thins_all_ = false;  // evaluations as well: most records are of the kinds that should stay
  std::size_t overflows_ = 0;
  std::int64_t total_steps_ = 0;
  double total_epochs_ = 0;
  bool epochs_from_zero_ = false;
  bool is_live_ = false;
  bool reads_every_line_anew_ = false;
  LiveSteps live_;
  std::size_t forgotten_ = 0;  // entries that stood before entries_[0]
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_MACHINERY_RUN_LOG_BUILDER_H_
