// Entries of a ZIP archive as bytes that may be read anywhere: a stored entry where it stands, a deflated one from a
// stream or, within bounds, from memory.
#ifndef PARITECT_FORMATS_WEIGHTS_ZIP_MEMBERS_H_
#define PARITECT_FORMATS_WEIGHTS_ZIP_MEMBERS_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "formats/archives/zip.h"
#include "formats/weights/random_bytes.h"
#include "formats/weights/stored_tensors.h"

namespace paritect {

// What of a deflated entry may be taken into memory.
inline constexpr std::uint64_t kUnpackedBytesMax = 256 << 20;

class ZipMembers {
 public:
  // DataLoss: damaged, or made so that two programs see two contents (formats/archives/zip.h).
  static absl::StatusOr<ZipMembers> Open(SharedBytes archive);

  const std::vector<ZipEntry>& entries() const { return entries_; }
  const ZipEntry* Find(const std::string& name) const;  // nullptr: none
  const SharedBytes& archive() const { return archive_; }

  // ResourceExhausted: deflated, and more than kUnpackedBytesMax.
  absl::StatusOr<SharedBytes> Bytes(const ZipEntry& entry) const;
  // The content in blocks, of any length. DataLoss: damaged, or a ZIP bomb.
  absl::Status Stream(const ZipEntry& entry, BlockSink sink) const;

 private:
  ZipMembers() = default;

  SharedBytes archive_;
  std::vector<ZipEntry> entries_;
  std::map<std::string, std::size_t> places_;
};

RandomAccess AccessTo(const SharedBytes& bytes);

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_ZIP_MEMBERS_H_
