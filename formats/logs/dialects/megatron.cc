// Megatron-LM and its kin: one line an interval, fields between '|'.
//   [2026-08-20 10:11:12] iteration  100/ 50000 | consumed samples: 25600 | ... | lm loss: 9.87E+00 | ... |
// Also GPT-NeoX (`lm_loss`), Megatron-DeepSpeed and epfLLM (`lm loss` is left out on NaN), MindSpeed-LLM (with FSDP2:
// `iteration: 20 | ...`). Source: NVIDIA/Megatron-LM megatron/training/training.py `training_log`.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/logs/log_format.h"
#include "formats/logs/machinery/field_names.h"
#include "rules/metrics.h"

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

// What a line's numbers are.
enum Slot {
  kStep,
  kTotal,
  kLoss,
  kLr,
  kGradNorm,
  kLossScale,
  kSkipped,
  kSamples,
  kNanIterations,
  kGlobalBatch,
  kOtherLossOf,  // by its key
  kEvalLoss,
};

struct FieldSlot {
  absl::string_view key;
  Slot slot;
};

// `lm loss` is the mean over the interval's advanced iterations.
constexpr FieldSlot kFields[] = {
    {"lm loss", kLoss},
    {"lm_loss", kLoss},
    {"loss", kLoss},
    {"learning rate", kLr},
    {"grad norm", kGradNorm},
    {"loss scale", kLossScale},
    {"number of skipped iterations", kSkipped},
    {"consumed samples", kSamples},
    {"number of nan iterations", kNanIterations},
    {"global batch size", kGlobalBatch},
};

class MegatronDialect : public LineDialect {
 public:
  bool Collect(absl::string_view text, LineFields& fields) override {
    const absl::string_view rest = BehindIteration(text);
    if (rest.empty()) return false;
    const LogNumber step = ReadLogNumber(rest);
    if (step.kind != LogNumber::Kind::kValue) return false;
    fields.Add(kStep, step);
    fields.kind = KindOf(text);
    return fields.kind == kTraining ? TrainingFields(text, rest, fields) : ValidationFields(text, fields);
  }

  bool Emit(const LogLine& line, const LineFields& fields, RunLogBuilder& out) override {
    if (fields.values[0].number.text[0] == '-') return false;  // a step of a known form, and no step
    out.set_interval_means();
    LogRecord record;
    record.has_step = true;
    record.values.set_line(line.number);
    if (line.rank) record.values.set_rank(*line.rank);
    std::string refused;
    bool has_loss = false;
    for (const FieldValue& field : fields.values) {
      const bool is_value = field.number.kind == LogNumber::Kind::kValue;
      const bool is_loss = field.slot == kLoss && field.number.kind != LogNumber::Kind::kMissing;
      has_loss = has_loss || is_loss;
      if (is_value) Set(field, record, out);
      if (is_loss && !is_value) absl::StrAppend(&refused, *field.key.name, " '", field.number.text, "'");
    }
    if (fields.kind == kTestSet) return true;
    if (fields.kind == kValidationAtEnd && FoldLast(record, out)) return true;
    if (fields.kind == kTraining) {
      if (!refused.empty()) {
        out.AddNote(
            "number_refused", line.number,
            absl::StrCat("step ", record.values.step(), ": ", refused, " is not a number; the value is left out"));
      }
      if (!has_loss && !FullySkipped(record.values)) record.values.set_loss_absent(true);
      last_step_ = record.values.step();
    }
    out.Add(std::move(record));
    return true;
  }

  std::optional<absl::string_view> quiet_without() const override { return "ite"; }  // iteration

  bool Line(const LogLine& line, RunLogBuilder& out) override {
    if (!line.piece) return false;  // Collect has seen it
    LineFields fields;
    return Collect(line.text, fields) && Emit(line, fields, out);
  }

 private:
  // At the end of training: "validation loss at iteration 300 on validation set | ...", and "... on test set | ...".
  enum Kind { kTraining, kValidation, kValidationAtEnd, kTestSet };

  static Kind KindOf(absl::string_view text) {
    if (!IsValidation(text)) return kTraining;
    if (absl::StrContains(text, "on test set")) return kTestSet;
    return absl::StrContains(text, "on validation set") ? kValidationAtEnd : kValidation;
  }

  // The longer evaluation at the end replaces the last one of the same step.
  static bool FoldLast(const LogRecord& record, RunLogBuilder& out) {
    LogRecord* last = out.last();
    if (last == nullptr || last->values.step() != record.values.step() || !record.values.has_eval_loss()) return false;
    last->values.set_eval_loss(record.values.eval_loss());
    return true;
  }

  static bool ValidationFields(absl::string_view text, LineFields& fields) {
    const std::size_t at = text.find("lm loss value:");
    if (at == absl::string_view::npos) return false;
    fields.Add(kEvalLoss, ReadLogNumber(text.substr(at + 14)));
    return true;
  }

  static bool TrainingFields(absl::string_view text, absl::string_view rest, LineFields& fields) {
    const std::size_t slash = rest.find('/');
    if (slash != absl::string_view::npos && slash < rest.find('|')) {
      fields.Add(kTotal, ReadLogNumber(rest.substr(slash + 1)));
    }
    bool has_fields = false;
    for (std::size_t bar = text.find('|'); bar != absl::string_view::npos;) {
      const std::size_t next = text.find('|', bar + 1);
      const absl::string_view field =
          absl::StripAsciiWhitespace(text.substr(bar + 1, next == absl::string_view::npos ? next : next - bar - 1));
      bar = next;
      // Megatron's first form has no colons: "| total loss 2.4E+00 |".
      const std::size_t colon = field.find(':');
      const std::size_t at = colon == absl::string_view::npos ? field.rfind(' ') : colon;
      if (at == absl::string_view::npos) continue;
      const bool known =
          AddField(absl::StripTrailingAsciiWhitespace(field.substr(0, at)), field.substr(at + 1), fields);
      has_fields = has_fields || known || colon != absl::string_view::npos;
    }
    ChooseLoss(fields);
    return has_fields;
  }

  // "total loss" is the loss of a line without a plainer one.
  static void ChooseLoss(LineFields& fields) {
    FieldValue* total = nullptr;
    for (FieldValue& field : fields.values) {
      if (field.slot == kLoss) return;
      if (field.slot == kOtherLossOf && total == nullptr && IsTrainingLoss(field.key.field)) total = &field;
    }
    if (total != nullptr) total->slot = kLoss;
  }

  // Whether the key is known.
  static bool AddField(absl::string_view key, absl::string_view text, LineFields& fields) {
    for (const FieldSlot& known : kFields) {
      if (known.key != key) continue;
      fields.Add(known.slot, ReadLogNumber(text));
      if (known.slot == kLoss) fields.values.back().key = LookUpLogKey(key);
      return true;
    }
    if (!NamesLossTerm(key)) return false;
    fields.Add(kOtherLossOf, ReadLogNumber(text));
    fields.values.back().key = LookUpLogKey(key);
    return true;
  }

  void Set(const FieldValue& field, LogRecord& record, RunLogBuilder& out) {
    StepValues& values = record.values;
    const double value = field.number.value;
    const auto whole = static_cast<std::int64_t>(value > -9e15 && value < 9e15 ? value : 0);
    switch (field.slot) {
      case kStep: values.set_step(whole); break;
      case kTotal: out.TotalSteps(whole); break;
      case kLoss:
        values.set_loss(value);
        values.set_loss_resolution(field.number.resolution);
        break;
      case kLr: values.set_lr(value); break;
      case kGradNorm: values.set_grad_norm(value); break;
      case kLossScale: values.set_loss_scale(value); break;
      case kSkipped: values.set_skipped(whole); break;
      case kSamples: values.set_samples(whole); break;
      case kEvalLoss: values.set_eval_loss(value); break;
      case kOtherLossOf: values.mutable_metrics().Set(field.key.name, value); break;
      case kNanIterations:
        if (value > 0) values.mutable_metrics().Set(nan_iterations_, value);
        break;
      case kGlobalBatch:  // where it changes: it stands on every line
        if (value != batch_) values.mutable_metrics().Set(global_batch_, value);
        record.stays = record.stays || (value != batch_ && batches_++ < kBatchesKeptMax);
        batch_ = value;
        break;
      default: break;
    }
  }

  // An interval of which every step was skipped has no loss to print.
  bool FullySkipped(const StepValues& values) const {
    if (values.skipped() <= 0) return false;
    return last_step_ < 0 || values.step() <= last_step_ || values.skipped() >= values.step() - last_step_;
  }

  static constexpr int kBatchesKeptMax = 10'000;

  std::int64_t last_step_ = -1;
  double batch_ = -1;
  int batches_ = 0;
  MetricName nan_iterations_ = std::make_shared<const std::string>("number of nan iterations");
  MetricName global_batch_ = std::make_shared<const std::string>("global batch size");
};

bool Sniff(const LogHead& head) {
  return AnyLine(head.text, &IsTrainingLine);
}

}  // namespace

extern const LogFormat kMegatronLogFormat;
const LogFormat kMegatronLogFormat = {"megatron", &Sniff, &CreateTextLogParser<MegatronDialect>,
                                      &MakeLineDialect<MegatronDialect>, "era"};  // iteration

}  // namespace paritect
