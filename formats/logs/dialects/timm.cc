// timm: `Train: 0 [  10/1000 (  1%)]  Loss: 2.500 (2.50)  Time: ...  LR: 1.000e-04`; epochs and steps count from 0.
// The first number is the batch's, the one in brackets the running mean. Source: huggingface/pytorch-image-models
// train.py.
#include "absl/strings/match.h"
#include "formats/logs/log_format.h"
#include "formats/logs/machinery/log_numbers.h"
#include "formats/logs/machinery/plain_lines.h"

namespace paritect {
namespace {

bool IsTimmLine(absl::string_view line) {
  EpochPlace place;
  return absl::StrContains(line, "Train: ") && absl::StrContains(line, "Loss:") && FindEpochPlace(line, place);
}

class TimmDialect : public LineDialect {
 public:
  bool Line(const LogLine& line, RunLogBuilder& out) override {
    EpochPlace place;
    if (absl::StrContains(line.text, "Train: ") && FindEpochPlace(line.text, place)) {
      AddAtEpochPlace(line, place, 0, out);
      return true;
    }
    if (!absl::StrContains(line.text, "Test: ") || !absl::StrContains(line.text, "Loss:")) return false;
    Test(line, out);
    return true;
  }

 private:
  // "Test: [  78/78]  Time: ...  Loss: 0.80 (0.95)  Acc@1: 80.0 (76.1)": batches count from 0; behind the last one the
  // means in brackets are the evaluation's.
  static void Test(const LogLine& line, RunLogBuilder& out) {
    const absl::string_view text = line.text.substr(line.text.find("Test: "));
    const std::size_t open = text.find('[');
    const std::size_t slash = text.find('/');
    if (open == absl::string_view::npos || slash == absl::string_view::npos || slash < open) return;
    const LogNumber batch = ReadLogNumber(text.substr(open + 1));
    const LogNumber last = ReadLogNumber(text.substr(slash + 1));
    if (batch.kind != LogNumber::Kind::kValue || batch.value != last.value) return;
    LogRecord record;
    record.values.set_line(line.number);
    if (line.rank) record.values.set_rank(*line.rank);
    if (const auto loss = MeanBehind(text, "Loss:")) record.values.set_eval_loss(*loss);
    if (const auto accuracy = MeanBehind(text, "Acc@1:")) record.values.set_accuracy(*accuracy);
    record.has_result = record.values.has_eval_loss() || record.values.has_accuracy();
    out.AddWithoutStep(std::move(record));
  }

  static std::optional<double> MeanBehind(absl::string_view text, absl::string_view key) {
    const std::size_t at = text.find(key);
    const std::size_t open = at == absl::string_view::npos ? at : text.find('(', at);
    return open == absl::string_view::npos ? std::nullopt : ParseLogNumber(text.substr(open + 1));
  }
};

bool Sniff(const LogHead& head) {
  return AnyLine(head.text, &IsTimmLine);
}

}  // namespace

extern const LogFormat kTimmLogFormat;
const LogFormat kTimmLogFormat = {"timm", &Sniff, &CreateTextLogParser<TimmDialect>, &MakeLineDialect<TimmDialect>,
                                  "oss"};

}  // namespace paritect
