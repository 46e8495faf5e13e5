#include "agent/collectors/printed_settings.h"

#include "agent/collectors/log_files.h"
#include "common/status_macros.h"
#include "formats/settings/settings_format.h"
#include "formats/text_lines.h"

namespace paritect {
namespace {

constexpr std::size_t kScanBytesMax = 64 << 20;
constexpr std::size_t kReadBytes = 1 << 17;

}  // namespace

absl::StatusOr<std::vector<v1::SettingsDocument>> ScanPrintedSettings(FileSystem& fs, const std::string& path,
                                                                      absl::string_view label) {
  PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<LogBytes> bytes, OpenLogFile(fs, path));
  LogSettingsScanner scanner(label);
  const auto feed = [&](const TextLine& line) { scanner.Feed(line.text, line.number); };
  std::vector<char> buffer(kReadBytes);
  TextLines lines;
  for (std::size_t total = 0; total < kScanBytesMax;) {
    PARITECT_ASSIGN_OR_RETURN(std::size_t n, bytes->Read(absl::MakeSpan(buffer)));
    if (n == 0) break;
    const absl::string_view chunk(buffer.data(), n);
    if (total == 0) {
      const TextEncoding encoding = DetectTextEncoding(chunk);
      const bool binary = encoding == TextEncoding::kUtf8 && chunk.substr(0, 1024).find('\0') != chunk.npos;
      if (binary) return std::vector<v1::SettingsDocument>();
      lines = TextLines(encoding);
    }
    total += n;
    lines.Feed(chunk, feed);
  }
  lines.Finish(feed);
  return scanner.Finish();
}

}  // namespace paritect
