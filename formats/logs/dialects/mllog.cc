// MLPerf logging: `:::MLLOG {"key": ..., "value": ..., "metadata": {...}}`, anywhere in a line.
// Hyperparameters are settings, read elsewhere (formats/settings); `eval_accuracy` becomes a record; `run_stop` tells
// how the run ended. Units of `epoch_num` differ between submitters (epochs, samples, a constant), so the step is a
// printed one or none. Source: mlcommons/logging mlperf_logging/mllog.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/logs/log_format.h"
#include "formats/logs/machinery/evaluation_lines.h"
#include "formats/logs/machinery/json_fields.h"

namespace paritect {
namespace {

constexpr absl::string_view kToken = ":::MLLOG";

struct Entry {
  std::string key;
  std::string value;
  bool has_value = false;
  std::string status;
  std::optional<double> epoch;
  std::optional<double> step;
  std::optional<double> samples;
};

bool ReadEntry(absl::string_view line, Entry& entry) {
  const std::size_t at = line.find(kToken);
  if (at == absl::string_view::npos) return false;
  const std::size_t brace = line.find('{', at);
  if (brace == absl::string_view::npos) return false;
  return ForEachJsonField(line.substr(brace), [&](absl::string_view path, absl::string_view value) {
           if (path == "key") entry.key = std::string(value);
           if (path == "value") {
             entry.value = std::string(value);
             entry.has_value = value != "null";
           }
           if (path == "metadata.status") entry.status = std::string(value);
           if (path == "metadata.epoch_num") entry.epoch = ParseLogNumber(value);
           if (path == "metadata.step_num") entry.step = ParseLogNumber(value);
           if (path == "metadata.samples_count") entry.samples = ParseLogNumber(value);
         }) > 0;
}

class MllogDialect : public LineDialect {
 public:
  bool Line(const LogLine& line, RunLogBuilder& out) override {
    if (line.text.find(kToken) == absl::string_view::npos) {
      // Its own lines tell the results; what the script prints of them beside is the same once more.
      return MayEvaluate(line.text) && !absl::StrContains(line.text, "rror");
    }
    Entry entry;
    if (!ReadEntry(line.text, entry) || entry.key.empty()) {
      out.Unparsed(line.number, "an MLLOG line whose JSON is not whole");
      return true;
    }
    if (entry.key == "run_start") out.Banner(line.number);
    if (entry.key == "run_stop") RunStop(entry, line.number, out);
    if (entry.key == "eval_accuracy" || entry.key == "eval_loss" || entry.key == "train_loss") {
      Metric(entry, line.number, out);
    }
    return true;
  }

 private:
  static void RunStop(const Entry& entry, std::int64_t line, RunLogBuilder& out) {
    const bool ok = entry.status == "success";
    if (entry.status.empty()) return;
    out.End(ok ? v1::RunEnd::STATE_FINISHED : v1::RunEnd::STATE_ABORTED, absl::StrCat("run_stop ", entry.status), line);
  }

  static void Metric(const Entry& entry, std::int64_t line, RunLogBuilder& out) {
    const auto value = ParseLogNumber(entry.value);
    if (!value) return;
    LogRecord record;
    record.values.set_line(line);
    if (entry.key == "eval_accuracy") record.values.set_accuracy(*value);
    if (entry.key == "eval_loss") record.values.set_eval_loss(*value);
    if (entry.key == "train_loss") record.values.set_loss(*value);
    if (entry.epoch) record.values.set_epoch(*entry.epoch);
    const auto step = entry.step ? entry.step : entry.samples;
    const auto samples = entry.samples ? WholeLogNumber(*entry.samples) : std::nullopt;
    if (samples) record.values.set_samples(*samples);
    const auto whole = step ? WholeLogNumber(*step) : std::nullopt;
    record.has_step = whole.has_value();
    if (whole) {
      record.values.set_step(*whole);
    } else {
      record.values.set_step_unknown(true);
    }
    out.Add(std::move(record));
  }
};

bool Sniff(const LogHead& head) {
  return absl::StrContains(head.text, ":::MLLOG {");
}

}  // namespace

extern const LogFormat kMllogLogFormat;
const LogFormat kMllogLogFormat = {"mllog", &Sniff, &CreateTextLogParser<MllogDialect>, &MakeLineDialect<MllogDialect>,
                                   ":::"};

}  // namespace paritect
