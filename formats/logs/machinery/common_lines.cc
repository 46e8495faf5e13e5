#include "formats/logs/machinery/common_lines.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/utf8.h"
#include "formats/logs/machinery/evaluation_lines.h"

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

namespace {

// Overflow as a word, not as a part of an option's name: "check_overflow=True, overflow_policy=skip".
bool SpeaksOfOverflow(absl::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t lower = text.find("verflow", at);
    const std::size_t upper = text.find("VERFLOW", at);
    at = std::min(lower, upper);
    if (at == absl::string_view::npos) return false;
    const char before = at > 1 ? text[at - 2] : ' ';
    at += 7;
    const char after = at < text.size() ? text[at] : ' ';
    if (before != '_' && before != '-' && after != '_' && after != '=' && after != '-') return true;
  }
  return false;
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
  if (!SpeaksOfOverflow(text)) return false;
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
  // DeepSpeed's line of rank 0, and fairseq's, whose other ranks are silent.
  const bool one_writer =
      absl::StrContains(text, "OVERFLOW! Rank 0 ") || absl::StrContains(text, "NOTE: gradient overflow detected");
  out.Overflow(line.number, rank, scale, applied, one_writer);
  return true;
}

bool CommonLines::ResumeLine(const LogLine& line, RunLogBuilder& out) {
  const absl::string_view text = line.text;
  const bool says = absl::StrContains(text, "Resuming") || absl::StrContains(text, "resuming") ||
                    absl::StrContains(text, "Resumed") || absl::StrContains(text, "Resume ") ||
                    absl::StrContains(text, "resumed") || absl::StrContains(text, "ontinuing training from") ||
                    absl::StrContains(text, "oaded checkpoint") || absl::StrContains(text, "oading checkpoint");
  if (!says) return false;
  const auto step = NumberBehind(text, {"global_step", "global step", "at iteration", "from iteration", "from step",
                                        "iter:", "at step", "step_", "step-", "checkpoint-", " @ ", "step "});
  std::optional<std::int64_t> global;
  if (step && *step >= 0 && *step < 9e15) global = static_cast<std::int64_t>(*step);
  out.Resume(line.number, global);
  return true;
}

namespace {

bool HoldsOneOf(absl::string_view text, absl::Span<const absl::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](absl::string_view word) { return absl::StrContains(text, word); });
}

// Words that stand in the last lines of a run that broke off, and in no others: of Python, the C library and shells,
// launchers, schedulers, CUDA and NCCL.
constexpr absl::string_view kAbortWords[] = {
    "Traceback (most recent call last)",
    "(core dumped)",
    "Segmentation fault",
    "Bus error",
    "Fatal Python error",
    "terminate called after throwing",
    "terminate called without an active",
    "ChildFailedError",
    "failed (exitcode:",
    "Signal 6 (SIGABRT)",
    "Signal 9 (SIGKILL)",
    "Signal 11 (SIGSEGV)",
    "Signal 15 (SIGTERM)",
    "death signal",
    "exited on signal",
    "MPI_ABORT was invoked",
    "CUDA error:",
    "CUDA out of memory",
    "OutOfMemoryError",
    "NCCL error",
    "ncclUnhandledCudaError",
    "ncclSystemError",
    "ncclInternalError",
    "ncclRemoteError",
    "Watchdog caught collective operation timeout",
    "HCCL function error",
    "call hccl api failed",
    "call acl api failed",
    "aicore exception",
    "Out of memory: Killed process",
    "DUE TO TIME LIMIT",
    "CANCELLED AT",
    "oom-kill event",
};

// How the last line of a Python traceback begins.
constexpr absl::string_view kExceptions[] = {
    "RuntimeError: ",       "ValueError: ", "KeyboardInterrupt", "MemoryError",    "AssertionError",
    "FloatingPointError: ", "TypeError: ",  "ConnectionError: ", "TimeoutError: ", "OSError: "};

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

// Ascend's error codes, with the message behind them: "EZ9999: Inner Error!", "EI0002: ...", "ERR01100 OPS call acl".
bool HasAscendError(absl::string_view text) {
  for (std::size_t at = text.find('E'); at != absl::string_view::npos; at = text.find('E', at + 1)) {
    if (at > 0 && absl::ascii_isalnum(static_cast<unsigned char>(text[at - 1]))) continue;
    const absl::string_view code = text.substr(at);
    std::size_t digits = 0;
    const bool named = absl::StartsWith(code, "ERR");
    const std::size_t letters = named ? 3 : 2;
    if (code.size() < letters || !absl::ascii_isupper(static_cast<unsigned char>(code[1]))) continue;
    while (letters + digits < code.size() && IsDigit(code[letters + digits])) ++digits;
    const absl::string_view rest = code.substr(letters + digits);
    if (named ? digits == 5 && absl::StartsWith(rest, " ") : digits == 4 && absl::StartsWith(rest, ": ")) return true;
  }
  return false;
}

}  // namespace

bool CommonLines::AbortLine(const LogLine& line, RunLogBuilder& out) {
  const absl::string_view text = line.text;
  if (absl::StrContains(text, "Exception ignored in")) ignored_at_ = line.number;
  const absl::string_view bare = absl::StripAsciiWhitespace(text);
  const bool cause = absl::StrContains(text, "Minimum loss scale reached") ||
                     absl::StrContains(text, "Invalid loss, terminating") ||
                     absl::StrContains(text, "already at minimum - cannot decrease scale");
  const bool exception = std::any_of(std::begin(kExceptions), std::end(kExceptions),
                                     [&](absl::string_view name) { return absl::StartsWith(bare, name); });
  const bool aborts = cause || exception || HoldsOneOf(text, kAbortWords) || bare == "Aborted" || bare == "Killed" ||
                      absl::EndsWith(bare, " Aborted") || absl::EndsWith(bare, " Killed") || HasAscendError(text);
  if (!aborts) return false;
  if (absl::StartsWith(bare, "Traceback") && line.number <= ignored_at_ + 1) return true;
  if (out.end().state() == v1::RunEnd::STATE_ABORTED && !cause) return true;  // the first words stand
  out.End(v1::RunEnd::STATE_ABORTED, Short(text), line.number, line.rank);
  return true;
}

bool CommonLines::EndLine(const LogLine& line, RunLogBuilder& out) {
  const absl::string_view text = absl::StripLeadingAsciiWhitespace(line.text);
  if (!absl::StartsWithIgnoreCase(text, "final") || !absl::StrContains(text, "cc@1") || out.empty()) return false;
  out.End(v1::RunEnd::STATE_FINISHED, Short(text), line.number);
  return false;  // its values are an evaluation's
}

bool CommonLines::Line(const LogLine& line, RunLogBuilder& out) {
  const absl::string_view text = line.text;
  // DeepSpeed, behind its "Grad overflow on iteration".
  if (absl::StrContains(text, "Reducing dynamic loss scale from") && !out.empty()) {
    StepValues& last = out.last()->values;
    const auto scale = NumberBehind(text, {" to "});
    if (scale && last.overflow() && !last.has_loss_scale()) last.set_loss_scale(*scale);
    return true;
  }
  if (absl::StrContains(text, "verflow") || absl::StrContains(text, "OVERFLOW")) return OverflowLine(line, out);
  if (absl::StrContains(text, "Running training *****")) {
    out.Banner(line.number);
    return true;
  }
  if (AbortLine(line, out) || ResumeLine(line, out)) return true;
  return EndLine(line, out) || ReadEvaluationLine(line, out);
}

}  // namespace paritect
