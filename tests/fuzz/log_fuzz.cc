// Training logs: recognised or forced into each format, in one piece and in small ones.
#include "formats/logs/live_log.h"
#include "formats/logs/read_log.h"
#include "tests/fuzz/fuzz.h"

namespace paritect {
namespace {

class MemoryBytes : public LogBytes {
 public:
  MemoryBytes(absl::string_view bytes, std::size_t piece) : rest_(bytes), piece_(piece) {}
  absl::StatusOr<std::size_t> Read(absl::Span<char> buffer) override {
    const std::size_t size = std::min({buffer.size(), rest_.size(), piece_});
    std::copy_n(rest_.begin(), size, buffer.begin());
    rest_.remove_prefix(size);
    return size;
  }

 private:
  absl::string_view rest_;
  std::size_t piece_;
};

absl::StatusOr<v1::RunLog> Read(absl::string_view bytes, std::size_t piece, const LogOptions& options) {
  return ReadLog(
      [&]() -> absl::StatusOr<std::unique_ptr<LogBytes>> { return std::make_unique<MemoryBytes>(bytes, piece); },
      options);
}

// As a growing file is read: pieces, and what is known between them.
void ReadLive(absl::string_view bytes, std::size_t piece) {
  LiveLog log;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    if (!log.Feed(bytes.substr(at, piece)).ok()) return;
    (void)log.Take();
  }
  log.StartNewFile();
  (void)log.Feed(bytes.substr(0, piece));
  (void)log.Take();
}

}  // namespace
}  // namespace paritect

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paritect;  // NOLINT(google-build-using-namespace)
  const absl::string_view bytes = FuzzInput(data, size);
  const auto whole = Read(bytes, bytes.size() + 1, {});
  const auto pieces = Read(bytes, 7, {});
  FuzzCheck(whole.ok() == pieces.ok(), "the answer does not depend on how the bytes come");
  if (whole.ok()) {
    FuzzCheck(whole->DebugString() == pieces->DebugString(), "records do not depend on how the bytes come");
  }
  if (size == 0) return 0;
  ReadLive(bytes, bytes.size() / 5 + 1);
  LogOptions forced;
  forced.format = std::string(AllLogFormats()[data[0] % AllLogFormats().size()]->name);
  (void)Read(bytes.substr(1), bytes.size(), forced);
  if (size < 512) {
    LogOptions pattern;
    pattern.pattern = std::string(bytes.substr(0, size / 2));
    (void)Read(bytes.substr(size / 2), bytes.size(), pattern);
  }
  return 0;
}
