// JSON Lines of no known framework: one object a step, with a step-like or an epoch key and at least one number.
//   {"train_lr": 1e-06, "train_loss": 6.93, "test_acc1": 0.644, "epoch": 0}      {"step":1,"data":{"loss": 2.5}}
// A row without step but with an epoch takes the epoch as its step.
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "formats/logs/log_format.h"
#include "formats/logs/machinery/field_names.h"
#include "formats/logs/machinery/json_fields.h"

namespace paritect {
namespace {

// LineFields::kind
constexpr int kEvaluationRow = 1;
constexpr int kRepeatedKeys = 2;

constexpr absl::string_view kNotMetrics[] = {"_stamp",       "_timestamp",   "_runtime",       "timestamp",
                                             "time",         "elapsed_time", "remaining_time", "percentage",
                                             "n_parameters", "wall_time",    "lineno"};

bool CollectRow(absl::string_view text, LineFields& fields) {
  return ForEachJsonField(text, [&](absl::string_view path, absl::string_view value) {
           absl::ConsumePrefix(&path, "data.");
           // ms-swift: "global_step/max_steps": "10/500"
           if (path == "global_step/max_steps") path = "step";
           for (absl::string_view name : kNotMetrics) {
             if (path == name) return;
           }
           if (NamesEvaluation(path, value)) fields.kind |= kEvaluationRow;
           const LogKey& key = LookUpLogKey(path);
           const LogNumber number = key.field == LogField::kAccuracy ? ReadLogShare(value) : ReadLogNumber(value);
           for (FieldValue& before : fields.values) {  // as parsers of JSON have it: the last one counts
             if (before.key.name != key.name) continue;
             before.number = number;
             fields.kind |= kRepeatedKeys;
             return;
           }
           fields.Add(key, number);
         }) > 0;
}

void TakeRow(const LineFields& row, FieldCollector& fields) {
  for (const FieldValue& field : row.values) fields.Add(field.key, field.number);
}

bool ReadRow(absl::string_view text, FieldCollector& fields) {
  LineFields row;
  if (!CollectRow(text, row)) return false;
  TakeRow(row, fields);
  return true;
}

class JsonlDialect : public LineDialect {
 public:
  bool Collect(absl::string_view text, LineFields& fields) override {
    text = absl::StripAsciiWhitespace(text);
    return absl::StartsWith(text, "{") && CollectRow(text, fields);
  }

  bool Line(const LogLine& line, RunLogBuilder& out) override {
    const absl::string_view text = absl::StripAsciiWhitespace(line.text);
    if (!absl::StartsWith(text, "{")) return false;
    LineFields row;
    if (line.piece && CollectRow(text, row)) return Emit(line, row, out);
    out.Unparsed(line.number, "a JSON line that is not whole");
    return true;
  }

  bool Emit(const LogLine& line, const LineFields& row, RunLogBuilder& out) override {
    FieldCollector fields;
    fields.SetLine(line.number);
    TakeRow(row, fields);
    LogRecord& record = fields.record();
    if ((row.kind & kRepeatedKeys) != 0) {
      out.AddNote("repeated_keys", line.number, "a key stands twice in the object; its last value counts");
    }
    if (!record.has_step && fields.odd_step()) {
      out.Unparsed(line.number, "its step is no whole number that can be counted");
      return true;
    }
    if (!record.has_step && !record.values.has_epoch()) return true;
    fields.Finish(out);
    if ((row.kind & kEvaluationRow) != 0) fields.MarkEvaluation();
    const double epoch = record.values.epoch();
    if (!record.has_step && epoch == std::floor(epoch) && std::fabs(epoch) < 9e15) {
      record.has_step = true;
      record.values.set_step(static_cast<std::int64_t>(epoch));
      if (!noted_) out.AddNote("step_is_epoch", line.number, "rows name no step; the epoch stands for it");
      noted_ = true;
    }
    if (line.rank && !record.values.has_rank()) record.values.set_rank(*line.rank);
    out.Add(std::move(record));
    return true;
  }

  bool IsWholeWithoutEnd(absl::string_view line) const override { return IsWholeJsonObject(line); }

 private:
  bool noted_ = false;
};

bool IsRow(absl::string_view line) {
  line = absl::StripAsciiWhitespace(line);
  if (!absl::StartsWith(line, "{\"") || line.back() != '}') return false;
  FieldCollector fields;
  if (!ReadRow(line, fields)) return false;
  const LogRecord& record = fields.record();
  return (record.has_step || record.values.has_epoch()) &&
         (fields.has_loss_key() || fields.has_values() || !record.values.metrics().empty());
}

bool Sniff(const LogHead& head) {
  return AnyLine(head.text, &IsRow);
}

}  // namespace

extern const LogFormat kJsonlLogFormat;
const LogFormat kJsonlLogFormat = {"jsonl", &Sniff, &CreateTextLogParser<JsonlDialect>, &MakeLineDialect<JsonlDialect>,
                                   "{\"\x01"};

}  // namespace paritect
