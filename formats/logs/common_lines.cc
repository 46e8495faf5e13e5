#include "formats/logs/common_lines.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/utf8.h"

namespace paritect {
namespace {

// The number behind the last of the words that the line holds.
std::optional<double> NumberBehind(absl::string_view line, std::initializer_list<absl::string_view> words) {
  for (absl::string_view word : words) {
    const std::size_t at = line.find(word);
    if (at == absl::string_view::npos) continue;
    const LogNumber number = ReadLogNumber(line.substr(at + word.size()));
    if (number.kind == LogNumber::Kind::kValue) return number.value;
  }
  return std::nullopt;
}

std::string Short(absl::string_view text) {
  return DisplayBytes(absl::StripAsciiWhitespace(text.substr(0, 160)));
}

}  // namespace

// The spellings (DeepSpeed, apex, fairseq, MindYOLO and scripts after them): docs/log-formats.md, "Overflow".
bool CommonLines::OverflowLine(const LogLine& line, RunLogBuilder& out) {
  const absl::string_view text = line.text;
  if (const std::size_t at = text.find("Grad overflow on iteration"); at != absl::string_view::npos) {
    if (at > 0 && text[at - 1] == ' ' && at > 2 && text.substr(at - 3, 3) == "No ") return false;
    const LogNumber number = ReadLogNumber(text.substr(at + 26));
    if (number.kind != LogNumber::Kind::kValue) return false;
    const auto iteration = static_cast<std::int64_t>(number.value);
    if (!overflow_iterations_.insert(iteration).second) return true;
    LogRecord record;
    record.values.set_line(line.number);
    record.values.set_step(iteration + 1);  // the engine counts from 0
    record.values.set_overflow(true);
    out.set_overflow_seen();
    out.entries().push_back(std::move(record));
    return true;
  }
  const bool skips = absl::StrContains(text, "kip") || absl::StrContains(text, "ignoring") ||
                     absl::StrContains(text, "drop step") || absl::StrContains(text, "discard");
  const bool applied = absl::StrContains(text, "still update");
  if (!skips && !applied) return false;
  std::optional<std::int32_t> rank = line.rank;
  if (!rank) {
    if (const std::size_t at = text.find("OVERFLOW! Rank "); at != absl::string_view::npos) {
      const LogNumber number = ReadLogNumber(text.substr(at + 15));
      if (number.kind == LogNumber::Kind::kValue && number.value >= 0 && number.value < 1e7 && number.value != 0) {
        rank = static_cast<std::int32_t>(number.value);
      }
    }
  }
  const auto scale =
      NumberBehind(text, {"reducing loss scale to", "reducing to", "setting loss scale to:", "loss scale adjust to",
                          "loss scale to", "Attempted loss scale:", "loss scale:"});
  out.Overflow(line.number, rank, scale, applied);
  return true;
}

bool CommonLines::ResumeLine(const LogLine& line, RunLogBuilder& out) {
  const absl::string_view text = line.text;
  const bool says = absl::StrContains(text, "Resuming") || absl::StrContains(text, "resuming") ||
                    absl::StrContains(text, "Resumed") || absl::StrContains(text, "resumed") ||
                    absl::StrContains(text, "ontinuing training from") || absl::StrContains(text, "oaded checkpoint") ||
                    absl::StrContains(text, "oading checkpoint");
  if (!says) return false;
  const auto step = NumberBehind(text, {"global_step", "global step", "at iteration", "from iteration", "from step",
                                        "iter:", "at step", "step_", "step-", "checkpoint-", " @ "});
  std::optional<std::int64_t> global;
  if (step && *step >= 0 && *step < 9e15) global = static_cast<std::int64_t>(*step);
  out.Resume(line.number, global);
  return true;
}

bool CommonLines::EndLine(const LogLine& line, RunLogBuilder& out) {
  const absl::string_view text = line.text;
  if (absl::StartsWith(text, "Traceback (most recent call last)") ||
      absl::StrContains(text, "Minimum loss scale reached") || absl::StrContains(text, "Invalid loss, terminating") ||
      absl::StrContains(text, "already at minimum - cannot decrease scale")) {
    out.End(v1::RunEnd::STATE_ABORTED, Short(text), line.number);
    return true;
  }
  const std::size_t at = text.find("cc@1");
  if (at == absl::string_view::npos || out.empty()) return false;
  absl::string_view rest = absl::StripLeadingAsciiWhitespace(text.substr(at + 4));
  if (!rest.empty() && (rest[0] == ':' || rest[0] == '=')) rest.remove_prefix(1);
  const LogNumber number = ReadLogNumber(rest);
  if (number.kind != LogNumber::Kind::kValue) return false;
  out.last()->values.set_accuracy(number.value);
  out.last()->values.set_accuracy_of_training(false);
  if (absl::StartsWithIgnoreCase(absl::StripLeadingAsciiWhitespace(text), "final")) {
    out.End(v1::RunEnd::STATE_FINISHED, Short(text), line.number);
  }
  return true;
}

bool CommonLines::Line(const LogLine& line, RunLogBuilder& out) {
  const absl::string_view text = line.text;
  if (absl::StrContains(text, "verflow") || absl::StrContains(text, "OVERFLOW")) return OverflowLine(line, out);
  if (absl::StrContains(text, "Running training *****")) {
    out.Banner(line.number);
    return true;
  }
  if (ResumeLine(line, out)) return true;
  return EndLine(line, out);
}

}  // namespace paritect
