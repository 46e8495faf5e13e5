// A log in memory, for tests.
#ifndef PARITECT_FORMATS_LOGS_TEXT_BYTES_FIXTURE_H_
#define PARITECT_FORMATS_LOGS_TEXT_BYTES_FIXTURE_H_

#include <algorithm>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "formats/logs/read_log.h"

namespace paritect {

// Gives at most `chunk` bytes at once.
class TextBytes : public LogBytes {
 public:
  explicit TextBytes(absl::string_view text, std::size_t chunk = 1 << 20) : rest_(text), chunk_(chunk) {}
  absl::StatusOr<std::size_t> Read(absl::Span<char> buffer) override {
    const std::size_t n = rest_.copy(buffer.data(), std::min(buffer.size(), chunk_));
    rest_.remove_prefix(n);
    return n;
  }

 private:
  absl::string_view rest_;
  std::size_t chunk_;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_TEXT_BYTES_FIXTURE_H_
