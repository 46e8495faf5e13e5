// Keras: a bar a batch, rewritten in place; `loss` is the mean since the epoch began.
//   Epoch 1/2
//     10/1000 [>.............................] - ETA: 6:31 - loss: 2.5000 - accuracy: 0.1234
//   390/390 - 60s - loss: 0.0043 - val_loss: 0.0058          (verbose=2; Keras 3 draws the bar with U+2501)
// Source: keras-team/keras keras/utils/generic_utils.py `Progbar`.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "formats/logs/log_format.h"
#include "formats/logs/machinery/field_names.h"
#include "formats/logs/machinery/named_values.h"
#include "formats/logs/machinery/rank_prefix.h"

namespace paritect {
namespace {

struct Bar {
  std::int64_t done = 0;
  std::int64_t total = 0;
  absl::string_view rest;
};

bool TakeNumber(absl::string_view& text, std::int64_t& value) {
  std::size_t n = 0;
  value = 0;
  for (; n < text.size() && n < 12 && absl::ascii_isdigit(static_cast<unsigned char>(text[n])); ++n) {
    value = value * 10 + (text[n] - '0');
  }
  text.remove_prefix(n);
  return n > 0;
}

// "  10/1000 [" and the like at the front of a line.
bool ReadBar(absl::string_view line, Bar& bar) {
  line = absl::StripLeadingAsciiWhitespace(line);
  if (!TakeNumber(line, bar.done) || line.empty() || line[0] != '/') return false;
  line.remove_prefix(1);
  if (!TakeNumber(line, bar.total) || bar.total == 0) return false;
  line = absl::StripLeadingAsciiWhitespace(line);
  const bool drawn = absl::StartsWith(line, "[") || absl::StartsWith(line, "- ") ||
                     absl::StartsWith(line, "\xE2\x94\x81") || absl::StartsWith(line, "\xE2\x94\x80");
  bar.rest = line;
  // A bar of a download ends with its time a step. One that goes on with results may have lost its loss.
  return drawn && (absl::StrContains(line, "loss: ") || absl::StrContains(line, "/step - "));
}

// A word that somebody's collector of logs puts before each line: a host ("worker-0:"), a time.
void StripFirstWord(absl::string_view& line) {
  const std::size_t blank = line.find(' ');
  if (blank == absl::string_view::npos || blank == 0) return;
  const char last = line[blank - 1];
  if (last == ':' || last == ']' || (last == 'Z' && absl::ascii_isdigit(static_cast<unsigned char>(line[0])))) {
    line = absl::StripLeadingAsciiWhitespace(line.substr(blank));
  }
}

// "Epoch 1/2" alone on its line.
bool ReadEpoch(absl::string_view line, std::int64_t& epoch, std::int64_t& epochs) {
  line = absl::StripAsciiWhitespace(line);
  StripFirstWord(line);
  if (!absl::ConsumePrefix(&line, "Epoch ")) return false;
  if (!TakeNumber(line, epoch) || line.empty() || line[0] != '/') return false;
  line.remove_prefix(1);
  return TakeNumber(line, epochs) && line.empty();
}

// Bars of a validation stand within an epoch: they begin anew, or are of another number of batches, and Keras of
// TensorFlow 1.14 and 1.15 writes "Epoch 1/N" before them. Behind them the last training bar comes again, with the
// validation's results.
class KerasDialect : public LineDialect {
 public:
  bool Line(const LogLine& line, RunLogBuilder& out) override {
    std::int64_t epoch = 0;
    std::int64_t epochs = 0;
    if (ReadEpoch(line.text, epoch, epochs)) {
      Epoch(line.number, epoch, epochs, out);
      return true;
    }
    Bar bar;
    if (!ReadBar(line.text, bar)) return false;
    if (epoch_ == 0) return true;
    doubt_ ? InDoubt(line, bar, out) : Next(line, bar, out);
    return true;
  }

  void Finish(RunLogBuilder& out) override {
    // A log that ends within a validation, or a second run behind a whole one.
    const bool whole = epoch_ == epochs_ && done_ == total_;
    if (doubt_) Settle(!whole, out);
  }

 private:
  // The validation comes when the training bar is at its end, give or take a bar that was not drawn.
  bool IsNearEnd() const { return total_ > 0 && done_ + 2 * std::max<std::int64_t>(stride_, 1) >= total_; }

  void Epoch(std::int64_t line, std::int64_t epoch, std::int64_t epochs, RunLogBuilder& out) {
    // "Epoch 3/N" goes on with epoch 2; "Epoch 2/N" may go on with one begun anew as well.
    if (doubt_) Settle(epoch == epoch_ + 1 && epoch_ > 1, out);
    if (epoch == 1 && epochs == epochs_ && !told_results_ && IsNearEnd()) {
      doubt_ = true;
      doubt_line_ = line;
      return;
    }
    Begin(line, epoch, epochs, out);
  }

  // A `fit` behind one that came to an epoch's end (its last, or by early stopping): its epochs go on with the count.
  // In the middle of an epoch it is a run that begins anew.
  void Begin(std::int64_t line, std::int64_t epoch, std::int64_t epochs, RunLogBuilder& out) {
    const bool next_fit = epoch == 1 && epoch_ > 0 && total_ > 0 && done_ == total_;
    if (next_fit) {
      epochs_before_ += epoch_;
      out.AddNote("next_fit", line, absl::StrCat("another fit begins: its epochs count from ", epochs_before_));
    }
    epoch_ = epoch;
    epochs_ = epochs;
    done_ = 0;
    total_ = 0;
    stride_ = 0;
    evaluates_ = false;
    told_results_ = false;
    if (epoch == 1 && !next_fit) {
      epochs_before_ = 0;
      out.Banner(line);
    }
  }

  // Behind "Epoch 1/N" at an epoch's end: of a validation where the training's last bar comes after them, else of a run
  // that begins anew.
  void InDoubt(const LogLine& line, const Bar& bar, RunLogBuilder& out) {
    if (Closes(bar) && HasResults(bar)) {
      Settle(true, out);
      return Next(line, bar, out);
    }
    if (held_.size() < kHeldMax) held_.push_back({std::string(line.text), line.number});
  }

  void Settle(bool validation, RunLogBuilder& out) {
    const std::vector<Held> held = std::exchange(held_, {});
    doubt_ = false;
    evaluates_ = validation;
    if (validation) return;
    Begin(doubt_line_, 1, epochs_, out);
    for (const Held& one : held) {
      LogLine line;
      line.text = one.text;
      line.number = one.line;
      Bar bar;
      if (ReadBar(line.text, bar)) Next(line, bar, out);
    }
  }

  static bool HasResults(const Bar& bar) { return absl::StrContains(bar.rest, "val_"); }
  bool Closes(const Bar& bar) const { return bar.done == bar.total && bar.total == total_; }

  void Next(const LogLine& line, const Bar& bar, RunLogBuilder& out) {
    if (total_ == 0) total_ = bar.total;
    const bool anew = 2 * bar.done < done_ && IsNearEnd();
    evaluates_ = evaluates_ || anew || bar.total != total_;
    const bool results = Closes(bar) && HasResults(bar);
    if (evaluates_ && !results) return;
    evaluates_ = false;
    // Another process may be a bar behind; what comes again of a whole epoch without results is an evaluation.
    if (bar.done < done_ || (told_results_ && !results)) return;
    told_results_ = told_results_ || results;
    stride_ = std::max(stride_, bar.done - done_);
    done_ = bar.done;
    Add(line, bar, out);
  }

  void Add(const LogLine& line, const Bar& bar, RunLogBuilder& out) {
    FieldCollector fields;
    fields.SetLine(line.number);
    std::int64_t ignored = 0;
    CollectPlainFields(bar.rest, fields, ignored);
    fields.Finish(out);
    LogRecord& record = fields.record();
    record.has_step = true;
    record.step_in_epoch = true;
    record.epoch_index = epochs_before_ + epoch_ - 1;
    record.steps_per_epoch = bar.total;
    record.values.set_step(bar.done);
    record.values.set_epoch(static_cast<double>(epochs_before_ + epoch_));
    out.TotalSteps((epochs_before_ + epochs_) * bar.total);
    out.set_interval_means();
    out.Add(std::move(record));
  }

  struct Held {
    std::string text;
    std::int64_t line;
  };
  static constexpr std::size_t kHeldMax = 100'000;

  std::int64_t epoch_ = 0;
  std::int64_t epochs_ = 0;
  std::int64_t epochs_before_ = 0;  // of fits that came before
  std::int64_t done_ = 0;
  std::int64_t total_ = 0;   // of the epoch's training bars
  std::int64_t stride_ = 0;  // batches between two of them, at most
  bool evaluates_ = false;
  bool told_results_ = false;  // the epoch's last bar came with the validation's results
  bool doubt_ = false;         // behind an "Epoch 1/N" that may be a validation's
  std::int64_t doubt_line_ = 0;
  std::vector<Held> held_;
};

bool Sniff(const LogHead& head) {
  bool bar_seen = false;
  bool epoch_seen = false;
  return AnyLine(head.text, [&](absl::string_view line) {
    Bar bar;
    std::int64_t epoch = 0;
    std::int64_t epochs = 0;
    StripRankPrefix(line);
    epoch_seen = epoch_seen || ReadEpoch(line, epoch, epochs);
    bar_seen = bar_seen || ReadBar(line, bar);
    return bar_seen && epoch_seen;
  });
}

}  // namespace

extern const LogFormat kKerasLogFormat;
const LogFormat kKerasLogFormat = {"keras", &Sniff, &CreateTextLogParser<KerasDialect>, &MakeLineDialect<KerasDialect>,
                                   "ochoss/st"};  // /step

}  // namespace paritect
