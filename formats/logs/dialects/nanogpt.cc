// nanoGPT and modded-nanogpt.
//   iter 100: loss 2.1234, time 123.45ms, mfu 30.12%
//   step 250: train loss 2.1234, val loss 2.2345          (an evaluation of both splits)
//   step:125/3225 val_loss:4.62997 train_time:23.965s step_avg:191.72ms
// Source: karpathy/nanoGPT train.py, KellerJordan/modded-nanogpt.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "formats/logs/log_format.h"
#include "formats/logs/machinery/field_names.h"
#include "formats/logs/machinery/named_values.h"

namespace paritect {
namespace {

bool DigitAt(absl::string_view text) {
  return !text.empty() && absl::ascii_isdigit(static_cast<unsigned char>(text[0]));
}

enum class Shape { kNone, kIteration, kEvaluation, kModded };

Shape ShapeOf(absl::string_view line) {
  if (absl::ConsumePrefix(&line, "iter ")) {
    return DigitAt(line) && absl::StrContains(line, ": loss ") ? Shape::kIteration : Shape::kNone;
  }
  if (absl::ConsumePrefix(&line, "step ")) {
    const bool both = absl::StrContains(line, ": train loss ") && absl::StrContains(line, ", val loss ");
    return DigitAt(line) && both ? Shape::kEvaluation : Shape::kNone;
  }
  if (absl::ConsumePrefix(&line, "step:")) {
    const bool modded = absl::StrContains(line, " val_loss:") || absl::StrContains(line, " train_time:");
    return DigitAt(line) && modded ? Shape::kModded : Shape::kNone;
  }
  return Shape::kNone;
}

class NanoGptDialect : public LineDialect {
 public:
  bool Line(const LogLine& line, RunLogBuilder& out) override {
    const Shape shape = ShapeOf(line.text);
    if (shape == Shape::kNone) return false;
    FieldCollector fields;
    fields.SetLine(line.number);
    std::int64_t total = 0;
    CollectPlainFields(line.text, fields, total);
    LogRecord& record = fields.record();
    if (!record.has_step || fields.spliced()) {
      out.Unparsed(line.number, "a progress line whose numbers cannot be read");
      return true;
    }
    fields.Finish(out);
    if (shape == Shape::kEvaluation) {
      // An estimate over many batches: not the loss of the step.
      record.values.drop_loss();
    }
    if (total > 0) out.TotalSteps(total);
    if (record.values.has_loss() || fields.has_values() || !record.values.metrics().empty()) out.Add(std::move(record));
    return true;
  }
};

bool Sniff(const LogHead& head) {
  return AnyLine(head.text, [](absl::string_view line) { return ShapeOf(line) != Shape::kNone; });
}

}  // namespace

extern const LogFormat kNanoGptLogFormat;
const LogFormat kNanoGptLogFormat = {"nanogpt", &Sniff, &CreateTextLogParser<NanoGptDialect>,
                                     &MakeLineDialect<NanoGptDialect>, "ossn_t"};  // train_time

}  // namespace paritect
