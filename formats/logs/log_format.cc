#include "formats/logs/log_format.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/logs/machinery/json_fields.h"

namespace paritect {

#define PARITECT_LOG_FORMAT(name) extern const LogFormat k##name##LogFormat;
#include "formats/logs/all_log_formats.inc"
#undef PARITECT_LOG_FORMAT

absl::Span<const LogFormat* const> AllLogFormats() {
  static constexpr const LogFormat* kAll[] = {
#define PARITECT_LOG_FORMAT(name) &k##name##LogFormat,
#include "formats/logs/all_log_formats.inc"
#undef PARITECT_LOG_FORMAT
  };
  return kAll;
}

const LogFormat* FindLogFormat(absl::string_view name) {
  for (const LogFormat* format : AllLogFormats()) {
    if (format->name == name) return format;
  }
  return nullptr;
}

bool IsWholeJsonObject(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  return absl::StartsWith(text, "{") &&
         ForEachJsonField(text, [](absl::string_view, absl::string_view) {}) == text.size();
}

absl::Status LogParser::FeedHole(std::uint64_t bytes, RunLogBuilder& out) {
  static constexpr char kZeros[4096] = {};
  // No format has a use for more.
  for (std::uint64_t left = std::min<std::uint64_t>(bytes, 1 << 20); left > 0;) {
    const std::uint64_t n = std::min<std::uint64_t>(left, sizeof(kZeros));
    absl::Status status = Feed(absl::string_view(kZeros, static_cast<std::size_t>(n)), out);
    if (!status.ok()) return status;
    left -= n;
  }
  return absl::OkStatus();
}

bool AnyLine(absl::string_view text, absl::FunctionRef<bool(absl::string_view line)> visit) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (visit(text.substr(0, end))) return true;
    if (end == absl::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return false;
}

bool AnyLine(absl::Span<const absl::string_view> lines, absl::FunctionRef<bool(absl::string_view line)> visit) {
  return std::any_of(lines.begin(), lines.end(), visit);
}

namespace {

constexpr std::size_t kDocumentBytesMax = 256 << 20;

class DocumentParser : public LogParser {
 public:
  DocumentParser(TextEncoding encoding, void (*parse)(absl::string_view, RunLogBuilder&))
      : encoding_(encoding), parse_(parse) {}

  absl::Status Feed(absl::string_view chunk, RunLogBuilder&) override {
    if (text_.size() + chunk.size() > kDocumentBytesMax) {
      return absl::DataLossError("a JSON log of more than 256 MiB is not read");
    }
    text_.append(chunk.data(), chunk.size());
    return absl::OkStatus();
  }

  absl::Status Finish(RunLogBuilder& out) override {
    parse_(encoding_ == TextEncoding::kUtf8 ? text_ : InUtf8(), out);
    return absl::OkStatus();
  }

 private:
  std::string InUtf8() const {
    std::string text;
    const auto add = [&](const TextLine& line) { absl::StrAppend(&text, line.text, "\n"); };
    TextLines lines(encoding_);
    lines.Feed(text_, add);
    lines.Finish(add);
    return text;
  }

  TextEncoding encoding_;
  void (*parse_)(absl::string_view, RunLogBuilder&);
  std::string text_;
};

}  // namespace

std::unique_ptr<LogParser> MakeDocumentParser(TextEncoding encoding,
                                              void (*parse)(absl::string_view text, RunLogBuilder& out)) {
  return std::make_unique<DocumentParser>(encoding, parse);
}

}  // namespace paritect
