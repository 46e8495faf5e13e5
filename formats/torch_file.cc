// Where a file of torch.save keeps its pickle (formats/pickle.h).
#include <algorithm>

#include "absl/strings/match.h"
#include "common/status_macros.h"
#include "formats/archives/zip.h"
#include "formats/pickle.h"

namespace paritect {
namespace {

// The legacy layout starts with the pickle of this number (torch/serialization.py, MAGIC_NUMBER: ten bytes).
constexpr absl::string_view kLegacyMagic("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 12);

// The checksum is not compared: PyTorch can be told to write none (torch.serialization.set_crc32_options).
absl::StatusOr<absl::string_view> FromZip(absl::string_view file) {
  PARITECT_ASSIGN_OR_RETURN(const std::vector<ZipEntry> entries, ReadZipDirectory(AccessTo(file)));
  for (const ZipEntry& entry : entries) {
    if (!absl::EndsWith(entry.name, "/data.pkl")) continue;
    if (entry.method != 0) return absl::InvalidArgumentError("data.pkl is compressed");
    return file.substr(static_cast<std::size_t>(entry.data_at), static_cast<std::size_t>(entry.size));
  }
  return absl::InvalidArgumentError("a ZIP file without data.pkl");
}

}  // namespace

absl::StatusOr<absl::string_view> TorchPickleBytes(absl::string_view file) {
  if (LooksLikeZip(file)) return FromZip(file);
  if (file.empty() || file[0] != '\x80') return absl::InvalidArgumentError("neither a ZIP file nor a pickle");
  if (!absl::StartsWith(file.substr(std::min<std::size_t>(2, file.size())), kLegacyMagic)) return file;
  for (int i = 0; i < 3; ++i) {  // magic number, protocol version, facts of the system
    const auto pickle = ReadPickle(file);
    if (!pickle.ok()) return pickle.status();
    file.remove_prefix(pickle->bytes);
  }
  return file;
}

}  // namespace paritect
