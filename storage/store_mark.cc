#include "storage/store_mark.h"

#include <fcntl.h>
#include <unistd.h>
#include <array>
#include <cerrno>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/crc.h"
#include "common/digest.h"
#include "common/errno_status.h"

namespace paritect {
namespace {

constexpr std::size_t kDigestHexDigits = 64;

std::string Line(const MarkedState& state) {
  const std::string hash = state.log_number == 0 ? std::string(kDigestHexDigits, '0') : ToHex(state.log_hash);
  const std::string text = absl::StrFormat("commit %020d log %020d %s", state.commits, state.log_number, hash);
  return absl::StrFormat("%s crc %08x\n", text, Crc32c(0, text));
}

std::optional<MarkedState> ParseLine(absl::string_view line) {
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  MarkedState state;
  if (words.size() != 7 || !absl::SimpleAtoi(words[1], &state.commits) ||
      !absl::SimpleAtoi(words[3], &state.log_number) || words[4].size() != kDigestHexDigits) {
    return std::nullopt;
  }
  if (state.log_number > 0) state.log_hash = absl::HexStringToBytes(words[4]);
  if (Line(state) != absl::StrCat(line, "\n")) return std::nullopt;
  return state;
}

}  // namespace

absl::StatusOr<StoreMark> StoreMark::Open(absl::string_view path) {
  StoreMark mark(open(std::string(path).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (mark.fd_ < 0) return ErrnoStatus(errno, "open", path);
  std::array<char, 1024> bytes;
  const ssize_t size = pread(mark.fd_, bytes.data(), bytes.size(), 0);
  if (size < 0) return ErrnoStatus(errno, "read", path);
  const absl::string_view text(bytes.data(), static_cast<std::size_t>(size));
  const std::size_t length = Line({}).size();
  for (int i = 0; i < 2; ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * length;
    if (text.size() < at + length) break;
    const std::optional<MarkedState> state = ParseLine(text.substr(at, length - 1));
    if (!state || (mark.found_ && mark.found_->commits >= state->commits)) continue;
    mark.found_ = state;
    mark.next_line_ = 1 - i;
  }
  mark.damaged_ = !text.empty() && !mark.found_;
  return mark;
}

StoreMark::StoreMark(StoreMark&& other) noexcept
    : fd_(other.fd_), next_line_(other.next_line_), damaged_(other.damaged_), found_(std::move(other.found_)) {
  other.fd_ = -1;
}

StoreMark::~StoreMark() {
  if (fd_ >= 0) close(fd_);
}

absl::Status StoreMark::Note(const MarkedState& state) {
  const std::string line = Line(state);
  const off_t at = static_cast<off_t>(next_line_) * static_cast<off_t>(line.size());
  if (pwrite(fd_, line.data(), line.size(), at) != static_cast<ssize_t>(line.size())) {
    return ErrnoStatus(errno, "write", "the mark beside the database");
  }
  next_line_ = 1 - next_line_;
  return absl::OkStatus();
}

absl::Status StoreMark::Sync() const {
  return fdatasync(fd_) == 0 ? absl::OkStatus() : ErrnoStatus(errno, "flush", "the mark beside the database");
}

}  // namespace paritect
