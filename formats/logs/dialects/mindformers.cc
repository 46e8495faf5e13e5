// MindFormers' MFLossMonitor: the step counts within its epoch; `loss` holds [last/mean] without data sinking. Overflow
// is known of printed steps only.
//   ... - INFO - { Epoch:[  1/  2], step:[   10/ 1000], loss:[ 9.876/ 9.900], per_step_time: 812ms, lr: 1.5e-06,
//   overflow cond: False, loss_scale: 65536.0, global_norm: [1.2345678]
// Source: mindspore-lab/mindformers mindformers/core/callback/callback.py.
#include "absl/strings/match.h"
#include "formats/logs/log_format.h"
#include "formats/logs/machinery/field_names.h"
#include "formats/logs/machinery/named_values.h"

namespace paritect {
namespace {

bool IsMindFormersLine(absl::string_view line) {
  return absl::StrContains(line, "{ Epoch:[") && absl::StrContains(line, "step:[") && absl::StrContains(line, "loss:");
}

// "[ 10/ 1000]" behind `word`
bool Fraction(absl::string_view line, absl::string_view word, LogNumber& part, LogNumber& whole) {
  const std::size_t at = line.find(word);
  if (at == absl::string_view::npos) return false;
  const absl::string_view rest = line.substr(at + word.size());
  const std::size_t slash = rest.find('/');
  if (slash == absl::string_view::npos) return false;
  part = ReadLogNumber(rest);
  whole = ReadLogNumber(rest.substr(slash + 1));
  return part.kind == LogNumber::Kind::kValue && whole.kind == LogNumber::Kind::kValue;
}

class MindFormersDialect : public LineDialect {
 public:
  bool Collect(absl::string_view text, LineFields& fields) override {
    if (!IsMindFormersLine(text)) return false;
    LogNumber place[4];
    if (!Fraction(text, "Epoch:[", place[0], place[1]) || !Fraction(text, "step:[", place[2], place[3])) return false;
    for (int i = 0; i < 4; ++i) fields.Add(kPlace + i, place[i]);
    FindPlainFields(text.substr(text.find("loss:")), fields);
    return true;
  }

  bool Line(const LogLine& line, RunLogBuilder& out) override {
    LineFields found;
    if (line.piece && Collect(line.text, found)) return Emit(line, found, out);
    if (!IsMindFormersLine(line.text)) return false;
    out.Unparsed(line.number, "a MindFormers line whose epoch or step cannot be read");
    return true;
  }

  bool Emit(const LogLine& line, const LineFields& found, RunLogBuilder& out) override {
    std::int64_t place[4] = {};
    LineFields rest;
    for (const FieldValue& field : found.values) {
      if (field.slot >= kPlace) {
        place[field.slot - kPlace] = static_cast<std::int64_t>(field.number.value);
      } else {
        rest.values.push_back(field);
      }
    }
    const auto [epoch, epochs, step, steps] = place;
    FieldCollector fields;
    fields.SetLine(line.number);
    std::int64_t ignored = 0;
    TakeFields(rest, fields, ignored);
    if (fields.spliced()) {
      out.Unparsed(line.number, "another writer's text stands inside a number");
      return true;
    }
    fields.Finish(out);
    LogRecord& record = fields.record();
    record.has_step = true;
    record.step_in_epoch = true;
    record.epoch_index = epoch - 1;
    record.steps_per_epoch = steps;
    record.values.set_step(step);
    record.values.set_epoch(static_cast<double>(epoch));
    if (line.rank) record.values.set_rank(*line.rank);
    if (record.values.has_overflow()) out.set_overflow_seen();
    NoteStride(step, line.number, out);
    out.TotalSteps(epochs * steps);
    out.Add(std::move(record));
    return true;
  }

 private:
  static constexpr int kPlace = 16;  // slots of epoch, epochs, step and steps, behind those of LineSlot

  void NoteStride(std::int64_t step, std::int64_t line, RunLogBuilder& out) {
    if (!noted_ && last_ > 0 && step > last_ + 1) {
      noted_ = true;
      out.AddNote("overflow_sampled", line, "not every step is printed: overflows of the others are not known");
    }
    last_ = step;
  }

  std::int64_t last_ = 0;
  bool noted_ = false;
};

bool Sniff(const LogHead& head) {
  return AnyLine(head.text, &IsMindFormersLine);
}

}  // namespace

extern const LogFormat kMindFormersLogFormat;
const LogFormat kMindFormersLogFormat = {"mindformers", &Sniff, &CreateTextLogParser<MindFormersDialect>,
                                         &MakeLineDialect<MindFormersDialect>, "{ E"};

}  // namespace paritect
