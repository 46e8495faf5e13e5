// Data files whose members, hints and explaining digests are read: archives, pointers, pages.
#include "formats/datasets/alternates.h"
#include "formats/datasets/archive_members.h"
#include "formats/datasets/file_hints.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paritect;  // NOLINT(google-build-using-namespace)
  const absl::string_view bytes = FuzzInput(data, size);
  (void)ListArchiveMembers(bytes, 1 << 20);
  v1::FileEntry entry;
  AddNameHints(bytes.substr(0, 200), entry);
  (void)FinalNameOfTransfer(bytes.substr(0, 200));
  AddContentHints(bytes.substr(0, kHintHeadBytes), bytes.substr(bytes.size() - std::min(bytes.size(), kHintTailBytes)),
                  bytes.size(), entry);
  AddTextAlternates(bytes, entry);
  for (const char* law : {"lf", "no-bom", "sorted-lines", "members", "members-in-order", "prefix:3"}) {
    const std::string md5 = AlternateMd5(law, "a.tar.gz", bytes);
    FuzzCheck(md5.empty() || md5.size() == 16, "an MD5 has 16 bytes");
  }
  return 0;
}
