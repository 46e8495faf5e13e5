// verl's console: one line a step, `key:value` parts between " - ".
//   step:1 - actor/pg_loss:-0.0012 - actor/grad_norm:0.45 - actor/lr:1e-06 - critic/score/mean:0.31 ...
// The loss is the actor's policy loss, in supervised tuning train/loss. Source: volcengine/verl
// verl/utils/logger/aggregate_logger.py.
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "formats/logs/log_format.h"
#include "formats/logs/machinery/field_names.h"

namespace paritect {
namespace {

bool IsVerlLine(absl::string_view line) {
  const std::size_t at = line.find("step:");
  if (at == absl::string_view::npos || !absl::StrContains(line.substr(at), " - ")) return false;
  return absl::StrContains(line, " - actor/") || absl::StrContains(line, " - critic/") ||
         absl::StrContains(line, " - train/loss:") || absl::StrContains(line, " - training/") ||
         absl::StrContains(line, " - timing_s/");
}

class VerlDialect : public LineDialect {
 public:
  bool Line(const LogLine& line, RunLogBuilder& out) override {
    if (!IsVerlLine(line.text)) return false;
    FieldCollector fields;
    fields.SetLine(line.number);
    for (absl::string_view part : absl::StrSplit(line.text.substr(line.text.find("step:")), " - ")) {
      const std::size_t colon = part.rfind(':');
      if (colon == absl::string_view::npos) continue;
      absl::string_view key = part.substr(0, colon);
      const LogNumber number = ReadLogNumber(part.substr(colon + 1));
      if (key == "actor/pg_loss" || key == "actor/loss") {
        if (number.kind == LogNumber::Kind::kValue) fields.record().values.mutable_metrics().Set(key, number.value);
        key = "loss";
      }
      if (key == "training/global_step") continue;
      if (absl::StartsWith(key, "val-") || absl::StartsWith(key, "val/")) {
        if (number.kind == LogNumber::Kind::kValue) fields.record().values.mutable_metrics().Set(key, number.value);
        if (ClassifyLogKey(key) == LogField::kAccuracy) fields.Add(key, number);
        continue;
      }
      fields.Add(key, number);
    }
    if (fields.spliced() || !fields.record().has_step) {
      out.Unparsed(line.number, "a step line whose parts cannot be read");
      return true;
    }
    fields.Finish(out);
    out.Add(std::move(fields.record()));
    return true;
  }
};

bool Sniff(const LogHead& head) {
  return AnyLine(head.text, &IsVerlLine);
}

}  // namespace

extern const LogFormat kVerlLogFormat;
const LogFormat kVerlLogFormat = {"verl", &Sniff, &CreateTextLogParser<VerlDialect>, &MakeLineDialect<VerlDialect>,
                                  "ep:"};

}  // namespace paritect
