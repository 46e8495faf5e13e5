// Keras: a bar a batch, rewritten in place; `loss` is the mean since the epoch began.
//   Epoch 1/2
//     10/1000 [>.............................] - ETA: 6:31 - loss: 2.5000 - accuracy: 0.1234
//   390/390 - 60s - loss: 0.0043 - val_loss: 0.0058          (verbose=2; Keras 3 draws the bar with U+2501)
// Source: keras-team/keras keras/utils/generic_utils.py `Progbar`.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "formats/logs/log_format.h"
#include "formats/logs/machinery/field_names.h"
#include "formats/logs/machinery/plain_lines.h"

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
  return drawn && (absl::StrContains(line, "- loss: ") || absl::StrContains(line, "loss: "));
}

// "Epoch 1/2" alone on its line.
bool ReadEpoch(absl::string_view line, std::int64_t& epoch, std::int64_t& epochs) {
  line = absl::StripAsciiWhitespace(line);
  if (!absl::ConsumePrefix(&line, "Epoch ")) return false;
  if (!TakeNumber(line, epoch) || line.empty() || line[0] != '/') return false;
  line.remove_prefix(1);
  return TakeNumber(line, epochs) && line.empty();
}

class KerasDialect : public LineDialect {
 public:
  bool Line(const LogLine& line, RunLogBuilder& out) override {
    std::int64_t epoch = 0;
    std::int64_t epochs = 0;
    if (ReadEpoch(line.text, epoch, epochs)) {
      epoch_ = epoch;
      done_ = 0;
      if (epoch == 1) out.Banner(line.number);
      epochs_ = epochs;
      return true;
    }
    Bar bar;
    if (!ReadBar(line.text, bar)) return false;
    // A bar that begins anew within an epoch is an evaluation's.
    if (epoch_ == 0 || bar.done < done_) return true;
    done_ = bar.done;
    FieldCollector fields;
    fields.SetLine(line.number);
    std::int64_t ignored = 0;
    CollectPlainFields(bar.rest, fields, ignored);
    fields.Finish(out);
    LogRecord& record = fields.record();
    record.has_step = true;
    record.step_in_epoch = true;
    record.epoch_index = epoch_ - 1;
    record.steps_per_epoch = bar.total;
    record.values.set_step(bar.done);
    record.values.set_epoch(static_cast<double>(epoch_));
    out.TotalSteps(epochs_ * bar.total);
    out.set_interval_means();
    out.Add(std::move(record));
    return true;
  }

 private:
  std::int64_t epoch_ = 0;
  std::int64_t epochs_ = 0;
  std::int64_t done_ = 0;
};

bool Sniff(const LogHead& head) {
  bool bar_seen = false;
  bool epoch_seen = false;
  return AnyLine(head.text, [&](absl::string_view line) {
    Bar bar;
    std::int64_t epoch = 0;
    std::int64_t epochs = 0;
    epoch_seen = epoch_seen || ReadEpoch(line, epoch, epochs);
    bar_seen = bar_seen || ReadBar(line, bar);
    return bar_seen && epoch_seen;
  });
}

}  // namespace

extern const LogFormat kKerasLogFormat;
const LogFormat kKerasLogFormat = {"keras", &Sniff, &CreateTextLogParser<KerasDialect>, &MakeLineDialect<KerasDialect>};

}  // namespace paritect
