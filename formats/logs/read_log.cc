#include "formats/logs/read_log.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/logs/machinery/pattern_log.h"
#include "formats/logs/recognise.h"

namespace paritect {
namespace {

constexpr std::size_t kChunkBytes = 256 << 10;
constexpr std::size_t kHeadBytes = 64 << 10;
// A general form (step N loss X) is taken only where no dialect follows within so many windows, and a dialect without a
// curve where none with one does.
constexpr int kWindowsForDialects = 16;

// Reads until the buffer is full or the stream ends.
absl::StatusOr<std::size_t> ReadFull(LogBytes& bytes, absl::Span<char> buffer) {
  std::size_t filled = 0;
  while (filled < buffer.size()) {
    PARITECT_ASSIGN_OR_RETURN(const std::uint64_t hole, bytes.SkipHole());
    if (hole > 0) buffer[filled++] = '\0';  // one stands for all
    if (filled == buffer.size()) break;
    PARITECT_ASSIGN_OR_RETURN(std::size_t n, bytes.Read(buffer.subspan(filled)));
    if (n == 0) break;
    filled += n;
  }
  return filled;
}

// Share of bytes that no text holds, NUL runs left aside (holes are judged by the lines).
bool LooksBinary(absl::string_view head) {
  std::size_t odd = 0;
  std::size_t all = 0;
  std::size_t runs = 0;
  for (std::size_t i = 0; i < head.size(); ++i) {
    const auto c = static_cast<unsigned char>(head[i]);
    runs += c == 0 && (i == 0 || head[i - 1] != 0);
    if (c == 0) continue;
    ++all;
    odd += (c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\b' && c != 0x1b && c != '\f' && c != '\a') ||
           c == 0x7f;
  }
  // A log has a hole or two; arrays and archives have zeros all over.
  return odd * 20 > all || runs > 16 + all / 64 || (all == 0 && runs > 0);
}

// Sixteen-bit integers look like UTF-16 at first.
bool IsBinaryInWide(absl::string_view head, TextEncoding encoding) {
  std::string text;
  TextLines lines(encoding);
  const auto add = [&](const TextLine& line) { text.append(line.text.data(), line.text.size()); };
  lines.Feed(head, add);
  lines.Finish(add);
  return LooksBinary(text);
}

struct Recognition {
  LogClaim claim;
  TextEncoding encoding = TextEncoding::kUtf8;
  std::string stand_in;
  bool binary = false;
  std::int64_t lines = 0;
  bool speaks_of_loss = false;  // some line holds the word: a form that is not known, perhaps
};

// Looks at the file window by window until a format claims one.
absl::StatusOr<Recognition> Recognise(LogBytes& bytes) {
  Recognition seen;
  std::vector<char> buffer(kChunkBytes);
  PARITECT_ASSIGN_OR_RETURN(std::size_t n, ReadFull(bytes, absl::MakeSpan(buffer)));
  absl::string_view chunk(buffer.data(), n);
  const absl::string_view head = chunk.substr(0, kHeadBytes);
  seen.encoding = DetectTextEncoding(head);
  seen.stand_in = StandInOf(head);
  if (!seen.stand_in.empty()) return seen;
  seen.binary = seen.encoding == TextEncoding::kUtf8 ? LooksBinary(head) : IsBinaryInWide(head, seen.encoding);
  TextLines lines(seen.encoding);
  std::string text;
  for (int window = 0; n > 0; ++window) {
    const bool last = n < buffer.size();
    text.clear();
    auto add = [&](const TextLine& line) {
      ++seen.lines;
      absl::StrAppend(&text, line.text, "\n");
    };
    lines.Feed(chunk, add);
    if (last && window == 0) lines.Finish(add);
    const LogHead view = {window == 0 ? chunk : absl::string_view(), text, window == 0};
    bool speaks_of_loss = false;
    seen.claim.Add(ClaimLog(view, &speaks_of_loss));
    seen.speaks_of_loss = seen.speaks_of_loss || speaks_of_loss;
    // A curve of a dialect's own settles it.
    const bool settled = seen.claim.losses > 0 && !seen.claim.is_general();
    if (seen.claim.format != nullptr && (settled || window >= kWindowsForDialects)) break;
    if (last || (seen.binary && window > 0)) break;
    PARITECT_ASSIGN_OR_RETURN(n, ReadFull(bytes, absl::MakeSpan(buffer)));
    chunk = absl::string_view(buffer.data(), n);
  }
  return seen;
}

v1::RunLog Unknown(const Recognition& seen) {
  RunLogBuilder out;
  if (seen.stand_in == "empty") {
    out.AddNote("empty", 0, "holds no byte but blanks");
  } else if (!seen.stand_in.empty()) {
    out.AddNote("stand_in", 0, absl::StrCat("holds no content of its own: ", seen.stand_in));
  } else if (seen.binary) {
    out.AddNote("not_recognised", 0, "binary data that no reader of logs knows");
  } else {
    out.AddNote(seen.speaks_of_loss ? "not_recognised" : "no_records", 0,
                absl::StrCat("text of ", seen.lines, " lines, none of which gives a step and its loss"));
  }
  return out.Build("unknown");
}

absl::StatusOr<v1::RunLog> Parse(LogBytes& bytes, LogParser& parser, absl::string_view format,
                                 const LogOptions& options) {
  RunLogBuilder out;
  if (options.every_line_anew) out.set_reads_every_line_anew();
  std::vector<char> buffer(kChunkBytes);
  for (;;) {
    PARITECT_ASSIGN_OR_RETURN(const std::uint64_t hole, bytes.SkipHole());
    if (hole > 0) PARITECT_RETURN_IF_ERROR(parser.FeedHole(hole, out));
    PARITECT_ASSIGN_OR_RETURN(std::size_t n, bytes.Read(absl::MakeSpan(buffer)));
    if (n == 0) break;
    PARITECT_RETURN_IF_ERROR(parser.Feed(absl::string_view(buffer.data(), n), out));
  }
  PARITECT_RETURN_IF_ERROR(parser.Finish(out));
  if (bytes.truncated()) {
    out.set_incomplete_tail();
    out.AddNote("gap", 0, "a gzip stream is cut off: what follows of the log is lost");
  }
  return out.Build(format);
}

}  // namespace

std::string StandInOf(absl::string_view head) {
  if (head.empty()) return "empty";
  const absl::string_view text = absl::StripLeadingAsciiWhitespace(head);
  if (text.empty()) return "empty";
  if (absl::StartsWith(text, "version https://git-lfs.github.com/spec/")) return "Git LFS pointer";
  if (absl::StartsWithIgnoreCase(text, "<!doctype html") || absl::StartsWithIgnoreCase(text, "<html"))
    return "HTML page";
  return "";
}

absl::StatusOr<v1::RunLog> ReadLog(OpenLogBytes open, const LogOptions& options) {
  std::unique_ptr<LogParser> parser;
  std::string name;
  PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<LogBytes> bytes, open());
  PARITECT_ASSIGN_OR_RETURN(Recognition seen, Recognise(*bytes));
  if (!seen.stand_in.empty()) return Unknown(seen);
  LogClaim claim = seen.claim;
  if (!options.format.empty()) {
    const LogFormat* format = FindLogFormat(options.format);
    if (format == nullptr)
      return absl::InvalidArgumentError(absl::StrCat("there is no log format '", options.format, "'"));
    if (claim.format != format) claim = {format, {}, 0};
  }
  if (!options.pattern.empty()) {
    PARITECT_ASSIGN_OR_RETURN(parser, MakePatternParser(seen.encoding, options.pattern));
    name = "text";
  } else if (claim.format != nullptr) {
    parser = claim.MakeParser(seen.encoding);
    name = std::string(claim.format->name);
  } else {
    return Unknown(seen);
  }
  bytes = nullptr;
  PARITECT_ASSIGN_OR_RETURN(bytes, open());
  return Parse(*bytes, *parser, name, options);
}

}  // namespace paritect
