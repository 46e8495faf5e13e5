// A log that is read while a run writes it: bytes as they are appended, records as they become known.
#ifndef PARITECT_FORMATS_LOGS_LIVE_LOG_H_
#define PARITECT_FORMATS_LOGS_LIVE_LOG_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "formats/logs/log_format.h"
#include "formats/logs/read_log.h"
#include "formats/logs/recognise.h"

namespace paritect {

// Memory: what recognition looks at (1 MiB at most), an unfinished line, and what was not taken yet. Text dialects,
// JSON Lines, CSV, event files, offline runs and metric files; not compressed files and not JSON documents, which are
// read when they are whole. Not thread-safe.
class LiveLog {
 public:
  explicit LiveLog(LogOptions options = {});

  // The bytes that were appended since the call before, cut anywhere. InvalidArgument: an unknown format name or a
  // pattern that is not RE2; DataLoss: damaged, nothing more is read.
  absl::Status Feed(absl::string_view appended);

  // As many zeros, of a hole that was not read.
  absl::Status FeedHole(std::uint64_t bytes);

  // The log goes on in a new file (it was rotated, or cut to nothing): half a line that stands open is dropped. The
  // format stays.
  void StartNewFile();

  // Records since the call before. A record may come again with more values (same rank, engine and step: the later one
  // replaces the earlier); a step that goes back after a restart comes again as well. `step_unknown`: an overflow that
  // was told without its step.
  std::vector<v1::StepRecord> Take();

  // Name of the format; empty until the log's bytes tell it.
  absl::string_view format() const { return format_ == nullptr ? name_ : format_->name; }
  // What the log says of its end so far.
  const v1::RunEnd& end() const { return out_->end(); }
  // What it tells beside its records so far: format, flags, settings, end.
  v1::RunLog About() const;

 private:
  absl::Status Recognise(absl::string_view appended);
  absl::Status Begin();

  LogOptions options_;
  const LogFormat* format_ = nullptr;
  LogClaim claim_;    // who reads, and who helps
  std::string name_;  // of a format without descriptor: a person's own pattern
  std::unique_ptr<LogParser> parser_;
  std::unique_ptr<RunLogBuilder> out_;
  TextEncoding encoding_ = TextEncoding::kUtf8;
  std::string head_;               // raw bytes of the window, while the format may still change
  std::size_t looked_at_ = 0;      // bytes of head_ when it was last looked at
  std::int64_t lines_before_ = 0;  // physical lines before the window
  bool first_window_ = true;
  bool settled_ = false;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_LIVE_LOG_H_
