// gzip files that are held in memory. Streams use `Inflater` (formats/archives/inflate.h).
// Source: RFC 1952 (members may stand one behind another; zeros behind the last are padding).
#ifndef PARITECT_FORMATS_ARCHIVES_GZIP_H_
#define PARITECT_FORMATS_ARCHIVES_GZIP_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paritect {

bool LooksLikeGzip(absl::string_view head);

// What came out of it, as far as it goes.
struct Gunzipped {
  std::string bytes;
  bool whole = false;     // every member to its end, checksum and length
  bool trailing = false;  // something else than zeros stands behind the last member
  bool too_large = false;
};

// Stops behind `bytes_max` bytes.
Gunzipped Gunzip(absl::string_view packed, std::uint64_t bytes_max);

// ResourceExhausted: more than `bytes_max`; DataLoss: cut or damaged.
absl::StatusOr<std::string> GunzipWhole(absl::string_view packed, std::uint64_t bytes_max);

}  // namespace paritect

#endif  // PARITECT_FORMATS_ARCHIVES_GZIP_H_
