// ZIP archives from strangers: the list of entries, checked before anything is unpacked, and single entries in memory.
//
// Refused (DataLoss "why"): names that leave the folder ("../x", "/x", "C:\x", NUL), encrypted entries, entries that
// overlap each other or the directory (one stored block told as many files), a local header that names another file,
// sizes beyond the archive, several volumes, more than 200 000 entries. ZIP64 is read. Memory is bounded by the limits,
// never by what an entry states of itself. Source: PKWARE APPNOTE.TXT 6.3; D. Fifield, "A better zip bomb" (overlapping
// files).
#ifndef PARITECT_FORMATS_ARCHIVES_ZIP_H_
#define PARITECT_FORMATS_ARCHIVES_ZIP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paritect {

struct ZipEntry {
  std::string name;
  std::uint16_t method = 0;  // 0 stored, 8 deflated
  std::uint32_t crc = 0;
  std::size_t packed_size = 0;
  std::size_t size = 0;
  std::size_t local_at = 0;  // of the local header
  std::size_t data_at = 0;
};

bool LooksLikeZip(absl::string_view head);
// Names in the local headers that begin in `head`, for recognising; nothing is checked.
std::vector<std::string> ZipNamesInHead(absl::string_view head);

// Entries in the order of the directory; a name may stand several times (the last counts). Folders are left out.
absl::StatusOr<std::vector<ZipEntry>> ReadZipDirectory(absl::string_view archive);

// The bytes of an entry of that archive. ResourceExhausted: more than `bytes_max`; DataLoss: damaged (length, CRC).
absl::StatusOr<std::string> ReadZipEntry(absl::string_view archive, const ZipEntry& entry, std::size_t bytes_max);

}  // namespace paritect

#endif  // PARITECT_FORMATS_ARCHIVES_ZIP_H_
