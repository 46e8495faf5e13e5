// TensorFlow 1 Estimator and session hooks.
//   INFO:tensorflow:loss = 8.34, step = 100 (12.345 sec)
//   INFO:tensorflow:Saving dict for global step 1000: accuracy = 0.96, global_step = 1000, loss = 0.06
//   INFO:tensorflow:Loss for final step: 0.5.
// Source: tensorflow/python/training/basic_session_run_hooks.py, tensorflow_estimator/python/estimator/estimator.py.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "formats/logs/log_format.h"
#include "formats/logs/machinery/field_names.h"
#include "formats/logs/machinery/named_values.h"

namespace paritect {
namespace {

bool IsLossLine(absl::string_view line) {
  const std::size_t loss = line.find("loss = ");
  const std::size_t step = line.find("step = ");
  return loss != absl::string_view::npos && step != absl::string_view::npos &&
         !absl::StrContains(line, "Saving dict") &&
         (absl::StrContains(line, ", step = ") || absl::StrContains(line, "step = "));
}

bool IsEvaluation(absl::string_view line) {
  return absl::StrContains(line, "Saving dict for global step ");
}

class EstimatorDialect : public LineDialect {
 public:
  bool Line(const LogLine& line, RunLogBuilder& out) override {
    if (IsEvaluation(line.text)) {
      Evaluation(line, out);
      return true;
    }
    if (const std::size_t at = line.text.find("Loss for final step"); at != absl::string_view::npos) {
      out.End(v1::RunEnd::STATE_FINISHED, std::string(absl::StripAsciiWhitespace(line.text.substr(at))), line.number);
      return true;
    }
    return false;
  }

  bool takes_plain_lines() const override { return true; }

 private:
  static void Evaluation(const LogLine& line, RunLogBuilder& out) {
    FieldCollector fields;
    fields.SetLine(line.number);
    std::int64_t total = 0;
    CollectPlainFields(line.text.substr(line.text.find("Saving dict")), fields, total);
    LogRecord& record = fields.record();
    if (!record.has_step) return;
    fields.Finish(out);
    fields.MarkEvaluation();
    out.Add(std::move(record));
  }
};

bool Sniff(const LogHead& head) {
  return AnyLine(head.text, [](absl::string_view line) {
    const bool prefixed = absl::StartsWith(line, "INFO:tensorflow:") ||
                          absl::StrContains(line, "basic_session_run_hooks.py") ||
                          absl::StrContains(line, "estimator.py");
    return prefixed && (IsLossLine(line) || IsEvaluation(line));
  });
}

}  // namespace

extern const LogFormat kTfEstimatorLogFormat;
const LogFormat kTfEstimatorLogFormat = {"tf-estimator", &Sniff, &CreateTextLogParser<EstimatorDialect>,
                                         &MakeLineDialect<EstimatorDialect>, "ossg d"};  // Saving dict

}  // namespace paritect
