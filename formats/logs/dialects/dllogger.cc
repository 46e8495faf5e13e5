// NVIDIA DLLogger: `DLLL {JSON}` lines, and the text form of its standard output backend.
//   DLLL {"timestamp": "...", "type": "LOG", "step": [0, 10], "data": {"loss": 1.2}}
//   DLLL 2019-10-10 16:42:54.501155 - Epoch: 0 Iteration: 0  loss : 130.0 nat
//   DLL 2020-05-28 03:32:54.425004 - (0, 129) train_loss : 0.28          (older; other places are the script's words)
// The step is the last part of the place; lines of a validation iteration are evaluation. Source: NVIDIA/dllogger.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "formats/logs/log_format.h"
#include "formats/logs/machinery/field_names.h"
#include "formats/logs/machinery/json_fields.h"
#include "formats/logs/machinery/named_values.h"

namespace paritect {
namespace {

// What stands behind the mark; "" where there is none.
absl::string_view Behind(absl::string_view line) {
  for (const absl::string_view mark : {"DLLL ", "DLL "}) {
    const std::size_t at = line.find(mark);
    if (at == absl::string_view::npos) continue;
    const absl::string_view rest = line.substr(at + mark.size());
    const bool text = rest.size() > 10 && absl::ascii_isdigit(static_cast<unsigned char>(rest[0]));
    const bool of_old = text && absl::StrContains(rest, " - (") && rest.find(')') != absl::string_view::npos;
    if (mark == "DLLL " ? text || absl::StartsWith(rest, "{") : of_old) return rest;
  }
  return "";
}

bool IsDlloggerLine(absl::string_view line) {
  return !Behind(line).empty();
}

class DlloggerDialect : public LineDialect {
 public:
  bool Line(const LogLine& line, RunLogBuilder& out) override {
    const absl::string_view rest = Behind(line.text);
    if (rest.empty() || absl::StrContains(rest, "PARAMETER")) return false;  // settings
    FieldCollector fields;
    fields.SetLine(line.number);
    is_result_ = false;
    const bool whole = absl::StartsWith(rest, "{") ? Json(rest, fields) : Text(rest, fields);
    if (!whole) {
      out.Unparsed(line.number, "a DLLL line that is not whole");
      return true;
    }
    LogRecord& record = fields.record();
    if (!fields.has_loss_key() && !fields.has_values() && record.values.metrics().empty()) return true;
    fields.Finish(out);
    if (line.rank) record.values.set_rank(*line.rank);
    if (is_result_ || !record.has_step) {
      record.has_step = false;
      record.has_result = fields.has_evaluation() || fields.has_metric() || record.values.has_accuracy();
      record.values.clear_accuracy_of_training();
      if (record.has_result) out.AddWithoutStep(std::move(record));
      return true;
    }
    out.Add(std::move(record));
    return true;
  }

 private:
  // "step": [epoch, iteration], [step] of the whole run; [epoch] beside lines with iterations, [] and [epoch,
  // iteration, evaluation's iteration] are no training step.
  void Place(absl::string_view step, FieldCollector& fields) {
    std::vector<double> parts;
    for (absl::string_view part : absl::StrSplit(step, absl::ByAnyChar("[](), "), absl::SkipEmpty())) {
      if (auto number = ParseLogNumber(part)) parts.push_back(*number);
    }
    for (const double part : parts) {
      if (!WholeLogNumber(part)) return;
    }
    is_result_ = parts.empty();
    if (parts.empty()) return;
    LogRecord& record = fields.record();
    record.has_step = true;
    if (parts.size() > 1 && parts[0] >= 0) {
      iterations_ = true;
      // [epoch, iteration, validation iteration] beside lines of two; training losses of three alone count otherwise.
      pairs_ = pairs_ || parts.size() == 2;
      is_result_ = parts.size() > 2 && (!trains_ || pairs_);
      record.values.set_epoch(parts[0]);
      record.epoch_index = static_cast<std::int64_t>(parts[0]);
      record.maybe_in_epoch = true;
      record.values.set_step(static_cast<std::int64_t>(parts[1]));
    } else {
      is_result_ = iterations_;
      record.values.set_step(static_cast<std::int64_t>(parts[0]));
    }
  }

  bool Json(absl::string_view text, FieldCollector& fields) {
    trains_ = false;
    ForEachJsonField(text, [&](absl::string_view path, absl::string_view) {
      trains_ = trains_ || (absl::ConsumePrefix(&path, "data.") && IsTrainingLoss(ClassifyLogKey(path)));
    });
    return ForEachJsonField(text, [&](absl::string_view path, absl::string_view value) {
             if (path == "step") Place(value, fields);
             // A mean over the epoch is no step's loss.
             if (is_result_ && IsTrainingLoss(ClassifyLogKey(absl::StripPrefix(path, "data.")))) return;
             if (absl::StartsWith(path, "data.")) fields.Add(path.substr(5), ReadLogNumber(value));
           }) > 0;
  }

  bool Text(absl::string_view text, FieldCollector& fields) {
    const bool validation = absl::StrContains(text, "Validation Iteration");
    std::string place;
    // "- (0, 129) train_loss : 0.28"
    const std::size_t tuple = text.find(" - (");
    const std::size_t close = tuple == absl::string_view::npos ? tuple : text.find(')', tuple);
    if (close != absl::string_view::npos) {
      Place(text.substr(tuple + 3, close - tuple - 2), fields);
      text.remove_prefix(close + 1);
    }
    ForEachKeyValue(text, [&](absl::string_view, absl::string_view word, absl::string_view value) {
      const LogNumber number = ReadLogNumber(value);
      if (word == "Epoch" || (word == "Iteration" && !absl::StrContains(place, ","))) {
        absl::StrAppend(&place, place.empty() ? "" : ",", number.text);
      } else if (word != "Iteration" && number.kind == LogNumber::Kind::kValue) {
        // A validation iteration is no evaluation's result; only its mean would be.
        if (!validation) fields.Add(word, number);
      }
    });
    if (absl::StrContains(place, ",")) Place(place, fields);
    return true;
  }

  bool trains_ = false;      // the line tells a training loss
  bool pairs_ = false;       // some line tells [epoch, iteration]
  bool iterations_ = false;  // some line tells an iteration within its epoch
  bool is_result_ = false;   // the line is of an evaluation, or of a whole epoch
};

bool Sniff(const LogHead& head) {
  return AnyLine(head.text, &IsDlloggerLine);
}

}  // namespace

extern const LogFormat kDlloggerLogFormat;
const LogFormat kDlloggerLogFormat = {"dllogger", &Sniff, &CreateTextLogParser<DlloggerDialect>,
                                      &MakeLineDialect<DlloggerDialect>, "DLL"};

}  // namespace paritect
