#include "agent/live/accelerators.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/live/live_report.h"
#include "common/numbers.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr char kNvidia[] = "10de";
constexpr char kHuawei[] = "19e5";

absl::string_view HexWord(absl::string_view text) {
  absl::ConsumePrefix(&text, "0x");
  return text;
}

bool IsAccelerator(absl::string_view vendor, absl::string_view device_class) {
  const absl::string_view kind = device_class.substr(0, 4);
  if (vendor == kNvidia) return kind == "0300" || kind == "0302";
  return vendor == kHuawei && kind == "1200";
}

std::map<std::string, int> NvidiaModels(FileSystem& fs) {
  std::map<std::string, int> models;
  for (const std::string& address : SortedNames(fs, kNvidiaFolder)) {
    const auto text = ReadNodeText(fs, StrCat(kNvidiaFolder, "/", address, "/information"));
    if (!text.ok()) continue;
    ForEachLine(*text, [&](absl::string_view line, std::int64_t) {
      if (absl::ConsumePrefix(&line, "Model:")) ++models[std::string(absl::StripAsciiWhitespace(line))];
    });
  }
  return models;
}

}  // namespace

std::vector<Accelerator> Accelerators(FileSystem& fs) {
  std::vector<Accelerator> all;
  for (const std::string& address : SortedNames(fs, kPciFolder)) {
    const std::string folder = StrCat(kPciFolder, "/", address);
    const std::string vendor(HexWord(FirstLine(fs, folder + "/vendor")));
    const std::string device_class(HexWord(FirstLine(fs, folder + "/class")));
    if (!IsAccelerator(vendor, device_class)) continue;
    const std::string id = StrCat(vendor, ":", HexWord(FirstLine(fs, folder + "/device")));
    all.push_back({address, folder, id, vendor == kNvidia});
  }
  return all;
}

DeviceNodes AcceleratorNodes(FileSystem& fs) {
  DeviceNodes nodes;
  for (const std::string& name : SortedNames(fs, "/dev")) {
    absl::string_view number = name;
    const bool ascend = absl::ConsumePrefix(&number, "davinci");
    if ((ascend || absl::ConsumePrefix(&number, "nvidia")) && ParseInt(number)) {
      ++(ascend ? nodes.davinci : nodes.nvidia);
    }
  }
  return nodes;
}

std::map<std::string, int> AcceleratorCounts(FileSystem& fs) {
  std::map<std::string, int> counts = NvidiaModels(fs);
  const bool named = !counts.empty();
  bool nvidia = named, ascend = false;
  for (const Accelerator& one : Accelerators(fs)) {
    (one.nvidia ? nvidia : ascend) = true;
    if (!one.nvidia || !named) ++counts[one.pci_id];
  }
  const DeviceNodes nodes = AcceleratorNodes(fs);
  if (!ascend && nodes.davinci > 0) counts["/dev/davinci*"] = nodes.davinci;
  if (!nvidia && nodes.nvidia > 0) counts["/dev/nvidia*"] = nodes.nvidia;
  return counts;
}

}  // namespace paritect
