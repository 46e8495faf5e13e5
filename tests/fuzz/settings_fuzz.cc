// Configuration files: recognised or forced into each format; and what logs print of settings.
#include "absl/strings/str_split.h"
#include "common/utf8.h"
#include "formats/settings/settings_format.h"
#include "tests/fuzz/fuzz.h"

namespace paritect {
namespace {

void CheckDocument(const v1::SettingsDocument& document) {
  for (const v1::Setting& setting : document.settings()) {
    FuzzCheck(IsValidUtf8(setting.raw_key()), "a key is UTF-8");
  }
}

}  // namespace
}  // namespace paritect

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paritect;  // NOLINT(google-build-using-namespace)
  const absl::string_view bytes = FuzzInput(data, size);
  (void)StandInReason(bytes);
  const auto documents = ReadSettings(bytes, "settings", "");
  if (documents.ok()) {
    for (const v1::SettingsDocument& document : *documents) CheckDocument(document);
  }
  if (size > 0) {
    const SettingsFormat& forced = *AllSettingsFormats()[data[0] % AllSettingsFormats().size()];
    const auto document = forced.parse(bytes.substr(1), "settings");
    if (document.ok()) CheckDocument(*document);
  }
  LogSettingsScanner scanner("log");
  std::int64_t number = 0;
  for (absl::string_view line : absl::StrSplit(bytes, '\n')) scanner.Feed(line, ++number);
  for (const v1::SettingsDocument& document : scanner.Finish()) CheckDocument(document);
  return 0;
}
