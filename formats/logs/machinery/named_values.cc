#include "formats/logs/machinery/named_values.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "formats/logs/machinery/json_fields.h"
#include "rules/evaluation_words.h"

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

}  // namespace

bool HoldsOneOf(absl::string_view text, absl::Span<const absl::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](absl::string_view word) { return absl::StrContains(text, word); });
}

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
  const std::string lower = absl::AsciiStrToLower(word);
  return lower == "train" || lower == "avg" || IsEvaluationSplit(lower);
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

// "lrate 1.00E-01 -> 3.16E-06": the schedule sets it.
LogNumber ReadRate(absl::string_view value) {
  const LogNumber number = ReadLogNumber(value);
  if (number.kind != LogNumber::Kind::kValue || number.text.empty()) return number;
  absl::string_view rest = absl::StripLeadingAsciiWhitespace(
      value.substr(static_cast<std::size_t>(number.text.data() + number.text.size() - value.data())));
  return absl::ConsumePrefix(&rest, "->") ? ReadLogNumber(rest) : number;
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

}  // namespace

bool IsOtherThanLast(absl::string_view line, absl::string_view phrase) {
  constexpr std::size_t kLookBack = 24;
  const auto at = static_cast<std::size_t>(phrase.data() - line.data());
  std::size_t begin = at;
  while (begin > 0 && at - begin < kLookBack && line.find_first_of(":=,|;({[", begin - 1) != begin - 1) --begin;
  const std::string before = absl::AsciiStrToLower(line.substr(begin, at - begin + phrase.size()));
  return HoldsOneOf(before, {"best", "max", "target", "highest", "previous", "top5", "top-5", "top 5", "top_5", "top-3",
                             "最佳", "最好", "最高", "目标"});
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
    const LogNumber number = field == LogField::kAccuracy ? ReadLogShare(value)
                             : field == LogField::kLr     ? ReadRate(value)
                                                          : ReadValue(field, value);
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

void CollectPlainFields(absl::string_view text, FieldCollector& fields, std::int64_t& total_steps) {
  LineFields found;
  FindPlainFields(text, found);
  TakeFields(found, fields, total_steps);
}

}  // namespace paritect
