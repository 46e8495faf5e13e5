// torchtitan's console line (its colours are taken out before).
//   [titan] 2026-01-01 00:00:00,000 - root - INFO - step:  1  loss:  8.04910  grad_norm:  1.2345
//   memory:  1.23GiB(1.55%)  tps: 12,345
// Source: pytorch/torchtitan torchtitan/components/metrics.py.
#include "absl/strings/match.h"
#include "formats/logs/log_format.h"
#include "formats/logs/machinery/field_names.h"
#include "formats/logs/machinery/named_values.h"
#include "formats/logs/machinery/plain_lines.h"

namespace paritect {
namespace {

bool IsTitanLine(absl::string_view line) {
  return absl::StrContains(line, "step: ") && absl::StrContains(line, " loss: ") && absl::StrContains(line, " tps: ");
}

class TorchTitanDialect : public LineDialect {
 public:
  bool Collect(absl::string_view text, LineFields& fields) override {
    return IsTitanLine(text) && !absl::StrContains(text, "validate") && CollectPlainLine(text, fields);
  }

  bool Emit(const LogLine& line, const LineFields& fields, RunLogBuilder& out) override {
    return EmitPlainLine(line, fields, out);
  }

  bool Line(const LogLine& line, RunLogBuilder& out) override {
    if (!IsTitanLine(line.text)) return false;
    if (!absl::StrContains(line.text, "validate")) return ReadPlainLine(line, out);
    FieldCollector fields;
    fields.SetLine(line.number);
    std::int64_t total = 0;
    CollectPlainFields(line.text, fields, total);
    fields.Finish(out);
    LogRecord& record = fields.record();
    if (record.values.has_loss()) record.values.set_eval_loss(record.values.loss());
    record.values.drop_loss();
    if (record.has_step) out.Add(std::move(record));
    return true;
  }
};

bool Sniff(const LogHead& head) {
  return AnyLine(head.text, &IsTitanLine);
}

}  // namespace

extern const LogFormat kTorchTitanLogFormat;
const LogFormat kTorchTitanLogFormat = {"torchtitan", &Sniff, &CreateTextLogParser<TorchTitanDialect>,
                                        &MakeLineDialect<TorchTitanDialect>, "oss"};

}  // namespace paritect
