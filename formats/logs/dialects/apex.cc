// NVIDIA apex (and Ascend's): its loss scalers' messages in a log whose own lines are a script's.
//   Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0
// Source: NVIDIA/apex apex/amp/scaler.py, apex/amp/frontend.py.
#include "absl/strings/match.h"
#include "formats/logs/log_format.h"

namespace paritect {
namespace {

class ApexDialect : public LineDialect {
 public:
  bool Line(const LogLine&, RunLogBuilder&) override { return false; }
  bool takes_plain_lines() const override { return true; }
};

bool IsApexLine(absl::string_view line) {
  return absl::StrContains(line, "Gradient overflow.  Skipping step, loss scaler") ||
         absl::StrContains(line, "After processing overrides, optimization options are:");
}

bool Sniff(const LogHead& head) {
  return AnyLine(head.text, &IsApexLine);
}

}  // namespace

extern const LogFormat kApexLogFormat;
const LogFormat kApexLogFormat = {"apex", &Sniff, &CreateTextLogParser<ApexDialect>, &MakeLineDialect<ApexDialect>,
                                  "GraAft"};  // Gradient, After

}  // namespace paritect
