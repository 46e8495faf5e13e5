// OpenMMLab's MMEngine: JSON lines (`vis_data/*.json`) and the console's `Epoch(train) [9][ 10/270]` lines; of MMCV 1,
// which was before it, the JSON lines (`*.log.json`), whose `iter` counts within the epoch where epochs are what it
// runs by, and that of a line with "mode": "val" counts the evaluation's own batches.
//   {"lr": 0.01, "data_time": 0.01, "loss": 0.69, "time": 0.2, "epoch": 1, "iter": 10, "memory": 5021, "step": 10}
//   {"mode": "train", "epoch": 1, "iter": 50, "lr": 0.002, "memory": 3483, "data_time": 0.06, "loss": 1.1, "time": 0.6}
// Source: open-mmlab/mmengine mmengine/runner/log_processor.py, mmengine/hooks/logger_hook.py; open-mmlab/mmcv 1.7
// mmcv/runner/hooks/logger/text.py (`get_iter(inner_iter=True)`, `_dump_log`).
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "formats/logs/log_format.h"
#include "formats/logs/machinery/field_names.h"
#include "formats/logs/machinery/json_fields.h"
#include "formats/logs/machinery/named_values.h"
#include "formats/logs/machinery/plain_lines.h"

namespace paritect {
namespace {

bool IsJsonLine(absl::string_view line) {
  return absl::StartsWith(line, "{") && absl::StrContains(line, "\"iter\":") && absl::StrContains(line, "\"epoch\":") &&
         (absl::StrContains(line, "\"step\":") || absl::StartsWith(line, "{\"mode\": \"train\""));
}

// "Iter(train) [  50/1000]"
bool FindIter(absl::string_view line, EpochPlace& place) {
  const std::size_t at = line.find("Iter(train)");
  if (at == absl::string_view::npos) return false;
  const std::size_t open = line.find('[', at);
  const std::size_t slash = line.find('/', at);
  const std::size_t close = line.find(']', at);
  if (open == absl::string_view::npos || slash > close || close == absl::string_view::npos) return false;
  const LogNumber step = ReadLogNumber(line.substr(open + 1));
  const LogNumber total = ReadLogNumber(line.substr(slash + 1));
  if (step.kind != LogNumber::Kind::kValue || total.kind != LogNumber::Kind::kValue) return false;
  place.step = static_cast<std::int64_t>(step.value);
  place.steps_per_epoch = static_cast<std::int64_t>(total.value);
  place.rest = line.substr(close + 1);
  return true;
}

class MmengineDialect : public LineDialect {
 public:
  bool Line(const LogLine& line, RunLogBuilder& out) override {
    const absl::string_view text = absl::StripLeadingAsciiWhitespace(line.text);
    if (absl::StartsWith(text, "{")) return Json(line, text, out);
    EpochPlace place;
    if (absl::StrContains(text, "Epoch(train)") && FindEpochPlace(text, place)) {
      AddAtEpochPlace(line, place, 1, out);
      return true;
    }
    if (FindIter(text, place)) {
      out.TotalSteps(place.steps_per_epoch);
      Iter(line, place, out);
      return true;
    }
    if (absl::StrContains(text, "(val)")) {
      const std::size_t close = text.rfind(']');
      if (close != absl::string_view::npos) Evaluation(text.substr(close + 1), out);
      return true;
    }
    return false;
  }

  bool IsWholeWithoutEnd(absl::string_view line) const override { return IsWholeJsonObject(line); }

 private:
  static void Iter(const LogLine& line, const EpochPlace& place, RunLogBuilder& out) {
    FieldCollector fields;
    fields.SetLine(line.number);
    std::int64_t total = 0;
    CollectPlainFields(place.rest, fields, total);
    fields.Finish(out);
    fields.record().has_step = true;
    fields.record().values.set_step(place.step);
    out.Add(std::move(fields.record()));
  }

  // The printed place of an evaluation is its own; its values belong to the training step before.
  static void Evaluation(absl::string_view text, RunLogBuilder& out) {
    if (out.empty()) return;
    StepValues& last = out.last()->values;
    ForEachKeyValue(text, [&](absl::string_view, absl::string_view word, absl::string_view value) {
      const LogNumber number = ReadLogNumber(value);
      if (number.kind == LogNumber::Kind::kValue) SetEvaluation(word, number.value, last);
    });
  }

  static void SetEvaluation(absl::string_view key, double value, StepValues& record) {
    if (key == "time" || key == "data_time") return;
    if (ClassifyLogKey(key) == LogField::kAccuracy) {
      record.set_accuracy(value);
      record.set_accuracy_of_training(false);
    }
    if (key == "loss") record.set_eval_loss(value);
    record.mutable_metrics().Set(key, value);
  }

  static bool Json(const LogLine& line, absl::string_view text, RunLogBuilder& out) {
    FieldCollector fields;
    fields.SetLine(line.number);
    bool trains = false;
    bool evaluates = false;
    LogNumber iter;
    std::vector<std::pair<std::string, double>> values;
    const std::size_t length = ForEachJsonField(text, [&](absl::string_view key, absl::string_view value) {
      const LogNumber number = ReadLogNumber(value);
      trains = trains || key == "loss" || key == "lr";
      evaluates = evaluates || (key == "mode" && value != "train");
      if (key == "iter") iter = number;
      if (key == "iter" || key == "time" || key == "data_time" || key == "memory") return;
      fields.Add(key, number);
      if (number.kind == LogNumber::Kind::kValue && key != "step") values.emplace_back(std::string(key), number.value);
    });
    if (length == 0) {
      out.Unparsed(line.number, "a JSON line that is not whole");
      return true;
    }
    if (trains && !evaluates) {
      if (!fields.record().has_step) PlaceByIter(iter, fields);
      fields.Finish(out);
      if (fields.record().has_step) out.Add(std::move(fields.record()));
    } else if (!out.empty()) {
      for (const auto& [key, value] : values) {
        const bool of_training = key == "lr" || key == "epoch";
        if (!of_training) SetEvaluation(key, value, out.last()->values);
      }
    }
    return true;
  }

  // MMCV 1 prints no step: its `iter` is one, or counts within the epoch; the file shows which.
  static void PlaceByIter(const LogNumber& iter, FieldCollector& fields) {
    fields.Add("step", iter);
    LogRecord& record = fields.record();
    const double epoch = record.values.epoch();
    if (!record.values.has_epoch() || epoch < 1 || epoch > 1e9) return;
    record.maybe_in_epoch = true;
    record.epoch_index = static_cast<std::int64_t>(epoch);
  }
};

bool Sniff(const LogHead& head) {
  return AnyLine(head.text, [](absl::string_view line) {
    return IsJsonLine(line) || ((absl::StrContains(line, "Epoch(train)") || absl::StrContains(line, "Iter(train)")) &&
                                absl::StrContains(line, "lr: "));
  });
}

}  // namespace

extern const LogFormat kMmengineLogFormat;
const LogFormat kMmengineLogFormat = {"mmengine", &Sniff, &CreateTextLogParser<MmengineDialect>,
                                      &MakeLineDialect<MmengineDialect>, "(tr\"it"};  // (train), "iter"

}  // namespace paritect
