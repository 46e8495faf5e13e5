// Configuration files: recognised or forced into each format; and what logs print of settings.
#include "absl/strings/str_split.h"
#include "formats/settings/settings_format.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paritect;  // NOLINT(google-build-using-namespace)
  const absl::string_view bytes = FuzzInput(data, size);
  (void)StandInReason(bytes);
  const auto documents = ReadSettings(bytes, "settings", "");
  if (documents.ok()) FuzzCheck(!documents->empty(), "a file that is read gives a document");
  if (size > 0) {
    const SettingsFormat& forced = *AllSettingsFormats()[data[0] % AllSettingsFormats().size()];
    (void)forced.parse(bytes.substr(1), "settings");
  }
  LogSettingsScanner scanner("log");
  std::int64_t number = 0;
  for (absl::string_view line : absl::StrSplit(bytes, '\n')) scanner.Feed(line, ++number);
  (void)scanner.Finish();
  return 0;
}
