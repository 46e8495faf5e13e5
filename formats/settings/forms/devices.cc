// The devices of a node by PCI id: `lspci` with or without -n, -nn, -mm, lists of "BUS VENDOR DEVICE" out of sysfs, or
// JSON ({"vendor": "0x19e5", "device": "0xd802"}, {"pci_id": "19e5:d802"}, {"chip_name": ...}, alone or in lists).
// Kept are Ascend parts (vendor 19e5, device dxxx; its network cards and controllers are none) and NVIDIA display and
// 3D controllers. Keys: device.pci_id (scope "pci BUS"), chip_name, device.count. The vendor's driver sources have the
// ids; pci.ids of a distribution has no names for them.
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/document.h"
#include "formats/settings/builder.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr char kName[] = "devices";

bool IsHex4(absl::string_view text) {
  return text.size() == 4 && text.find_first_not_of("0123456789abcdefABCDEF") == absl::string_view::npos;
}

// "0x19E5" -> "19e5"; "" where it is no id.
std::string Id(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  absl::ConsumePrefix(&text, "0x");
  return IsHex4(text) ? absl::AsciiStrToLower(text) : "";
}

// "0000:c1:00.0" or "c1:00.0".
bool IsBus(absl::string_view word) {
  const std::size_t dot = word.rfind('.');
  if (dot == absl::string_view::npos || dot + 2 != word.size() ||
      !absl::ascii_isdigit(static_cast<unsigned char>(word[dot + 1])))
    return false;
  const std::vector<absl::string_view> parts = absl::StrSplit(word.substr(0, dot), ':');
  if (parts.size() < 2 || parts.size() > 3) return false;
  for (absl::string_view part : parts) {
    if (part.empty() || part.size() > 8 || part.find_first_not_of("0123456789abcdefABCDEF") != absl::string_view::npos)
      return false;
  }
  return true;
}

// The last "vvvv:dddd" in brackets or as a word.
std::optional<std::string> IdIn(absl::string_view line) {
  for (std::size_t i = line.size(); i-- > 0;) {
    if (line[i] != ':' || i < 4 || i + 5 > line.size()) continue;
    const absl::string_view vendor = line.substr(i - 4, 4);
    const absl::string_view device = line.substr(i + 1, 4);
    const bool begins = i == 4 || absl::StrContains(" [\t", line[i - 5]);
    const bool ends = i + 5 == line.size() || absl::StrContains(" ]\t,", line[i + 5]);
    if (begins && ends && IsHex4(vendor) && IsHex4(device)) return absl::AsciiStrToLower(StrCat(vendor, ":", device));
  }
  return std::nullopt;
}

// `lspci -mm`: the ids in brackets at the ends of the second and third quoted texts. Plain `lspci`: "Huawei ... Device
// d802".
std::optional<std::string> IdByWords(absl::string_view line) {
  const std::vector<absl::string_view> quoted = absl::StrSplit(line, '"');
  if (quoted.size() >= 6) {
    const auto last = [](absl::string_view text) {
      return text.size() >= 6 && text.back() == ']' ? Id(text.substr(text.size() - 5, 4)) : "";
    };
    if (!last(quoted[3]).empty() && !last(quoted[5]).empty()) return StrCat(last(quoted[3]), ":", last(quoted[5]));
  }
  const std::size_t device = line.find(" Device ");
  if (absl::StrContains(line, "Huawei") && device != absl::string_view::npos) {
    const std::string id = Id(line.substr(device + 8, 4));
    if (!id.empty()) return StrCat("19e5:", id);
  }
  // "0000:c1:00.0 0x19e5 0xd802".
  const std::vector<absl::string_view> words = absl::StrSplit(line, absl::ByAnyChar(" \t,"), absl::SkipEmpty());
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (absl::StartsWith(words[i], "0x") && !Id(words[i]).empty() && !Id(words[i + 1]).empty())
      return StrCat(Id(words[i]), ":", Id(words[i + 1]));
  }
  return std::nullopt;
}

// Whether the device can be what trains: `line` tells the class where the list does.
bool IsAccelerator(absl::string_view id, absl::string_view line) {
  if (absl::StartsWith(id, "19e5:")) return id[5] == 'd';
  if (!absl::StartsWith(id, "10de:")) return false;
  for (absl::string_view other : {"Audio", "USB", "Bridge", "bridge", "0403", "0c03", "0c80", "0680", "0604"}) {
    if (absl::StrContains(line, other)) return false;
  }
  return true;
}

bool IsListLine(absl::string_view line) {
  const absl::string_view first = line.substr(0, line.find_first_of(" \t"));
  return IsBus(first) && first.size() < line.size();
}

int Sniff(absl::string_view head) {
  if (absl::StartsWith(absl::StripLeadingAsciiWhitespace(head), "{") ||
      absl::StartsWith(absl::StripLeadingAsciiWhitespace(head), "[")) {
    const int keys =
        CountKeys(head, {"pci_id", "vendor", "device", "chip_name", "bus_id", "soc_version", "subsystem_device"});
    return keys >= 2 && (absl::StrContains(head, "19e5") || absl::StrContains(head, "10de") ||
                         absl::StrContains(head, "Ascend"))
               ? 75
               : 0;
  }
  int devices = 0;
  int others = 0;
  ForEachLine(head, [&](absl::string_view line, std::int64_t) {
    if (absl::StripAsciiWhitespace(line).empty() || line[0] == '\t' || line[0] == '#') return;  // -k, -v: details
    (IsListLine(line) ? devices : others) += 1;
  });
  return devices > 0 && others * 4 <= devices ? 85 : 0;
}

class Reader {
 public:
  explicit Reader(absl::string_view label) : builder_(kName, kName, label) {}

  void Line(absl::string_view line, std::int64_t number) {
    const std::string bus(IsListLine(line) ? line.substr(0, line.find_first_of(" \t")) : "");
    const absl::string_view rest = line.substr(bus.size());
    std::optional<std::string> id = IdIn(rest);
    if (!id) id = IdByWords(rest);
    if (!id) return;
    ++seen_;
    if (IsAccelerator(*id, rest)) Device(*id, bus, number);
  }

  // Objects anywhere in the document.
  void Tree(const DocumentNode& root) {
    std::vector<const DocumentNode*> stack = {&root};
    while (!stack.empty()) {
      const DocumentNode* node = stack.back();
      stack.pop_back();
      for (auto item = node->items.rbegin(); item != node->items.rend(); ++item) stack.push_back(&*item);
      for (auto field = node->fields.rbegin(); field != node->fields.rend(); ++field) stack.push_back(&field->second);
      if (node->is_map()) Object(*node);
    }
  }

  absl::StatusOr<v1::SettingsDocument> Finish() {
    if (seen_ == 0) return absl::DataLossError("a list of devices without a PCI id");
    builder_.Add("device.count", StrCat(count_), 1);
    if (count_ == 0) builder_.AddNote("no_accelerator", 0, StrCat(seen_, " devices, no Ascend part and no NVIDIA GPU"));
    return builder_.Finish();
  }

 private:
  void Device(absl::string_view id, const std::string& bus, std::int64_t number) {
    if (v1::Setting* setting = builder_.AddText("device.pci_id", id, number); setting != nullptr && !bus.empty()) {
      setting->set_scope(StrCat("pci ", bus));
    }
    ++count_;
  }

  void Object(const DocumentNode& node) {
    const auto text = [&](absl::string_view key) {
      const DocumentNode* field = node.Find(key);
      return field != nullptr && field->is_scalar() ? field->text : std::string();
    };
    std::string bus = text("bus_id");
    if (bus.empty()) bus = text("bus");
    std::string id = absl::AsciiStrToLower(text("pci_id"));
    if (id.empty() && !Id(text("vendor")).empty() && !Id(text("device")).empty())
      id = StrCat(Id(text("vendor")), ":", Id(text("device")));
    if (!id.empty()) {
      ++seen_;
      if (IsAccelerator(id, text("class"))) Device(id, bus, node.line);
    }
    for (const char* key : {"chip_name", "soc_version", "soc_name"}) {
      if (text(key).empty()) continue;
      if (v1::Setting* setting = builder_.AddText("chip_name", text(key), node.line);
          setting != nullptr && !bus.empty())
        setting->set_scope(StrCat("pci ", bus));
      ++seen_;
      count_ += id.empty() ? 1 : 0;
    }
  }

  SettingsBuilder builder_;
  std::int64_t seen_ = 0;
  std::int64_t count_ = 0;
};

absl::StatusOr<v1::SettingsDocument> Parse(absl::string_view text, absl::string_view label) {
  Reader reader(label);
  const absl::string_view start = absl::StripLeadingAsciiWhitespace(text);
  if (absl::StartsWith(start, "{") || absl::StartsWith(start, "[")) {
    auto root = ParseJson(text);
    if (!root.ok()) return absl::DataLossError(root.status().message());
    reader.Tree(*root);
  } else {
    ForEachLine(text, [&](absl::string_view line, std::int64_t number) { reader.Line(line, number); });
  }
  return reader.Finish();
}

}  // namespace

extern const SettingsFormat kDevicesSettings;
const SettingsFormat kDevicesSettings = {kName, kName, &Sniff, &Parse};

}  // namespace paritect
