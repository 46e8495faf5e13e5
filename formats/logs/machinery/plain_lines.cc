#include "formats/logs/machinery/plain_lines.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/logs/machinery/common_lines.h"
#include "formats/logs/machinery/evaluation_lines.h"
#include "formats/logs/machinery/evaluation_modes.h"
#include "formats/logs/machinery/field_names.h"
#include "formats/logs/machinery/json_fields.h"

namespace paritect {
namespace {

// First byte of a Chinese sign (U+4E00 and on, as UTF-8). The full-width colon, box drawings and the like are none.
bool IsHan(char c) {
  return c >= '\xE4' && c <= '\xE9';
}
bool IsAlpha(char c) {
  return absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '_' || IsHan(c);
}
bool IsWord(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '@' || c == '/' || c == '.' || c == '-';
}

// Skips blanks and a separator; whether one stood there.
bool SkipSeparator(absl::string_view line, std::size_t& i) {
  // "{'step': 10, 'loss': 2.5}"
  if (i + 1 < line.size() && (line[i] == '\'' || line[i] == '"') && line[i + 1] == ':') ++i;
  while (i < line.size() && (line[i] == ' ' || line[i] == '\t')) ++i;
  bool found = false;
  if (i < line.size() && (line[i] == ':' || line[i] == '=')) {
    ++i;
    found = true;
  } else if (absl::StartsWith(line.substr(i), "：") || absl::StartsWith(line.substr(i), "＝")) {
    i += 3;
    found = true;
  } else if (absl::StartsWith(line.substr(i), "为")) {
    i += 3;
    found = true;
  } else if (absl::StartsWith(line.substr(i), "is ")) {
    i += 3;
    found = true;
  } else if (i < line.size() && line[i] == '[') {
    found = false;
  }
  return found;
}

bool StartsNumber(absl::string_view text) {
  if (text.empty()) return false;
  const char c = text[0];
  if (absl::ascii_isdigit(static_cast<unsigned char>(c))) return true;
  if (text.size() < 2) return false;
  const bool digit = absl::ascii_isdigit(static_cast<unsigned char>(text[1])) || text[1] == '.';
  if ((c == '-' || c == '+' || c == '.' || c == '[') && digit) return true;
  // Digits and a minus that are no ASCII: no number, which the value's reader says.
  if (absl::StartsWith(text, "\xE2\x88\x92") || absl::StartsWith(text, "\xEF\xBC\x8D")) return true;
  if (absl::StartsWith(text, "\xEF\xBC") && text.size() > 2 && text[2] >= '\x90' && text[2] <= '\x99') return true;
  return absl::StartsWithIgnoreCase(text, "nan") || absl::StartsWithIgnoreCase(text, "inf") ||
         absl::StartsWith(text, "tensor(") || absl::StartsWith(text, "-inf") || absl::StartsWith(text, "-nan");
}

// "epoch[0]", "iter[100]"; of other words a bracket holds an index.
bool IsBracketedPlace(absl::string_view word, absl::string_view rest) {
  if (rest.size() < 2 || rest[0] != '[' || !absl::ascii_isdigit(static_cast<unsigned char>(rest[1]))) return false;
  const LogField field = ClassifyLogKey(word);
  return field == LogField::kStep || field == LogField::kEpoch || field == LogField::kBatch;
}

bool MayTell(absl::string_view line) {
  return absl::StrContains(line, "oss") || absl::StrContains(line, "OSS") || absl::StrContains(line, "损失");
}

}  // namespace

bool IsWordStart(absl::string_view line, std::size_t i) {
  return IsAlpha(line[i]) && (i == 0 || !IsWord(line[i - 1]));
}

std::size_t WordEnd(absl::string_view line, std::size_t i) {
  const std::size_t begin = i;
  if (!IsHan(line[i])) {
    while (i < line.size() && IsWord(line[i])) ++i;
    return std::max(i, begin + 1);
  }
  while (i + 3 <= line.size() && IsHan(line[i]) && (i == begin || line.substr(i, 3) != "为")) i += 3;
  return std::max(i, begin + 1);
}

namespace {

// "Val. Acc": the full stop is a short word's, not a sentence's.
bool IsShortened(absl::string_view word) {
  for (absl::string_view one : {"val", "valid", "test", "train", "eval", "avg"}) {
    if (absl::EqualsIgnoreCase(word, one)) return true;
  }
  return false;
}

}  // namespace

void ForEachKeyValue(absl::string_view line,
                     absl::FunctionRef<void(absl::string_view, absl::string_view, absl::string_view)> visit) {
  std::size_t before_begin = 0;  // the word before this one, where only one blank is between them
  std::size_t before_end = 0;
  for (std::size_t i = 0; i < line.size();) {
    const bool in_word = i > 0 && !IsHan(line[i]) && absl::ascii_isalnum(static_cast<unsigned char>(line[i - 1]));
    if (!IsAlpha(line[i]) || in_word) {
      ++i;
      continue;
    }
    const std::size_t begin = i;
    i = WordEnd(line, i);
    std::size_t end = i;
    while (end > begin && (line[end - 1] == '.' || line[end - 1] == '-' || line[end - 1] == '/')) --end;
    std::size_t at = i;
    const bool separated = SkipSeparator(line, at) || IsBracketedPlace(line.substr(begin, end - begin), line.substr(i));
    const absl::string_view value = absl::StripLeadingAsciiWhitespace(line.substr(at));
    if (separated || (at > i && StartsNumber(value))) {
      // "total loss", "Val. Acc"
      const bool joined =
          before_end > 0 && line[begin - 1] == ' ' &&
          (before_end + 1 == begin || (before_end + 2 == begin && line[before_end] == '.' &&
                                       IsShortened(line.substr(before_begin, before_end - before_begin))));
      visit(line.substr(joined ? before_begin : begin, end - (joined ? before_begin : begin)),
            line.substr(begin, end - begin), value);
      i = std::max(i, at);
      before_end = 0;
    } else {
      before_begin = begin;
      before_end = end;
    }
  }
}

namespace {

enum Slot { kKeyed, kTotalSteps, kPlaceEpoch, kPlaceStep, kPlaceTotal };
enum Kind { kLine = 0, kEvaluationLine = 1, kPlace = 2 };

// "第 10 步", "第 3 轮": the number stands before its word.
void FindOrdinals(absl::string_view text, LineFields& fields) {
  static constexpr absl::string_view kOrdinal = "第";
  for (std::size_t at = text.find(kOrdinal); at != absl::string_view::npos; at = text.find(kOrdinal, at + 3)) {
    const LogNumber number =
        ReadLogNumber(text.substr(at + 3, 24).substr(0, text.substr(at + 3).find_first_not_of(" 0123456789")));
    if (number.kind != LogNumber::Kind::kValue) continue;
    const absl::string_view rest = absl::StripLeadingAsciiWhitespace(
        text.substr(static_cast<std::size_t>(number.text.data() - text.data()) + number.text.size()));
    if (absl::StartsWith(rest, "步") || absl::StartsWith(rest, "次迭代") || absl::StartsWith(rest, "个步") ||
        absl::StartsWithIgnoreCase(rest, "step") || absl::StartsWith(rest, "个step")) {
      fields.Add(LookUpLogKey("step"), number);
    } else if (absl::StartsWith(rest, "轮") || absl::StartsWithIgnoreCase(rest, "epoch") ||
               absl::StartsWith(rest, "个epoch")) {
      fields.Add(LookUpLogKey("epoch"), number);
    }
  }
}

// "loss 2.3/4": a value and its mean ("2.3/2.4") are known, a value of a count is not.
LogNumber ReadValue(LogField field, absl::string_view value) {
  LogNumber number = ReadLogNumber(value);
  const bool is_loss = IsTrainingLoss(field) || field == LogField::kOtherLoss || field == LogField::kEvalLoss;
  if (!is_loss || number.kind != LogNumber::Kind::kValue || number.text.empty()) return number;
  const absl::string_view rest =
      value.substr(static_cast<std::size_t>(number.text.data() + number.text.size() - value.data()));
  if (!absl::StartsWith(rest, "/")) return number;
  std::size_t digits = 1;
  while (digits < rest.size() && absl::ascii_isdigit(static_cast<unsigned char>(rest[digits]))) ++digits;
  const bool count = digits > 1 && (digits == rest.size() || !IsWord(rest[digits]));
  if (!count) return number;
  number.kind = LogNumber::Kind::kRefused;
  number.text = absl::string_view(number.text.data(), number.text.size() + digits);
  return number;
}

// "{'0_default': 3.6, '1_fp32': 0.0}" behind the name of a gradient norm: each group's norm by its path.
void FindNorms(absl::string_view word, absl::string_view value, LineFields& fields) {
  constexpr int kGroupsMax = 64;
  int groups = 0;
  ForEachJsonField(value, [&](absl::string_view path, absl::string_view norm) {
    if (++groups <= kGroupsMax) fields.Add(LookUpLogKey(absl::StrCat(word, ".", path)), ReadLogNumber(norm));
  });
}

// "Steps:  25%|###       | 100/400 [00:10<...": how far the run has come, not where it is.
bool IsShare(absl::string_view value, const LogNumber& number) {
  if (number.percent || absl::EndsWith(number.text, "%")) return true;
  if (number.text.empty()) return false;
  const auto end = static_cast<std::size_t>(number.text.data() + number.text.size() - value.data());
  return absl::StartsWith(value.substr(end), "%");
}

// The count behind such a bar is the step.
void FindBarStep(absl::string_view value, LogField field, LineFields& fields) {
  const std::size_t share = value.find("%|");
  const std::size_t bar = share == absl::string_view::npos ? share : value.find("| ", share + 2);
  if (bar == absl::string_view::npos || field == LogField::kEpoch) return;
  const absl::string_view count = value.substr(bar + 2);
  const std::size_t slash = count.find('/');
  if (slash == absl::string_view::npos || slash > count.find('[')) return;
  fields.Add(LookUpLogKey("step"), ReadLogNumber(count.substr(0, slash)));
  fields.Add(kTotalSteps, ReadLogNumber(count.substr(slash + 1)));
}

// Fields of one line, whichever order they stand in.
void FindPlainFields(absl::string_view text, LineFields& fields) {
  FindOrdinals(text, fields);
  ForEachKeyValue(text, [&](absl::string_view phrase, absl::string_view word, absl::string_view value) {
    const LogField by_word = ClassifyLogKey(word);
    // "第 10 步 loss: 2.5": the word before counts something else.
    if (phrase.size() > word.size() && (absl::StartsWith(phrase, "步 ") || absl::StartsWith(phrase, "轮 ")))
      phrase = word;
    const LogKey& by_phrase = LookUpLogKey(phrase);
    // "inference loss" is not "loss"; "Current learning rate" is "learning rate" even so.
    const bool phrase_counts = by_phrase.field != LogField::kOther || by_word == LogField::kOther;
    const bool step_like = by_word == LogField::kStep;
    const LogField field = phrase_counts && !step_like ? by_phrase.field : by_word;
    if (field == LogField::kOther || by_phrase.loss_of_something_else) return;
    if (field == LogField::kGradNorm && absl::StartsWith(value, "{")) return FindNorms(word, value, fields);
    if (field == LogField::kAccuracy && IsOtherThanLast(text, phrase)) return;
    const LogNumber number = field == LogField::kAccuracy ? ReadLogShare(value) : ReadValue(field, value);
    const bool place = field == LogField::kStep || field == LogField::kBatch || field == LogField::kEpoch;
    if (place && IsShare(value, number)) return FindBarStep(value, field, fields);
    fields.Add(phrase_counts && !step_like ? by_phrase : LookUpLogKey(word), number);
    if ((field != LogField::kStep && field != LogField::kBatch) || number.kind != LogNumber::Kind::kValue) return;
    const absl::string_view rest = absl::StripLeadingAsciiWhitespace(value.substr(number.text.size()));
    if (absl::StartsWith(rest, "/")) fields.Add(kTotalSteps, ReadLogNumber(rest.substr(1)));
  });
}

void TakeFields(const LineFields& found, FieldCollector& fields, std::int64_t& total_steps) {
  const FieldValue* batch = nullptr;
  for (const FieldValue& field : found.values) {
    const bool is_batch = field.slot == kKeyed && field.key.field == LogField::kBatch;
    if (is_batch && batch == nullptr) batch = &field;
    if (field.slot == kKeyed && !is_batch) fields.Add(field.key, field.number);
    if (field.slot == kTotalSteps && field.number.kind == LogNumber::Kind::kValue) {
      total_steps = static_cast<std::int64_t>(field.number.value);
    }
  }
  if (batch != nullptr && !fields.record().has_step) fields.Add(LookUpLogKey("step"), batch->number);
}

}  // namespace

void CollectPlainFields(absl::string_view text, FieldCollector& fields, std::int64_t& total_steps) {
  LineFields found;
  FindPlainFields(text, found);
  TakeFields(found, fields, total_steps);
}

namespace {

void AddPlaceFields(const LogLine& line, const EpochPlace& place, std::int64_t first_epoch, const LineFields& found,
                    RunLogBuilder& out) {
  FieldCollector fields;
  fields.SetLine(line.number);
  std::int64_t total = 0;
  TakeFields(found, fields, total);
  if (fields.spliced()) return out.Unparsed(line.number, "another writer's text stands inside a number");
  LogRecord& record = fields.record();
  record.has_step = true;
  record.step_in_epoch = true;
  record.epoch_index = std::max<std::int64_t>(place.epoch - first_epoch, 0);
  record.steps_per_epoch = place.steps_per_epoch;
  record.values.set_step(place.step);
  record.values.set_epoch(static_cast<double>(place.epoch));
  if (!fields.has_loss_key() && !fields.has_values()) return;
  fields.Finish(out);
  if (line.rank && !record.values.has_rank()) record.values.set_rank(*line.rank);
  out.Add(std::move(record));
}

// The place's numbers as fields, and back; false where a number of a known form is no integer.
void AddPlaceNumbers(const EpochPlace& place, LineFields& fields) {
  const std::pair<Slot, absl::string_view> numbers[] = {
      {kPlaceEpoch, place.epoch_text}, {kPlaceStep, place.step_text}, {kPlaceTotal, place.total_text}};
  for (const auto& [slot, text] : numbers) {
    LogNumber number;
    ReadPlainLogNumber(text, number);
    fields.Add(slot, number);
  }
}

bool PlaceOf(const LineFields& fields, EpochPlace& place) {
  for (const FieldValue& field : fields.values) {
    if (field.slot < kPlaceEpoch) continue;
    const absl::string_view text = field.number.text;
    const bool integer = field.number.kind == LogNumber::Kind::kValue && text.size() < 16 &&
                         text.find_first_not_of("0123456789") == absl::string_view::npos;
    if (!integer) return false;
    const auto value = static_cast<std::int64_t>(field.number.value);
    (field.slot == kPlaceEpoch ? place.epoch : field.slot == kPlaceStep ? place.step : place.steps_per_epoch) = value;
  }
  return true;
}

}  // namespace

void AddAtEpochPlace(const LogLine& line, const EpochPlace& place, std::int64_t first_epoch, RunLogBuilder& out) {
  LineFields found;
  FindPlainFields(place.rest, found);
  AddPlaceFields(line, place, first_epoch, found, out);
}

bool IsPlainLossLine(absl::string_view line) {
  if (!MayTell(line)) return false;
  FieldCollector fields;
  std::int64_t total = 0;
  CollectPlainFields(line, fields, total);
  RunLogBuilder scratch;
  fields.Finish(scratch);
  return fields.record().has_step && !fields.spliced() && fields.record().values.has_loss();
}

bool CollectPlainLine(absl::string_view text, LineFields& fields) {
  if (!MayTell(text) && !MayEvaluate(text)) return false;
  FindPlainFields(text, fields);
  fields.kind = IsEvaluationLine(text) ? kEvaluationLine : kLine;
  return true;
}

bool EmitPlainLine(const LogLine& line, const LineFields& found, RunLogBuilder& out) {
  FieldCollector fields;
  std::int64_t total = 0;
  fields.SetLine(line.number);
  TakeFields(found, fields, total);
  if (!fields.record().has_step) {
    if (line.piece) out.Unparsed(line.number, "cut by another writer's line");
    if (!line.piece && fields.odd_step() && fields.has_loss_key()) {
      out.Unparsed(line.number, "its step is no whole number");
      return true;
    }
    return line.piece;
  }
  if (fields.spliced()) {
    out.Unparsed(line.number, "another writer's text stands inside a number");
    return true;
  }
  if (!fields.has_loss_key() && !fields.has_evaluation()) {
    if (line.piece) out.Unparsed(line.number, "cut by another writer's line");
    return line.piece || (MayTell(line.text) && fields.has_values() && !TellsOfOverflow(line.text));
  }
  fields.Finish(out);
  if (found.kind == kEvaluationLine) fields.MarkEvaluation();
  LogRecord& record = fields.record();
  if (line.rank && !record.values.has_rank()) record.values.set_rank(*line.rank);
  const double epoch = record.values.epoch();
  if (record.values.has_epoch() && epoch >= 0 && epoch < 1e9 && epoch == std::floor(epoch)) {
    record.maybe_in_epoch = true;
    record.epoch_index = static_cast<std::int64_t>(epoch);
    record.steps_per_epoch = total;
  } else if (total > 0) {
    out.TotalSteps(total);
  }
  out.Add(std::move(record));
  return true;
}

bool ReadPlainLine(const LogLine& line, RunLogBuilder& out) {
  LineFields fields;
  if (!CollectPlainLine(line.text, fields)) {
    if (line.piece) out.Unparsed(line.number, "cut by another writer's line");
    return line.piece;
  }
  return EmitPlainLine(line, fields, out);
}

namespace {

class PlainDialect : public LineDialect {
 public:
  bool wants_telling() const override { return true; }

  // A line of the form whose loss is left out begins as the others do.
  std::optional<absl::string_view> quiet_without() const override {
    if (!form_.empty() && form_.size() < 3) return std::nullopt;
    return form_;
  }

  bool Collect(absl::string_view text, LineFields& fields) override {
    EpochPlace place;
    if (MayTell(text) && !absl::StrContains(text, "est:") && FindEpochPlace(text, place)) {
      AddPlaceNumbers(place, fields);
      FindPlainFields(place.rest, fields);
      fields.kind = kPlace;
      return true;
    }
    return CollectPlainLine(text, fields);
  }

  bool Emit(const LogLine& line, const LineFields& fields, RunLogBuilder& out) override {
    if (fields.kind == kPlace) {
      EpochPlace place;
      if (!PlaceOf(fields, place)) return false;
      if (!first_epoch_) first_epoch_ = place.epoch == 1 ? 1 : 0;
      AddPlaceFields(line, place, *first_epoch_, fields, out);
      return true;
    }
    const std::size_t before = out.size();
    const bool read = EmitPlainLine(line, fields, out);
    if (out.size() > before) Remember(line.text, out.last()->values);
    return read;
  }

  bool Line(const LogLine& line, RunLogBuilder& out) override {
    if (!line.telling) return WithoutLoss(line, out);
    // Collect has seen what else it may be.
    if (!line.piece) return ReadEpochLine(line, out) || (!MayTell(line.text) && WithoutLoss(line, out));
    LineFields fields;
    return Collect(line.text, fields) ? Emit(line, fields, out) : ReadPlainLine(line, out);
  }

 private:
  static constexpr int kLinesOfOneForm = 5;
  static constexpr std::size_t kFormBytes = 4;

  static bool HasOtherValues(const StepValues& record) {
    return record.has_lr() || record.has_grad_norm() || record.has_loss_scale();
  }

  // Lines that give a loss beside other values, one after the other.
  void Remember(absl::string_view text, const StepValues& record) {
    const bool of_form = record.has_loss() && HasOtherValues(record);
    lines_of_form_ = of_form ? lines_of_form_ + 1 : 0;
    if (of_form) form_ = std::string(text.substr(0, kFormBytes));
  }

  // A line of that form whose loss is left out. Where losses are printed now and then only, nothing is missing.
  bool WithoutLoss(const LogLine& line, RunLogBuilder& out) {
    if (form_.empty() || !absl::StartsWith(line.text, form_)) return false;
    FieldCollector fields;
    fields.SetLine(line.number);
    std::int64_t total = 0;
    CollectPlainFields(line.text, fields, total);
    LogRecord& record = fields.record();
    if (!record.has_step || fields.has_loss_key() || !HasOtherValues(record.values)) return false;
    if (lines_of_form_ < kLinesOfOneForm) {
      form_.clear();
      lines_of_form_ = 0;
      return false;
    }
    fields.Finish(out);
    record.values.set_loss_absent(true);
    if (line.rank && !record.values.has_rank()) record.values.set_rank(*line.rank);
    out.Add(std::move(record));
    return true;
  }

  std::string form_;  // how those lines begin
  int lines_of_form_ = 0;
  std::optional<std::int64_t> first_epoch_;
};

}  // namespace

std::unique_ptr<LineDialect> MakePlainDialect() {
  return std::make_unique<PlainDialect>();
}

namespace {

bool IsPlaceWithLoss(absl::string_view line) {
  EpochPlace place;
  if (!MayTell(line) || !FindEpochPlace(line, place)) return false;
  FieldCollector fields;
  std::int64_t total = 0;
  CollectPlainFields(place.rest, fields, total);
  return fields.has_loss_key();
}

bool Sniff(const LogHead& head) {
  return AnyLine(head.text, [](absl::string_view line) {
    return HasTellingLetters(line) &&
           (IsPlainLossLine(line) || IsPlaceWithLoss(line) || IsEpochLine(line) || NamesEvaluatedWeights(line));
  });
}

}  // namespace

extern const LogFormat kTextLogFormat;
const LogFormat kTextLogFormat = {"text", &Sniff, &CreateTextLogParser<PlainDialect>, &MakeLineDialect<PlainDialect>};

}  // namespace paritect
