// Lists of files with digests, as other tools write them, and the writers of the same forms.
#include "formats/datasets/manifest.h"

#include "tests/fuzz/fuzz.h"

namespace paritect {
namespace {

// No name twice, sorted by bytes, MD5 whole or not there.
bool CanBeWritten(const v1::FileList& list) {
  bool all_have_digests = true;
  for (int i = 0; i < list.files_size(); ++i) {
    const v1::FileEntry& file = list.files(i);
    FuzzCheck(i == 0 || list.files(i - 1).path() < file.path(), "names are sorted and stand once");
    FuzzCheck(file.md5().empty() || file.md5().size() == 16, "an MD5 has 16 bytes");
    all_have_digests = all_have_digests && !file.md5().empty();
  }
  return all_have_digests && list.files_size() > 0;
}

}  // namespace
}  // namespace paritect

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paritect;  // NOLINT(google-build-using-namespace)
  const absl::string_view bytes = FuzzInput(data, size);
  (void)LooksLikeManifest(bytes, "list");
  (void)ParseListing(bytes);
  for (const char* name : {"list.txt", "manifest-md5.txt"}) {
    const auto list = ParseManifest(bytes, name);
    if (!list.ok() || !CanBeWritten(*list)) continue;
    for (const char* format : {"md5sum", "bsd", "hashdeep", "bagit", "csv", "json"}) (void)WriteManifest(*list, format);
    const auto written = WriteManifest(*list, "md5sum");
    if (!written.ok()) continue;
    const auto again = ParseManifest(*written, "list.md5");
    FuzzCheck(again.ok(), "what was written can be read");
  }
  return 0;
}
