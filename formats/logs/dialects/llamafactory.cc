// LLaMA-Factory trainer_log.jsonl: one object a logging step, appended to by every restart.
//   {"current_steps": 10, "total_steps": 6750, "loss": 2.219, "lr": 1.33e-06, "epoch": 0.0044, ...}
// Source: hiyouga/LLaMA-Factory src/llamafactory/train/callbacks.py.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "formats/logs/log_format.h"
#include "formats/logs/machinery/field_names.h"
#include "formats/logs/machinery/json_fields.h"

namespace paritect {
namespace {

class LlamaFactoryDialect : public LineDialect {
 public:
  bool Collect(absl::string_view text, LineFields& fields) override {
    text = absl::StripAsciiWhitespace(text);
    if (!absl::StartsWith(text, "{")) return false;
    const std::size_t length = ForEachJsonField(text, [&](absl::string_view path, absl::string_view value) {
      if (path == "total_steps") fields.Add(kTotal, ReadLogNumber(value));
      if (path == "percentage" || path == "elapsed_time" || path == "remaining_time" || path == "throughput" ||
          path == "total_tokens" || path == "total_steps") {
        return;
      }
      const LogNumber number = ReadLogNumber(value);
      if (value == "null") return;  // older versions print every key
      fields.Add(LookUpLogKey(path), number);
    });
    return length > 0;
  }

  bool Line(const LogLine& line, RunLogBuilder& out) override {
    if (!absl::StartsWith(absl::StripLeadingAsciiWhitespace(line.text), "{")) return false;
    LineFields row;
    if (line.piece && Collect(line.text, row)) return Emit(line, row, out);
    out.Unparsed(line.number, "an object that is not whole, or without current_steps");
    return true;
  }

  bool Emit(const LogLine& line, const LineFields& row, RunLogBuilder& out) override {
    FieldCollector fields;
    fields.SetLine(line.number);
    std::int64_t total = 0;
    for (const FieldValue& field : row.values) {
      if (field.slot != kTotal) {
        fields.Add(field.key, field.number);
      } else if (field.number.kind == LogNumber::Kind::kValue) {
        total = static_cast<std::int64_t>(field.number.value);
      }
    }
    if (!fields.record().has_step) {
      out.Unparsed(line.number, "an object that is not whole, or without current_steps");
      return true;
    }
    out.set_interval_means();
    if (total > 0) out.TotalSteps(total);
    fields.Finish(out);
    out.Add(std::move(fields.record()));
    return true;
  }

  bool IsWholeWithoutEnd(absl::string_view line) const override { return IsWholeJsonObject(line); }

 private:
  static constexpr int kTotal = 1;
};

bool IsLine(absl::string_view line) {
  return absl::StartsWith(line, "{") && absl::StrContains(line, "\"current_steps\":") &&
         absl::StrContains(line, "\"total_steps\":");
}

bool Sniff(const LogHead& head) {
  return AnyLine(head.text, &IsLine);
}

}  // namespace

extern const LogFormat kLlamaFactoryLogFormat;
const LogFormat kLlamaFactoryLogFormat = {"llamafactory-jsonl", &Sniff, &CreateTextLogParser<LlamaFactoryDialect>,
                                          &MakeLineDialect<LlamaFactoryDialect>, "nt_"};  // current_steps

}  // namespace paritect
