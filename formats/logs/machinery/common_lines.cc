#include "formats/logs/machinery/common_lines.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/utf8.h"
#include "formats/logs/machinery/evaluation_lines.h"
#include "formats/logs/machinery/named_values.h"

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

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

// "overflow: False", "overflows: 0": a value of the line and no message; `text` is what stands behind the word.
bool IsCount(absl::string_view text) {
  absl::ConsumePrefix(&text, "s");
  text = absl::StripLeadingAsciiWhitespace(text);
  if (!absl::ConsumePrefix(&text, ":") && !absl::ConsumePrefix(&text, "=")) return false;
  text = absl::StripLeadingAsciiWhitespace(text);
  return (!text.empty() && IsDigit(text[0])) || absl::StartsWithIgnoreCase(text, "true") ||
         absl::StartsWithIgnoreCase(text, "false");
}

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
    if (before != '_' && before != '-' && after != '_' && after != '=' && after != '-' && !IsCount(text.substr(at))) {
      return true;
    }
  }
  return false;
}

// Where the message's own words begin: "overflow", or that a gradient is no number; npos: it is no such message.
std::size_t FindOverflowWords(absl::string_view text) {
  static constexpr absl::string_view kMemory[] = {"内存溢出", "显存溢出", "栈溢出", "缓冲区溢出"};
  static constexpr absl::string_view kNoNumber[] = {
      "inf/nan",    "nan/inf",    "Inf/NaN",    "NaN/Inf",   "Inf/Nan",   "Nan/Inf",   "nan or inf",
      "NaN or Inf", "inf or nan", "Inf or NaN", "found_inf", "found inf", "Found inf", "non-finite",
      "nonfinite",  "Non-finite", "not finite", "nan grad",  "NaN grad",  "inf grad"};
  static constexpr absl::string_view kSkips[] = {"kipping", "kipped", "kip ", "跳过"};
  if (SpeaksOfOverflow(text)) return std::min(text.find("verflow"), text.find("VERFLOW")) - 1;
  if (const std::size_t at = text.find("溢出"); at != absl::string_view::npos && !HoldsOneOf(text, kMemory)) return at;
  if (!HoldsOneOf(text, kSkips) || !(absl::StrContains(text, "rad") || absl::StrContains(text, "梯度"))) {
    return absl::string_view::npos;
  }
  std::size_t first = absl::string_view::npos;
  for (const absl::string_view word : kNoNumber) first = std::min(first, text.find(word));
  return first;
}

// One place of a program prints one wording, whatever the numbers in it: the letters around the words.
std::uint64_t WordingOf(absl::string_view text, std::size_t at) {
  constexpr std::size_t kLettersBefore = 12;
  constexpr std::size_t kLettersBehind = 20;
  std::string letters;
  std::size_t begin = at;
  const auto ends = [](char c) { return IsDigit(c) || c == ']' || c == ':' || c == '|' || c == '>' || c == '='; };
  while (begin > 0 && at - begin < kLettersBefore && !ends(text[begin - 1])) --begin;
  for (std::size_t i = begin; i < text.size() && letters.size() < kLettersBefore + kLettersBehind; ++i) {
    if (IsDigit(text[i])) break;
    const auto c = static_cast<unsigned char>(text[i]);
    if (absl::ascii_isalpha(c) || c >= 0x80) letters.push_back(text[i]);
  }
  return std::hash<std::string>()(letters);
}

std::optional<std::int32_t> RankInMessage(absl::string_view text) {
  const std::size_t at = text.find("OVERFLOW! Rank ");
  if (at == absl::string_view::npos) return std::nullopt;
  const LogNumber number = ReadLogNumber(text.substr(at + 15));
  const bool other = number.kind == LogNumber::Kind::kValue && number.value > 0 && number.value < 1e7;
  return other ? std::optional<std::int32_t>(static_cast<std::int32_t>(number.value)) : std::nullopt;
}

}  // namespace

bool TellsOfOverflow(absl::string_view text) {
  return FindOverflowWords(text) != absl::string_view::npos;
}

// The spellings (DeepSpeed, apex, fairseq, MindYOLO and scripts after them): docs/log-formats.md, "Overflow".
bool CommonLines::OverflowLine(const LogLine& line, RunLogBuilder& out) {
  static constexpr absl::string_view kSkips[] = {"kip",  "ignoring", "drop step", "discard", "setting loss scale",
                                                 "跳过", "忽略",     "丢弃",      "舍弃",    "reducing loss scale"};
  static constexpr absl::string_view kApplied[] = {"still update", "仍更新", "仍然更新", "继续更新"};
  const absl::string_view text = line.text;
  const std::size_t at = FindOverflowWords(text);
  if (at == absl::string_view::npos) return false;
  OverflowMessage message;
  message.line = line.number;
  message.rank = line.rank;
  message.wording = WordingOf(text, at);
  if (const std::size_t told = text.find("Grad overflow on iteration"); told != absl::string_view::npos) {
    if (told > 2 && text.substr(told - 3, 3) == "No ") return false;
    const LogNumber number = ReadLogNumber(text.substr(told + 26));
    const auto iteration = WholeLogNumber(number.value);
    if (number.kind != LogNumber::Kind::kValue || !iteration) return false;
    message.iteration = *iteration;
    message.rank = std::nullopt;
    out.Overflow(message);
    return true;
  }
  message.applied = HoldsOneOf(text, kApplied);
  if (!message.applied && !HoldsOneOf(text, kSkips)) return false;
  if (!message.rank) message.rank = RankInMessage(text);
  message.scale =
      NumberBehind(text, {"reducing loss scale to", "reducing to", "setting loss scale to:", "loss scale adjust to",
                          "loss scale to", "缩放系数降为", "缩放系数调整为", "缩放系数降至", "降为", "降至", "调整为",
                          "Attempted loss scale:", "loss scale:"});
  // DeepSpeed's line of rank 0, and fairseq's, whose other ranks are silent.
  message.one_writer = absl::StrContains(text, "OVERFLOW! Rank 0 ") ||
                       (absl::StrContains(text, "overflow detected") && absl::StrContains(text, "setting loss scale"));
  out.Overflow(message);
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

// What Python tells of at exit, of threads and of its own logging goes on to nothing: the traceback behind such a line,
// its frames and its last line are none of the run's.
bool CommonLines::IsNoise(const LogLine& line, bool aborts) {
  static constexpr absl::string_view kNoise[] = {
      "Exception ignored in",          "Exception ignored on",   "Error in atexit._run_exitfuncs",
      "Error in sys.excepthook",       "Exception in thread ",   "Unhandled exception in thread",
      "exception was never retrieved", "Exception in callback ", "Exception happened during processing of request",
      "--- Logging error ---"};
  static constexpr absl::string_view kChained[] = {"During handling of the above exception",
                                                   "The above exception was the direct cause"};
  constexpr std::int64_t kLinesToTraceback = 8;
  constexpr std::int64_t kLinesOfTraceback = 400;
  const absl::string_view text = line.text;
  if (HoldsOneOf(text, kNoise)) {
    noise_ = {Noise::kExpected, line.number};
    return true;
  }
  const std::int64_t since = line.number - noise_.line;
  if (noise_.state == Noise::kOver && since <= kLinesToTraceback && HoldsOneOf(text, kChained)) {
    noise_ = {Noise::kExpected, line.number};
    return true;
  }
  const bool traceback = absl::StrContains(text, "Traceback (most recent call last)");
  if (noise_.state == Noise::kExpected && since <= kLinesToTraceback && traceback) {
    noise_ = {Noise::kInside, line.number};
    return true;
  }
  if (noise_.state != Noise::kInside || traceback || since > kLinesOfTraceback) return false;
  const absl::string_view bare = absl::StripLeadingAsciiWhitespace(text);
  if (bare.size() < text.size()) return true;  // a frame
  // "BrokenPipeError: [Errno 32] ...", "KeyboardInterrupt": the last line.
  const absl::string_view name = bare.substr(0, bare.find_first_of(": "));
  const bool last =
      aborts || absl::EndsWith(name, "Error") || absl::EndsWith(name, "Exception") || absl::EndsWith(name, "Interrupt");
  if (last) noise_ = {Noise::kOver, line.number};
  return last;
}

bool CommonLines::AbortLine(const LogLine& line, RunLogBuilder& out) {
  const absl::string_view text = line.text;
  const absl::string_view bare = absl::StripAsciiWhitespace(text);
  const bool cause = absl::StrContains(text, "Minimum loss scale reached") ||
                     absl::StrContains(text, "Invalid loss, terminating") ||
                     absl::StrContains(text, "already at minimum - cannot decrease scale");
  const bool exception = std::any_of(std::begin(kExceptions), std::end(kExceptions),
                                     [&](absl::string_view name) { return absl::StartsWith(bare, name); });
  const bool aborts = cause || exception || HoldsOneOf(text, kAbortWords) || bare == "Aborted" || bare == "Killed" ||
                      absl::EndsWith(bare, " Aborted") || absl::EndsWith(bare, " Killed") || HasAscendError(text);
  if (IsNoise(line, aborts)) return true;
  if (!aborts) return false;
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
  if (absl::StrContains(text, "Reducing dynamic loss scale from")) {
    if (const auto scale = NumberBehind(text, {" to "})) out.OverflowScale(*scale);
    return true;
  }
  if (OverflowLine(line, out)) return true;
  if (absl::StrContains(text, "verflow") || absl::StrContains(text, "OVERFLOW")) return false;
  if (absl::StrContains(text, "Running training *****")) {
    out.Banner(line.number);
    return true;
  }
  if (AbortLine(line, out) || ResumeLine(line, out)) return true;
  return EndLine(line, out) || ReadEvaluationLine(line, out);
}

}  // namespace paritect
