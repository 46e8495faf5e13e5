// PaddleNLP's trainer.
//   [2024-03-03 18:06:33,568] [    INFO] - loss: 1.08327329, learning_rate: 4e-08, global_step: 1,
//   interval_runtime: 4.8704, ...
// Source: PaddlePaddle/PaddleNLP paddlenlp/trainer/trainer.py.
#include "absl/strings/match.h"
#include "formats/logs/log_format.h"
#include "formats/logs/machinery/plain_lines.h"

namespace paritect {
namespace {

bool IsPaddleLine(absl::string_view line) {
  return absl::StrContains(line, "loss: ") && absl::StrContains(line, "global_step: ") &&
         (absl::StrContains(line, "interval_runtime: ") || absl::StrContains(line, "interval_samples_per_second: ") ||
          absl::StrContains(line, "progress_or_epoch: "));
}

class PaddleDialect : public LineDialect {
 public:
  bool Collect(absl::string_view text, LineFields& fields) override {
    return IsPaddleLine(text) && CollectPlainLine(text, fields);
  }

  bool Emit(const LogLine& line, const LineFields& fields, RunLogBuilder& out) override {
    out.set_interval_means();
    return EmitPlainLine(line, fields, out);
  }

  bool Line(const LogLine& line, RunLogBuilder& out) override {
    if (!line.piece || !IsPaddleLine(line.text)) return false;
    out.set_interval_means();
    return ReadPlainLine(line, out);
  }
};

bool Sniff(const LogHead& head) {
  return AnyLine(head.text, &IsPaddleLine);
}

}  // namespace

extern const LogFormat kPaddleLogFormat;
const LogFormat kPaddleLogFormat = {"paddle", &Sniff, &CreateTextLogParser<PaddleDialect>,
                                    &MakeLineDialect<PaddleDialect>, "oss"};

}  // namespace paritect
