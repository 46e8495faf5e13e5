// Files whose every line is `INTEGER NUMBER`: step and loss.
#include "absl/strings/ascii.h"
#include "common/numbers.h"
#include "formats/logs/log_format.h"

namespace paritect {
namespace {

bool SplitColumns(absl::string_view line, std::int64_t& step, LogNumber& loss) {
  line = absl::StripAsciiWhitespace(line);
  const std::size_t blank = line.find_first_of(" \t");
  if (blank == absl::string_view::npos) return false;
  const auto number = ParseInt(line.substr(0, blank));
  const absl::string_view rest = absl::StripLeadingAsciiWhitespace(line.substr(blank));
  if (!number || rest.find_first_of(" \t") != absl::string_view::npos) return false;
  step = *number;
  loss = ReadLogNumber(rest);
  return loss.kind == LogNumber::Kind::kValue && loss.text.size() == rest.size();
}

class ColumnsDialect : public LineDialect {
 public:
  bool Line(const LogLine& line, RunLogBuilder& out) override {
    std::int64_t step = 0;
    LogNumber loss;
    if (!SplitColumns(line.text, step, loss)) {
      out.Unparsed(line.number, "not INTEGER NUMBER");
      return true;
    }
    LogRecord record;
    record.has_step = true;
    record.values.set_line(line.number);
    record.values.set_step(step);
    record.values.set_loss(loss.value);
    if (loss.resolution > 0) record.values.set_loss_resolution(loss.resolution);
    out.Add(std::move(record));
    return true;
  }
};

bool Sniff(const LogHead& head) {
  if (!head.first || head.text.empty()) return false;
  return !AnyLine(head.text, [](absl::string_view line) {
    std::int64_t step = 0;
    LogNumber loss;
    return !SplitColumns(line, step, loss);
  });
}

}  // namespace

extern const LogFormat kColumnsLogFormat;
const LogFormat kColumnsLogFormat = {"columns", &Sniff, &CreateTextLogParser<ColumnsDialect>};

}  // namespace paritect
