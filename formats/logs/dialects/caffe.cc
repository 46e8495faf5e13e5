// Caffe and its forks: glog lines of the solver, the rate on a line of its own.
//   I0101 10:00:00.000000  4321 solver.cpp:218] Iteration 20 (8.1 iter/s, 2.4s/20 iters), loss = 2.30259
//   I0101 10:00:00.000000  4321 solver.cpp:237]     Train net output #0: loss1 = 2.30259 (* 1 = 2.30259 loss)
//   I0101 10:00:00.000000  4321 sgd_solver.cpp:105] Iteration 20, lr = 0.01
//   I0101 10:00:00.000000  4321 solver.cpp:330] Iteration 500, Testing net ...
//   I0101 10:00:00.000000  4321 solver.cpp:397]     Test net output #0: accuracy = 0.9731
// Source: BVLC/caffe src/caffe/solver.cpp `Step`, `Test`; src/caffe/solvers/sgd_solver.cpp `ApplyUpdate`.
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "formats/logs/log_format.h"
#include "formats/logs/machinery/field_names.h"
#include "formats/logs/machinery/named_values.h"

namespace paritect {
namespace {

// What the solver says behind glog's prefix; "" where it does not speak.
absl::string_view SolverText(absl::string_view line) {
  const std::size_t at = line.find("solver.cpp:");
  const std::size_t end = at == absl::string_view::npos ? at : line.find("] ", at);
  return end == absl::string_view::npos ? "" : absl::StripLeadingAsciiWhitespace(line.substr(end + 2));
}

bool IsLossLine(absl::string_view line) {
  const absl::string_view text = SolverText(line);
  return absl::StartsWith(text, "Iteration ") && absl::StrContains(text, ", loss = ");
}

class CaffeDialect : public LineDialect {
 public:
  bool Line(const LogLine& line, RunLogBuilder& out) override {
    absl::string_view text = SolverText(line.text);
    if (absl::StartsWith(text, "Iteration ")) return Iteration(line, text, out);
    const bool trains = absl::ConsumePrefix(&text, "Train net output #");
    if (!trains && !absl::ConsumePrefix(&text, "Test net output #")) return false;
    const std::size_t colon = text.find(": ");
    if (colon != absl::string_view::npos) Output(line, text.substr(colon + 2), trains, out);
    return true;
  }

 private:
  bool Iteration(const LogLine& line, absl::string_view text, RunLogBuilder& out) {
    FieldCollector fields;
    fields.SetLine(line.number);
    std::int64_t total = 0;
    CollectPlainFields(text, fields, total);
    LogRecord& record = fields.record();
    if (!record.has_step || fields.spliced()) return false;
    step_ = record.values.step();
    // The line of the display names the loss whatever it is.
    const bool lost = absl::StrContains(text, " iter/s") && !fields.has_loss_key();
    record.values.set_loss_absent(lost);
    if (!lost && !fields.has_loss_key() && !fields.has_values()) return absl::StrContains(text, "Testing net");
    fields.Finish(out);
    if (line.rank) record.values.set_rank(*line.rank);
    out.Add(std::move(record));
    return true;
  }

  // Outputs follow the line that names their step; those of a training are terms beside the loss.
  void Output(const LogLine& line, absl::string_view text, bool trains, RunLogBuilder& out) {
    if (!step_) return;
    const std::size_t mark = text.find(" = ");
    if (mark == absl::string_view::npos) return;
    const LogKey& key = LookUpLogKey(text.substr(0, mark));
    const LogNumber number = ReadLogNumber(text.substr(mark + 3));
    FieldCollector fields;
    fields.SetLine(line.number);
    LogRecord& record = fields.record();
    record.has_step = true;
    record.values.set_step(*step_);
    if (line.rank) record.values.set_rank(*line.rank);
    if (trains) {
      if (key.field == LogField::kLoss || number.kind != LogNumber::Kind::kValue) return;
      record.values.mutable_metrics().Set(key.name, number.value);
    } else {
      fields.Add(key, number);
      fields.Finish(out);
      fields.MarkEvaluation();
      record.has_result = true;
    }
    out.Add(std::move(record));
  }

  std::optional<std::int64_t> step_;  // that the solver named last
};

bool Sniff(const LogHead& head) {
  return AnyLine(head.text, &IsLossLine);
}

}  // namespace

extern const LogFormat kCaffeLogFormat;
const LogFormat kCaffeLogFormat = {"caffe", &Sniff, &CreateTextLogParser<CaffeDialect>, &MakeLineDialect<CaffeDialect>,
                                   "pp:"};  // solver.cpp:

}  // namespace paritect
