// timm: `Train: 0 [  10/1000 (  1%)]  Loss: 2.500 (2.50)  Time: ...  LR: 1.000e-04`; epochs and steps count from 0.
// The first number is the batch's, the one in brackets the running mean. Source: huggingface/pytorch-image-models
// train.py.
#include "absl/strings/match.h"
#include "formats/logs/log_format.h"
#include "formats/logs/plain_lines.h"

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
    return absl::StrContains(line.text, "Test: ") && absl::StrContains(line.text, "Loss:");
  }
};

bool Sniff(const LogHead& head) {
  return AnyLine(head.text, &IsTimmLine);
}

}  // namespace

extern const LogFormat kTimmLogFormat;
const LogFormat kTimmLogFormat = {"timm", &Sniff, &CreateTextLogParser<TimmDialect>};

}  // namespace paritect
