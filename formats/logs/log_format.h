// A log format: a descriptor and one parser. One format a file, one line in all_log_formats.inc; the
// recipe is docs/adding-a-log-format.md. Recognition is by content, never by name.
#ifndef PARITECT_FORMATS_LOGS_LOG_FORMAT_H_
#define PARITECT_FORMATS_LOGS_LOG_FORMAT_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "formats/logs/machinery/line_form.h"
#include "formats/logs/machinery/run_log_builder.h"
#include "formats/text_lines.h"

namespace paritect {

// A window of the file. The first window begins where the file does; a log whose first telling line stands
// later is recognised by a later one.
struct LogHead {
  absl::string_view raw;   // bytes as they stand
  absl::string_view text;  // whole clean lines (formats/text_lines.h), each with its LF
  bool first = true;       // the window begins where the file does
};

class LogParser {
 public:
  virtual ~LogParser() = default;
  // Chunks need not end at line ends. DataLoss: damaged or hostile; what was read before stands.
  virtual absl::Status Feed(absl::string_view chunk, RunLogBuilder& out) = 0;
  virtual absl::Status Finish(RunLogBuilder& out) = 0;
  // As many NUL bytes, which the caller need not have read (a hole of a sparse file).
  virtual absl::Status FeedHole(std::uint64_t bytes, RunLogBuilder& out);
  // For a log that is still written: hands over what it collected so far.
  virtual void HandOver(RunLogBuilder&) {}
  // The log goes on in a new file: what stands open of the old one is dropped.
  virtual void StartNewFile() {}
};

class LineDialect;

struct LogFormat {
  absl::string_view name;  // as in the contract
  // Strict: a sample of one dialect is claimed by one format.
  bool (*sniff)(const LogHead& head);
  std::unique_ptr<LogParser> (*create)(TextEncoding encoding);
  // Of dialects whose lines may stand among those of others in one log; else nullptr.
  std::unique_ptr<LineDialect> (*dialect)() = nullptr;
  // Of such dialects: groups of three letters, one behind the other ('\x01' in the third place: any), one of which
  // stands in each line that proves the dialect. `sniff` sees those lines alone, and is not asked where there are none;
  // a rare group is a fast one. "": it sees the whole window.
  absl::string_view letters = "";
};

// In the order of trial; the last ones are the general forms.
absl::Span<const LogFormat* const> AllLogFormats();

// By name, or nullptr.
const LogFormat* FindLogFormat(absl::string_view name);

// ---- for text dialects ----

struct LogLine {
  absl::string_view text;  // without rank prefix
  std::int64_t number = 0;
  std::optional<std::int32_t> rank;  // from the prefix
  bool piece = false;                // another rank's line was cut into the same physical line
  // Whether the line holds any of the letter groups without which it tells of no loss, overflow, restart or end.
  bool telling = true;
};

// Whether `text` holds one of those groups (formats/logs/machinery/telling.cc): one vectorised pass in place of a dozen
// searches. `more`: three further letters that tell ("": none).
bool HasTellingLetters(absl::string_view text, absl::string_view more = "");

// The bytes at the front that hold none of them, and the LF among them.
QuietText FindQuiet(absl::string_view text, absl::string_view more);

class LineDialect {
 public:
  virtual ~LineDialect() = default;
  // Whether the line is one of this dialect; what it tells goes to `out`.
  virtual bool Line(const LogLine& line, RunLogBuilder& out) = 0;
  // Dialects that read their usual line in two steps (line_form.h), which Line has then no part in. Collect: whether
  // the line is such a line, by its text alone; Emit: what Line would answer.
  virtual bool Collect(absl::string_view, LineFields&) { return false; }
  virtual bool Emit(const LogLine&, const LineFields&, RunLogBuilder&) { return false; }
  virtual void Finish(RunLogBuilder&) {}
  // Whether Line looks at `telling`: it is settled before, else after.
  virtual bool wants_telling() const { return false; }
  // Whether lines that hold neither telling letters nor these three are nothing to this dialect, as things stand ("":
  // telling letters alone); no value: it looks at every line.
  virtual std::optional<absl::string_view> quiet_without() const { return std::nullopt; }
  // Whether a last line without a line end proves by itself that it is whole (a JSON object that closes).
  virtual bool IsWholeWithoutEnd(absl::string_view) const { return false; }
  // Another dialect's counter names the global step: for dialects whose own lines name none.
  virtual void StepTold(std::int64_t) {}
  // As Finish, where the dialect only helps: `out` is the log's.
  virtual void FinishBeside(RunLogBuilder&) {}
  // Lines that are not the dialect's may still be `step N loss X` (the dialect itself prints no loss).
  virtual bool takes_plain_lines() const { return false; }
};

// Whether the text is one JSON object, from its first to its last byte.
bool IsWholeJsonObject(absl::string_view text);

// The parser of a text dialect: splits lines, strips ranks, reads what every log may print beside its records
// (overflow messages, restarts, settings, end marks). `helpers`: dialects that stand in the same log and print no
// curve of their own there; what they tell of evaluations and of the end counts.
std::unique_ptr<LogParser> MakeTextLogParser(TextEncoding encoding, std::unique_ptr<LineDialect> dialect,
                                             std::vector<std::unique_ptr<LineDialect>> helpers = {});

template <typename Dialect>
std::unique_ptr<LineDialect> MakeLineDialect() {
  return std::make_unique<Dialect>();
}

template <typename Dialect>
std::unique_ptr<LogParser> CreateTextLogParser(TextEncoding encoding) {
  return MakeTextLogParser(encoding, std::make_unique<Dialect>());
}

// A parser that needs the whole document (JSON); DataLoss above the limit.
std::unique_ptr<LogParser> MakeDocumentParser(TextEncoding encoding,
                                              void (*parse)(absl::string_view text, RunLogBuilder& out));

// Calls `visit` for each line of `text` until it returns true; whether it did.
bool AnyLine(absl::string_view text, absl::FunctionRef<bool(absl::string_view line)> visit);

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_LOG_FORMAT_H_
