// ZIP archives from strangers: the directory, every entry, and the archive of a configuration check.
#include "formats/archives/zip.h"
#include "formats/settings/settings_format.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paritect;  // NOLINT(google-build-using-namespace)
  const absl::string_view bytes = FuzzInput(data, size);
  (void)ZipNamesInHead(bytes);
  const RandomAccess archive = AccessTo(bytes);
  auto directory = ZipDirectory::Find(archive);
  for (bool more = directory.ok(); more;) {
    auto entry = directory->Next();
    more = entry.ok() && entry->has_value();
    if (more) (void)directory->Locate(**entry);
  }
  const auto entries = ReadZipDirectory(archive);
  if (entries.ok()) {
    std::size_t packed = 0;
    for (const ZipEntry& entry : *entries) {
      FuzzCheck(entry.data_at + entry.packed_size <= bytes.size(), "an entry lies within its archive");
      packed += entry.packed_size;
      const auto read = ReadZipEntry(archive, entry, 1 << 20);
      FuzzCheck(!read.ok() || read->size() == entry.size, "an entry has the length that it states");
    }
    FuzzCheck(packed <= bytes.size(), "entries do not share bytes");
  }
  (void)FindSettingsFormat("msprobe-config-check")->parse(bytes, "pack.zip");
  return 0;
}
