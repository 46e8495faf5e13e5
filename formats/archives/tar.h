// tar archives: the one reader of their headers (ustar, pax, GNU, v7), member by member, without holding content.
// Sources: POSIX.1-2008, pax; GNU tar manual, "Basic Tar Format"; the rule for which types carry data is CPython's
// (Lib/tarfile.py).
#ifndef PARITECT_FORMATS_ARCHIVES_TAR_H_
#define PARITECT_FORMATS_ARCHIVES_TAR_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paritect {

inline constexpr std::size_t kTarBlockBytes = 512;

// A block whose own checksum fits and that states a size.
bool LooksLikeTar(absl::string_view head);

struct TarMember {
  std::string name;        // with a long name of GNU or pax
  std::uint64_t size = 0;  // as stated
  char type = '0';
  bool has_target = false;      // a link's
  std::uint64_t header_at = 0;  // of its own header, behind those that extend it
  std::uint64_t data_at = 0;
  std::uint64_t data_bytes = 0;  // 0 for folders, links and devices, whatever size they state

  bool regular() const { return type == '0' || type == '\0' || type == '7' || type == 'S'; }
};

// Not thread-safe.
class TarReader {
 public:
  // Up to `n` bytes from `offset` on, fewer at the end; valid until the next call.
  using Peek = std::function<absl::StatusOr<absl::string_view>(std::uint64_t offset, std::size_t n)>;

  enum class Found {
    kMember,
    kEnd,        // the block of zeros
    kNoEndMark,  // the file ends between two members
    kCutHeader,  // ... within a header
    kCutData,    // ... within the data of the member, which is set
    kGarbled     // something else stands at `at()`
  };

  explicit TarReader(Peek peek) : peek_(std::move(peek)) {}

  // Only kMember goes on. ResourceExhausted: a header that extends the next one is larger than 1 MB; others: of `peek`.
  absl::StatusOr<Found> Next(TarMember& member);
  std::uint64_t at() const { return at_; }  // of the next header

 private:
  absl::StatusOr<Found> ReadHeader(TarMember& member);
  absl::Status ReadExtension(const TarMember& header);
  absl::StatusOr<std::uint64_t> SparseMapBytes(std::uint64_t at, bool more);

  Peek peek_;
  std::uint64_t at_ = 0;
  std::string long_name_;
  std::optional<std::uint64_t> long_size_;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_ARCHIVES_TAR_H_
