#include "agent/datasets/names.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/utf8.h"

namespace paritect {
namespace {

// In order of likelihood where this product is used.
constexpr const char* kCharsets[] = {"GBK", "GB18030", "BIG5", "SHIFT_JIS", "EUC-JP", "EUC-KR", "CP1252", "LATIN1"};
constexpr const char* kWesternCharsets[] = {"CP437", "CP850", "CP1252", "LATIN1"};
constexpr const char* kShownCharsets[] = {"UTF-8", "GBK", "SHIFT_JIS"};

bool IsAscii(absl::string_view text) {
  for (char c : text) {
    if (!absl::ascii_isascii(static_cast<unsigned char>(c))) return false;
  }
  return true;
}

bool HasReading(const v1::FileEntry& entry, const std::string& name) {
  for (const v1::NameReading& reading : entry.readings()) {
    if (reading.name() == name) return true;
  }
  return false;
}

void AddReading(const std::string& name, const std::string& charset, v1::FileEntry& entry) {
  if (name == entry.path() || HasReading(entry, name)) return;
  v1::NameReading& reading = *entry.add_readings();
  reading.set_name(name);
  reading.set_charset(charset);
}

void ReadOtherCharset(v1::FileEntry& entry) {
  for (const char* charset : kCharsets) {
    if (auto name = DecodeCharset(entry.path(), charset)) AddReading(*name, charset, entry);
  }
  if (entry.readings_size() == 0) return;
  entry.set_decoded_name(entry.readings(0).name());
  entry.set_decoded_from(entry.readings(0).charset());
}

void ReadSpoiltName(v1::FileEntry& entry) {
  for (const char* western : kWesternCharsets) {
    auto bytes = EncodeCharset(entry.path(), western);
    if (!bytes) continue;
    for (const char* shown : kShownCharsets) {
      if (auto name = DecodeCharset(*bytes, shown)) {
        AddReading(*name, absl::StrCat(shown, " shown as ", western), entry);
      }
    }
  }
}

}  // namespace

void AddNameReadings(v1::FileEntry& entry) {
  if (IsAscii(entry.path())) return;
  if (IsValidUtf8(entry.path())) {
    ReadSpoiltName(entry);
  } else {
    ReadOtherCharset(entry);
  }
}

}  // namespace paritect
