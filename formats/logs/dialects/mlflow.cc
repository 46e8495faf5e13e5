// MLflow's file store: `mlruns/EXPERIMENT/RUN/metrics/KEY` holds lines `TIMESTAMP_MS VALUE STEP`. The metric's name is
// the file's; whoever opens the file puts it in (the reader calls the values "value").
#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "common/numbers.h"
#include "formats/logs/log_format.h"

namespace paritect {
namespace {

constexpr std::int64_t kTimeMin = 1'000'000'000'000;  // 2001, in milliseconds

bool ReadMetric(absl::string_view line, std::int64_t& step, double& value) {
  const std::vector<absl::string_view> parts = absl::StrSplit(absl::StripAsciiWhitespace(line), ' ');
  if (parts.size() != 3 && parts.size() != 5) return false;  // newer ones name a data set and its digest behind
  const auto time = ParseInt(parts[0]);
  const auto number = ParseLogNumber(parts[1]);
  const auto at = ParseInt(parts[2]);
  if (!time || *time < kTimeMin || !number || !at) return false;
  value = *number;
  step = *at;
  return true;
}

class MlflowDialect : public LineDialect {
 public:
  bool Line(const LogLine& line, RunLogBuilder& out) override {
    LogRecord record;
    std::int64_t step = 0;
    double value = 0;
    if (!ReadMetric(line.text, step, value)) {
      out.Unparsed(line.number, "not TIMESTAMP VALUE STEP");
      return true;
    }
    record.has_step = true;
    record.values.set_step(step);
    record.values.set_line(line.number);
    record.values.mutable_metrics().Set("value", value);
    out.Add(std::move(record));
    return true;
  }
};

bool Sniff(const LogHead& head) {
  if (!head.first || head.text.empty()) return false;
  // All lines; the last one may be half written.
  bool any = false;
  bool odd = false;
  const bool other = AnyLine(head.text, [&](absl::string_view line) {
    if (line.empty()) return false;
    std::int64_t step = 0;
    double value = 0;
    if (odd) return true;
    odd = !ReadMetric(line, step, value);
    any = any || !odd;
    return false;
  });
  return any && !other;
}

}  // namespace

extern const LogFormat kMlflowLogFormat;
const LogFormat kMlflowLogFormat = {"mlflow", &Sniff, &CreateTextLogParser<MlflowDialect>};

}  // namespace paritect
