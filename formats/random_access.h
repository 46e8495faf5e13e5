// The bytes of a file at any place, without the file in memory: what readers of archives and checkpoints read through.
#ifndef PARITECT_FORMATS_RANDOM_ACCESS_H_
#define PARITECT_FORMATS_RANDOM_ACCESS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/file_system.h"

namespace paritect {

struct RandomAccess {
  // Fills the buffer from that byte on; fewer bytes only at the end of the file.
  using ReadAt = std::function<absl::StatusOr<std::size_t>(std::uint64_t offset, absl::Span<char> buffer)>;

  std::uint64_t size_bytes = 0;
  ReadAt read_at;
};

// What these are made of must outlive them.
RandomAccess AccessTo(absl::string_view bytes);
RandomAccess AccessTo(File& file, std::uint64_t size_bytes);

// Fills the buffer, or n bytes. DataLoss: the file ends before; other errors: of `read_at`.
absl::Status ReadExactly(const RandomAccess& file, std::uint64_t offset, absl::Span<char> buffer);
absl::StatusOr<std::string> ReadExactly(const RandomAccess& file, std::uint64_t offset, std::size_t n);

}  // namespace paritect

#endif  // PARITECT_FORMATS_RANDOM_ACCESS_H_
