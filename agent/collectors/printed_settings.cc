// Settings that logs print (argument blocks, dumps, banners): evidence of settings beside the log's own.
// Read from the first 64 MiB of each log, where they stand; a log that prints none gives no evidence here.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/collector.h"
#include "agent/redaction.h"
#include "common/glob.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/logs/read_log.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

constexpr std::size_t kScanBytesMax = 64 << 20;
constexpr std::size_t kReadBytes = 1 << 17;
constexpr std::size_t kLineBytesMax = 1 << 20;

class FileBytes : public LogBytes {
 public:
  explicit FileBytes(std::unique_ptr<File> file) : file_(std::move(file)) {}
  absl::StatusOr<std::size_t> Read(absl::Span<char> buffer) override { return file_->Read(buffer); }

 private:
  std::unique_ptr<File> file_;
};

// Feeds whole lines; a line without end is one of at most kLineBytesMax.
class LineFeeder {
 public:
  explicit LineFeeder(LogSettingsScanner& scanner) : scanner_(scanner) {}

  void Feed(absl::string_view chunk) {
    while (!chunk.empty()) {
      const std::size_t end = chunk.find('\n');
      if (pending_.size() < kLineBytesMax) pending_.append(chunk.data(), std::min(end, chunk.size()));
      if (end == absl::string_view::npos) return;
      Flush();
      chunk.remove_prefix(end + 1);
    }
  }

  void Flush() {
    if (!pending_.empty() && pending_.back() == '\r') pending_.pop_back();
    scanner_.Feed(pending_, ++line_);
    pending_.clear();
  }

 private:
  LogSettingsScanner& scanner_;
  std::string pending_;
  std::int64_t line_ = 0;
};

absl::StatusOr<std::vector<v1::SettingsDocument>> ScanFile(FileSystem& fs, const std::string& path,
                                                           absl::string_view label) {
  PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<File> file, fs.Open(path));
  GunzipBytes bytes(std::make_unique<FileBytes>(std::move(file)));
  LogSettingsScanner scanner(label);
  LineFeeder feeder(scanner);
  std::vector<char> buffer(kReadBytes);
  for (std::size_t total = 0; total < kScanBytesMax;) {
    PARITECT_ASSIGN_OR_RETURN(std::size_t n, bytes.Read(absl::MakeSpan(buffer)));
    if (n == 0) break;
    total += n;
    const absl::string_view chunk(buffer.data(), n);
    if (absl::StrContains(chunk, absl::string_view("\0", 1))) break;  // binary
    feeder.Feed(chunk);
  }
  feeder.Flush();
  return scanner.Finish();
}

std::string Label(const v1::Plan& plan, absl::string_view path) {
  const std::string prefix = absl::StrCat(plan.base(), "/");
  return DisplayBytes(absl::StartsWith(path, prefix) ? path.substr(prefix.size()) : path);
}

void Collect(const CollectorEnv& env, const v1::Plan& plan, EvidenceSink sink) {
  for (const v1::LogSource& source : plan.logs()) {
    auto matches = ExpandPathPattern(env.fs, ResolvePath(plan, source.file()));
    if (!matches.ok()) continue;  // the collector of logs says so
    for (const PathMatch& match : *matches) {
      const std::string label = Label(plan, match.path);
      auto documents = ScanFile(env.fs, match.path, label);
      if (!documents.ok()) continue;
      for (v1::SettingsDocument& document : *documents) {
        document.set_kind("printed");
        WithholdSecrets(env.rules.settings, document, env.redaction_key);
        v1::Evidence evidence;
        evidence.set_kind(v1::EVIDENCE_KIND_SETTINGS);
        evidence.set_outcome(v1::OUTCOME_COLLECTED);
        evidence.set_source(label);
        if (match.captures.rank) evidence.set_rank(*match.captures.rank);
        *evidence.mutable_settings() = std::move(document);
        sink(std::move(evidence));
      }
    }
  }
}

}  // namespace

extern const Collector kPrintedSettingsCollector;
const Collector kPrintedSettingsCollector = {"logs", "settings that logs print", &Collect};

}  // namespace paritect
