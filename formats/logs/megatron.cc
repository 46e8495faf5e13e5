// Megatron-LM and its kin: one line an interval, fields between '|'.
//   [2026-08-20 10:11:12] iteration  100/ 50000 | consumed samples: 25600 | ... | lm loss: 9.87E+00 | ... |
// Also GPT-NeoX (`lm_loss`), Megatron-DeepSpeed and epfLLM (`lm loss` is left out on NaN), MindSpeed-LLM (with FSDP2:
// `iteration: 20 | ...`). Source: NVIDIA/Megatron-LM megatron/training/training.py `training_log`.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/logs/field_names.h"
#include "formats/logs/log_format.h"

namespace paritect {
namespace {

// The text behind "iteration" where a step number stands there and fields follow, else empty.
absl::string_view BehindIteration(absl::string_view line) {
  const std::size_t bar = line.find('|');
  if (bar == absl::string_view::npos) return {};
  std::size_t at = line.find("iteration");
  // "elapsed time per iteration (ms)" also holds the word.
  while (at != absl::string_view::npos) {
    absl::string_view rest = line.substr(at + 9);
    if (!rest.empty() && rest[0] == ':') rest.remove_prefix(1);
    rest = absl::StripLeadingAsciiWhitespace(rest);
    const bool word_begins = at == 0 || line[at - 1] == ' ' || line[at - 1] == ']';
    if (word_begins && !rest.empty() && absl::ascii_isdigit(static_cast<unsigned char>(rest[0]))) return rest;
    at = line.find("iteration", at + 9);
  }
  return {};
}

bool IsValidation(absl::string_view line) {
  return absl::StrContains(line, "loss at iteration");
}

bool IsTrainingLine(absl::string_view line) {
  if (BehindIteration(line).empty() || IsValidation(line)) return false;
  return absl::StrContains(line, "elapsed time per iteration") || absl::StrContains(line, "consumed samples") ||
         absl::StrContains(line, "lm loss") || absl::StrContains(line, "lm_loss");
}

class MegatronDialect : public LineDialect {
 public:
  bool Line(const LogLine& line, RunLogBuilder& out) override {
    const absl::string_view rest = BehindIteration(line.text);
    if (rest.empty()) return false;
    out.set_interval_means();
    return IsValidation(line.text) ? ValidationLine(line, rest, out) : TrainingLine(line, rest, out);
  }

 private:
  bool ValidationLine(const LogLine& line, absl::string_view rest, RunLogBuilder& out) {
    LogRecord record;
    const LogNumber step = ReadLogNumber(rest);
    if (step.kind != LogNumber::Kind::kValue) return false;
    record.has_step = true;
    record.values.set_step(static_cast<std::int64_t>(step.value));
    record.values.set_line(line.number);
    const std::size_t at = line.text.find("lm loss value:");
    if (at == absl::string_view::npos) return false;
    const LogNumber loss = ReadLogNumber(line.text.substr(at + 14));
    if (loss.kind == LogNumber::Kind::kValue) record.values.set_eval_loss(loss.value);
    if (line.rank) record.values.set_rank(*line.rank);
    out.Add(std::move(record));
    return true;
  }

  bool TrainingLine(const LogLine& line, absl::string_view rest, RunLogBuilder& out) {
    const LogNumber step = ReadLogNumber(rest);
    if (step.kind != LogNumber::Kind::kValue) return false;
    LogRecord record;
    record.has_step = true;
    record.values.set_step(static_cast<std::int64_t>(step.value));
    record.values.set_line(line.number);
    if (line.rank) record.values.set_rank(*line.rank);
    const std::size_t slash = rest.find('/');
    if (slash != absl::string_view::npos && slash < rest.find('|')) {
      const LogNumber total = ReadLogNumber(rest.substr(slash + 1));
      if (total.kind == LogNumber::Kind::kValue) out.TotalSteps(static_cast<std::int64_t>(total.value));
    }
    bool has_loss = false;
    bool has_fields = false;
    std::string refused;
    for (std::size_t bar = line.text.find('|'); bar != absl::string_view::npos;) {
      const std::size_t next = line.text.find('|', bar + 1);
      const absl::string_view field = absl::StripAsciiWhitespace(
          line.text.substr(bar + 1, next == absl::string_view::npos ? next : next - bar - 1));
      bar = next;
      const std::size_t colon = field.find(':');
      if (colon == absl::string_view::npos) continue;
      has_fields = true;
      has_loss =
          Field(absl::StripTrailingAsciiWhitespace(field.substr(0, colon)), field.substr(colon + 1), record, refused) ||
          has_loss;
    }
    if (!has_fields) return false;
    if (!refused.empty()) {
      out.AddNote(
          "number_refused", line.number,
          absl::StrCat("step ", record.values.step(), ": ", refused, " is not a number; the value is left out"));
    }
    if (!has_loss && !FullySkipped(record.values)) record.values.set_loss_absent(true);
    last_step_ = record.values.step();
    out.Add(std::move(record));
    return true;
  }

  // Whether the field is the training loss. `lm loss` is the mean over the interval's advanced iterations.
  static bool Field(absl::string_view key, absl::string_view text, LogRecord& record, std::string& refused) {
    const LogNumber number = ReadLogNumber(text);
    const bool is_loss = key == "lm loss" || key == "lm_loss" || key == "loss";
    if (number.kind == LogNumber::Kind::kRefused || number.kind == LogNumber::Kind::kSpliced) {
      if (is_loss) absl::StrAppend(&refused, key, " '", number.text, "'");
      return is_loss;
    }
    if (number.kind != LogNumber::Kind::kValue) return false;
    StepValues& values = record.values;
    const auto whole = static_cast<std::int64_t>(number.value > -9e15 && number.value < 9e15 ? number.value : 0);
    if (is_loss) {
      values.set_loss(number.value);
      values.set_loss_resolution(number.resolution);
    } else if (key == "learning rate") {
      values.set_lr(number.value);
    } else if (key == "grad norm") {
      values.set_grad_norm(number.value);
    } else if (key == "loss scale") {
      values.set_loss_scale(number.value);
    } else if (key == "number of skipped iterations") {
      values.set_skipped(whole);
    } else if (key == "consumed samples") {
      values.set_samples(whole);
    } else if (absl::EndsWith(key, "loss") || key == "number of nan iterations" || key == "global batch size") {
      values.mutable_metrics().Set(key, number.value);
    }
    return is_loss;
  }

  // An interval of which every step was skipped has no loss to print.
  bool FullySkipped(const StepValues& values) const {
    if (values.skipped() <= 0) return false;
    return last_step_ < 0 || values.step() <= last_step_ || values.skipped() >= values.step() - last_step_;
  }

  std::int64_t last_step_ = -1;
};

bool Sniff(const LogHead& head) {
  return AnyLine(head.text, &IsTrainingLine);
}

}  // namespace

extern const LogFormat kMegatronLogFormat;
const LogFormat kMegatronLogFormat = {"megatron", &Sniff, &CreateTextLogParser<MegatronDialect>};

}  // namespace paritect
