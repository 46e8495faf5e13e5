#include "formats/random_access.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace paritect {

RandomAccess AccessTo(absl::string_view bytes) {
  return {bytes.size(), [bytes](std::uint64_t offset, absl::Span<char> buffer) -> absl::StatusOr<std::size_t> {
            if (offset >= bytes.size()) return std::size_t{0};
            return bytes.copy(buffer.data(), buffer.size(), static_cast<std::size_t>(offset));
          }};
}

RandomAccess AccessTo(File& file, std::uint64_t size_bytes) {
  return {size_bytes, [&file](std::uint64_t offset, absl::Span<char> buffer) { return file.ReadAt(offset, buffer); }};
}

absl::Status ReadExactly(const RandomAccess& file, std::uint64_t offset, absl::Span<char> buffer) {
  PARITECT_ASSIGN_OR_RETURN(const std::size_t n, file.read_at(offset, buffer));
  if (n == buffer.size()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("read at byte ", offset, ": ", buffer.size(), " bytes expected, ", n, " found (file truncated?)"));
}

absl::StatusOr<std::string> ReadExactly(const RandomAccess& file, std::uint64_t offset, std::size_t n) {
  // The length may come from outside: memory is taken for what the file can hold.
  if (offset > file.size_bytes || n > file.size_bytes - offset) {
    return absl::DataLossError(
        absl::StrCat("read at byte ", offset, ": ", n, " bytes expected, the file has ", file.size_bytes));
  }
  std::string bytes(n, '\0');
  PARITECT_RETURN_IF_ERROR(ReadExactly(file, offset, absl::MakeSpan(bytes)));
  return bytes;
}

}  // namespace paritect
