#include "formats/logs/machinery/evaluation_lines.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "formats/logs/machinery/field_names.h"
#include "formats/logs/machinery/named_values.h"
#include "rules/evaluation_words.h"

namespace paritect {
namespace {

bool NamesTraining(absl::string_view line) {
  return HoldsOneOf(line, {"train", "Train", "TRAIN", "训练"});
}

// "Test: [ 10/196]  Loss 0.66 (0.7)  Acc@1 82.42 (80.1)": batches of an evaluation; what they come to is told behind.
bool IsEvaluationProgress(absl::string_view line) {
  for (std::size_t bracket = line.find('['); bracket != absl::string_view::npos;
       bracket = line.find('[', bracket + 1)) {
    const absl::string_view count = absl::StripLeadingAsciiWhitespace(line.substr(bracket + 1));
    const std::size_t digits = std::min(count.find_first_not_of("0123456789 "), count.size());
    if (digits == 0 || !absl::StartsWith(count.substr(digits), "/")) continue;
    absl::string_view before = absl::StripTrailingAsciiWhitespace(line.substr(0, bracket));
    absl::ConsumeSuffix(&before, ":");
    std::size_t begin = before.size();
    while (begin > 0 && absl::ascii_isalpha(static_cast<unsigned char>(before[begin - 1]))) --begin;
    if (TellsOfEvaluation(absl::AsciiStrToLower(before.substr(begin)))) return true;
  }
  return false;
}

// Settings that name a metric: "--target_accuracy=0.9", "Namespace(acc=0.5, ...)".
bool IsOptions(absl::string_view line) {
  return HoldsOneOf(line, {"Namespace(", " --", "args:", "config"});
}

// "Accuracy of the network on the 10000 test images: 76 %"
bool AccuracyOfTheNetwork(absl::string_view line, LogNumber& number) {
  if (!HoldsOneOf(line, {"ccuracy of the network", "ccuracy of the model"})) return false;
  const std::size_t colon = line.rfind(": ");
  if (colon == absl::string_view::npos) return false;
  number = ReadLogShare(line.substr(colon + 2));
  return number.kind == LogNumber::Kind::kValue;
}

// pycocotools: "Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.376"
bool CocoPrecision(absl::string_view line, FieldCollector& fields) {
  if (!absl::StrContains(line, "(AP) @[")) return false;
  const std::size_t value = line.find("] = ");
  if (value == absl::string_view::npos || !absl::StrContains(line, "area=   all")) return true;
  const absl::string_view iou = line.substr(line.find("IoU=") + 4, 9);
  const absl::string_view name = absl::StartsWith(iou, "0.50:0.95") ? "mAP"
                                 : absl::StartsWith(iou, "0.50 ")   ? "AP50"
                                 : absl::StartsWith(iou, "0.75 ")   ? "AP75"
                                                                    : "";
  if (!name.empty()) fields.Add(name, ReadLogNumber(line.substr(value + 4)));
  return true;
}

// "Epoch 4/10": the run's length. Epochs that count from 0 end one before it.
void TakeEpochTotal(absl::string_view line, double epoch, RunLogBuilder& out) {
  for (std::size_t at = line.find("poch"); at != absl::string_view::npos; at = line.find("poch", at + 4)) {
    absl::string_view rest = line.substr(at + 4);
    const std::size_t digit = rest.find_first_of("0123456789");
    if (digit == absl::string_view::npos || digit > 4) continue;
    const LogNumber number = ReadLogNumber(rest.substr(digit));
    rest = absl::StripLeadingAsciiWhitespace(rest.substr(digit + number.text.size()));
    if (number.value != epoch || !absl::StartsWith(rest, "/")) continue;
    const LogNumber total = ReadLogNumber(rest.substr(1));
    if (total.kind != LogNumber::Kind::kValue || total.value < epoch || total.value > 1e9) return;
    if (epoch == 0) out.set_epochs_from_zero();
    return out.TotalEpochs(total.value);
  }
}

void AddResult(const LogLine& line, FieldCollector& fields, std::int64_t total, RunLogBuilder& out) {
  LogRecord& record = fields.record();
  record.has_result = record.values.has_eval_loss() || fields.has_metric() ||
                      (record.values.has_accuracy() && !record.values.accuracy_of_training());
  if (line.rank && !record.values.has_rank()) record.values.set_rank(*line.rank);
  const double epoch = record.values.epoch();
  const bool whole = record.values.has_epoch() && epoch >= 0 && epoch < 1e9 && epoch == std::floor(epoch);
  if (!record.has_step) {
    if (whole) TakeEpochTotal(line.text, epoch, out);
    return out.AddWithoutStep(std::move(record));
  }
  if (whole) {
    record.maybe_in_epoch = true;
    record.epoch_index = static_cast<std::int64_t>(epoch);
    record.steps_per_epoch = total;
  }
  out.Add(std::move(record));
}

}  // namespace

bool MayEvaluate(absl::string_view line) {
  return HoldsOneOf(line, {"acc", "Acc", "ACC", "准确率", "精度", "op1", "op-1",      "mAP", "AP5", "AP7",
                           "AP:", "AP ", "IoU", "iou",    "BLEU", "leu", "erplexity", "ppl", "PPL", "F1",
                           "f1",  "AUC", "auc", "rec@1",  "WER",  "wer", "ouge",      "OUGE"});
}

bool IsEvaluationLine(absl::string_view line) {
  bool first = true;
  for (std::size_t i = 0; i < line.size() && !(line[i] == '=');) {
    if (!IsWordStart(line, i)) {
      ++i;
      continue;
    }
    const std::size_t begin = i;
    i = WordEnd(line, i);
    const std::string word = absl::AsciiStrToLower(line.substr(begin, i - begin));
    const LogField field = ClassifyLogKey(word);
    if (word == "train" || word == "training" ||
        (field != LogField::kOther && field != LogField::kStep && field != LogField::kEpoch &&
         field != LogField::kRank)) {
      return false;
    }
    // Within a line a test may be of anything ("on the test set").
    const bool named = TellsOfEvaluation(word) && (first || !absl::StartsWith(word, "test"));
    first = false;
    if (!named) continue;
    // "val loss 2.2" is one value of the line.
    const absl::string_view rest = absl::StripLeadingAsciiWhitespace(line.substr(i));
    return !absl::StartsWithIgnoreCase(rest, "loss") && !absl::StartsWithIgnoreCase(rest, "acc");
  }
  return false;
}

bool ReadEvaluationLine(const LogLine& line, RunLogBuilder& out) {
  const absl::string_view text = line.text;
  if (!MayEvaluate(text) || line.piece || IsOptions(text) || IsEvaluationProgress(text)) return false;
  FieldCollector fields;
  fields.SetLine(line.number);
  std::int64_t total = 0;
  if (!CocoPrecision(text, fields)) CollectPlainFields(text, fields, total);
  LogNumber share;
  if (!fields.record().values.has_accuracy() && AccuracyOfTheNetwork(text, share)) {
    fields.Add("eval_accuracy", share);
  }
  LogRecord& record = fields.record();
  const StepValues& values = record.values;
  if (fields.spliced() || !(values.has_accuracy() || fields.has_metric() || values.has_eval_loss())) return false;
  const bool evaluation = IsEvaluationLine(text);
  const bool bare = !fields.has_loss_key() && !values.has_lr() && !values.has_grad_norm();
  // "accuracy 0.85" beside a step is that of a training batch, if nothing else is said.
  const bool stepped = record.has_step || fields.odd_step();
  const bool told = bare && !NamesTraining(text) && (!stepped || fields.has_metric());
  if (!evaluation && !fields.has_evaluation() && !told) return false;
  fields.Finish(out);
  if (evaluation || told) fields.MarkEvaluation();
  AddResult(line, fields, total, out);
  return true;
}

bool IsEpochLine(absl::string_view line) {
  if (!HoldsOneOf(line, {"poch", "轮"}) || IsOptions(line)) return false;
  FieldCollector fields;
  std::int64_t total = 0;
  CollectPlainFields(line, fields, total);
  const StepValues& values = fields.record().values;
  if (!values.has_epoch() || fields.record().has_step || fields.odd_step() || fields.spliced()) return false;
  if (fields.has_loss_key() || fields.has_evaluation()) return true;
  return (values.has_accuracy() || fields.has_metric()) && !NamesTraining(line);
}

bool ReadEpochLine(const LogLine& line, RunLogBuilder& out) {
  if (line.piece || !IsEpochLine(line.text)) return false;
  FieldCollector fields;
  fields.SetLine(line.number);
  std::int64_t total = 0;
  CollectPlainFields(line.text, fields, total);
  fields.Finish(out);
  if (IsEvaluationLine(line.text)) fields.MarkEvaluation();
  AddResult(line, fields, total, out);
  return true;
}

}  // namespace paritect
