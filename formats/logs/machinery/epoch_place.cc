// Where a line says it stands: an epoch and a step within it.
#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "formats/logs/machinery/plain_lines.h"

namespace paritect {
namespace {

bool TakeInteger(absl::string_view& text, std::int64_t& value, absl::string_view& digits) {
  text = absl::StripLeadingAsciiWhitespace(text);
  std::size_t n = 0;
  value = 0;
  while (n < text.size() && n < 16 && absl::ascii_isdigit(static_cast<unsigned char>(text[n]))) {
    value = value * 10 + (text[n] - '0');
    ++n;
  }
  digits = text.substr(0, n);
  text.remove_prefix(n);
  return n > 0;
}

bool TakeChar(absl::string_view& text, char c) {
  text = absl::StripLeadingAsciiWhitespace(text);
  if (text.empty() || text[0] != c) return false;
  text.remove_prefix(1);
  return true;
}

// "[ 10/270]" or "[ 10/1000 (  1%)]"
bool TakeBracketStep(absl::string_view& text, EpochPlace& place) {
  if (!TakeChar(text, '[') || !TakeInteger(text, place.step, place.step_text) || !TakeChar(text, '/')) return false;
  if (!TakeInteger(text, place.steps_per_epoch, place.total_text)) return false;
  const std::size_t close = text.find(']');
  if (close == absl::string_view::npos || close > 12) return false;
  text.remove_prefix(close + 1);
  return true;
}

// "[3][ 10/270]", "[3]  [ 10/270]", "[3/90][10/270]" behind the word.
bool TakeEpochBracket(absl::string_view& text, EpochPlace& place) {
  TakeChar(text, ':');
  if (!TakeChar(text, '[') || !TakeInteger(text, place.epoch, place.epoch_text)) return false;
  std::int64_t total = 0;
  absl::string_view ignored;
  if (TakeChar(text, '/') && !TakeInteger(text, total, ignored)) return false;
  return TakeChar(text, ']') && TakeBracketStep(text, place);
}

// "3:  50%|#####     | 469/938 [00:05<00:05, 90.1it/s, loss=0.32]" behind "Epoch": a progress bar.
bool TakeEpochProgress(absl::string_view& text, EpochPlace& place) {
  std::int64_t total = 0;
  absl::string_view ignored;
  const bool bracket = TakeChar(text, '[');
  if (!TakeInteger(text, place.epoch, place.epoch_text)) return false;
  if (TakeChar(text, '/') && !TakeInteger(text, total, ignored)) return false;
  if (bracket && !TakeChar(text, ']')) return false;
  if (!TakeChar(text, ':') || !TakeInteger(text, total, ignored) || !absl::StartsWith(text, "%|")) return false;
  const std::size_t end = text.find("| ", 2);
  if (end == absl::string_view::npos) return false;
  text.remove_prefix(end + 2);
  return TakeInteger(text, place.step, place.step_text) && TakeChar(text, '/') &&
         TakeInteger(text, place.steps_per_epoch, place.total_text);
}

bool TakeStepWord(absl::string_view& text) {
  text = absl::StripLeadingAsciiWhitespace(text);
  for (absl::string_view word : {"steps", "step", "iterations", "iteration", "iters", "iter", "itr", "batch"}) {
    if (!absl::StartsWithIgnoreCase(text, word)) continue;
    text.remove_prefix(word.size());
    TakeChar(text, ':');
    return true;
  }
  return false;
}

// "1/200, Step 10/3995", "[1/5], Step [100/600]", "1 [640/60000 (1%)]", "1 | Batch 10/270" behind "Epoch".
bool TakeEpochComma(absl::string_view& text, EpochPlace& place) {
  TakeChar(text, ':');
  const bool bracket = TakeChar(text, '[');
  std::int64_t total = 0;
  absl::string_view ignored;
  if (!TakeInteger(text, place.epoch, place.epoch_text)) return false;
  if (TakeChar(text, '/') && !TakeInteger(text, total, ignored)) return false;
  if (bracket && !TakeChar(text, ']')) return false;
  for (const char c : {',', '|', '-', ';'}) {
    if (TakeChar(text, c)) break;
  }
  const bool word = TakeStepWord(text);
  absl::string_view brackets = text;
  if (TakeBracketStep(brackets, place)) {
    text = brackets;
    return true;
  }
  if (!TakeInteger(text, place.step, place.step_text) || !TakeChar(text, '/') ||
      !TakeInteger(text, place.steps_per_epoch, place.total_text)) {
    return false;
  }
  // "| epoch   1 |   200/ 2983 batches |": the word stands behind.
  return word || TakeStepWord(text);
}

}  // namespace

bool FindEpochPlace(absl::string_view line, EpochPlace& place) {
  for (std::size_t at = line.find("poch"); at != absl::string_view::npos; at = line.find("poch", at + 4)) {
    absl::string_view rest = line.substr(at + 4);
    if (absl::StartsWith(rest, "(train)")) rest.remove_prefix(7);
    absl::string_view other = rest;
    absl::string_view bar = rest;
    if (TakeEpochProgress(bar, place)) {
      place.rest = bar;
      return true;
    }
    if (TakeEpochBracket(rest, place) || TakeEpochComma(other, place)) {
      place.rest = rest.size() < other.size() ? rest : other;
      return true;
    }
  }
  if (const std::size_t at = line.find("Train: "); at != absl::string_view::npos) {
    absl::string_view rest = line.substr(at + 7);
    absl::string_view brackets = rest;
    if (TakeEpochBracket(brackets, place)) {  // "Train: [0/300][10/1251]"
      place.rest = brackets;
      return true;
    }
    if (TakeInteger(rest, place.epoch, place.epoch_text) && TakeBracketStep(rest, place)) {
      place.rest = rest;
      return true;
    }
  }
  return false;
}

bool FindBracketPlace(absl::string_view line, EpochPlace& place) {
  const std::size_t open = line.find('[');
  if (open == absl::string_view::npos) return false;
  absl::string_view before = line.substr(0, open);
  for (absl::string_view level : {"INFO", "DEBUG", "root"}) {
    const std::size_t at = before.find(level);
    if (at != absl::string_view::npos) before.remove_prefix(at + level.size());
  }
  const auto is_letter = [](char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)); };
  if (std::any_of(before.begin(), before.end(), is_letter)) return false;
  absl::string_view rest = line.substr(open);
  if (!TakeBracketStep(rest, place)) return false;
  place.rest = rest;
  EpochPlace inner;
  if (TakeBracketStep(rest, inner)) {  // "[0/25][10/1583]": epoch and batch
    place.epoch = place.step;
    place.epoch_text = place.step_text;
    place.step = inner.step;
    place.step_text = inner.step_text;
    place.steps_per_epoch = inner.steps_per_epoch;
    place.total_text = inner.total_text;
    place.rest = rest;
  }
  return true;
}

}  // namespace paritect
