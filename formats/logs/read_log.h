// Bytes of a log (one file, or the joined parts of one) to a RunLog: recognise, then parse, both streaming.
#ifndef PARITECT_FORMATS_LOGS_READ_LOG_H_
#define PARITECT_FORMATS_LOGS_READ_LOG_H_

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "formats/logs/log_format.h"

namespace paritect {

// A stream of bytes that can be read once. Not thread-safe.
class LogBytes {
 public:
  virtual ~LogBytes() = default;
  virtual absl::StatusOr<std::size_t> Read(absl::Span<char> buffer) = 0;  // 0 at the end
  // Where the next bytes are a hole of a sparse file: goes on behind it and gives its length (File::SkipHole). 0: none.
  virtual absl::StatusOr<std::uint64_t> SkipHole() { return std::uint64_t{0}; }
  // Once the end is reached: whether bytes that should follow are not there.
  virtual bool truncated() const { return false; }
};

// Opens the same bytes anew: recognition reads as far as it must, parsing reads all.
using OpenLogBytes = absl::FunctionRef<absl::StatusOr<std::unique_ptr<LogBytes>>()>;

// Inflates what begins with gzip's magic number (several members too), passes everything else through. A member that is
// cut off ends the stream; `truncated()` says so.
class GunzipBytes : public LogBytes {
 public:
  explicit GunzipBytes(std::unique_ptr<LogBytes> source);
  ~GunzipBytes() override;
  absl::StatusOr<std::size_t> Read(absl::Span<char> buffer) override;
  absl::StatusOr<std::uint64_t> SkipHole() override;
  bool truncated() const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct LogOptions {
  std::string format;            // by name; empty: recognise
  std::string pattern;           // RE2 with named groups; beats recognition
  bool every_line_anew = false;  // for tests: no short cut for lines of a known form
};

// What a file is when it is not a log: "" or a word for a stand-in ("Git LFS pointer", "HTML page", "empty").
std::string StandInOf(absl::string_view head);

// `format` of the result is "unknown", with a note of what was seen, where nothing claims the bytes. Errors: what
// reading gives; DataLoss where the content is damaged or hostile; InvalidArgument for an unknown format name or a
// pattern that is not RE2.
absl::StatusOr<v1::RunLog> ReadLog(OpenLogBytes open, const LogOptions& options);

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_READ_LOG_H_
