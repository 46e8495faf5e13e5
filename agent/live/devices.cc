// Accelerators of the node. PCI ids come first: they need no driver, no right and no vendor library, and they decide
// the product (rules/data/products.yaml). Names, memory and health come from the vendor's library in a child process;
// where it refuses, from the driver's own files (NVIDIA); the text of the vendor's tool is the last resort.
// Huawei's network cards, disks and management controllers share the vendor id: only processing accelerators count.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/live/live_parts.h"
#include "common/numbers.h"
#include "formats/devices/probe_text.h"
#include "formats/settings/builder.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

using absl::StrCat;
using Tool = VendorProbe::Tool;

constexpr char kPciFolder[] = "/sys/bus/pci/devices";
constexpr char kNvidia[] = "10de";
constexpr char kHuawei[] = "19e5";

absl::string_view HexWord(absl::string_view text) {
  absl::ConsumePrefix(&text, "0x");
  return text;
}

// Display (0300) and 3D (0302) controllers of NVIDIA; processing accelerators (1200) of Huawei.
bool IsAccelerator(absl::string_view vendor, absl::string_view device_class) {
  const absl::string_view kind = device_class.substr(0, 4);
  if (vendor == kNvidia) return kind == "0300" || kind == "0302";
  return vendor == kHuawei && kind == "1200";
}

void ReadPci(FileSystem& fs, DeviceSurvey& survey, SettingsBuilder& builder) {
  int count = 0;
  for (const std::string& address : SortedNames(fs, kPciFolder)) {
    const std::string folder = StrCat(kPciFolder, "/", address);
    const std::string vendor(HexWord(FirstLine(fs, folder + "/vendor")));
    const std::string device_class(HexWord(FirstLine(fs, folder + "/class")));
    if (!IsAccelerator(vendor, device_class)) continue;
    const std::string id = StrCat(vendor, ":", HexWord(FirstLine(fs, folder + "/device")));
    (vendor == kNvidia ? survey.nvidia : survey.ascend) = true;
    const auto add = [&](absl::string_view key, const std::string& value) {
      if (value.empty()) return;
      if (v1::Setting* one = builder.AddText(key, value, 1)) {
        one->set_scope(address);
        one->set_origin(folder);
      }
    };
    add("device.pci_id", id);
    add("device.numa_node", FirstLine(fs, folder + "/numa_node"));
    ++count;
  }
  if (count > 0) builder.Add("device.count", StrCat(count), 0)->set_origin(kPciFolder);
}

// Device nodes are there without sysfs in some containers.
void ReadDeviceNodes(FileSystem& fs, DeviceSurvey& survey, SettingsBuilder& builder) {
  int davinci = 0, nvidia = 0;
  for (const std::string& name : SortedNames(fs, "/dev")) {
    absl::string_view number = name;
    const bool ascend = absl::ConsumePrefix(&number, "davinci");
    if ((ascend || absl::ConsumePrefix(&number, "nvidia")) && ParseInt(number)) ++(ascend ? davinci : nvidia);
  }
  survey.ascend = survey.ascend || davinci > 0;
  survey.nvidia = survey.nvidia || nvidia > 0;
  if (davinci > 0) builder.Add("device.davinci_nodes", StrCat(davinci), 0)->set_origin("/dev/davinci*");
  if (nvidia > 0) builder.Add("device.nvidia_nodes", StrCat(nvidia), 0)->set_origin("/dev/nvidia*");
}

// "Model: ... / GPU UUID: ... / Bus Location: ..." of each GPU, without any library.
v1::SettingsDocument ReadNvidiaFiles(FileSystem& fs) {
  static constexpr char kFolder[] = "/proc/driver/nvidia/gpus";
  SettingsBuilder builder("devices", "devices", kFolder);
  int count = 0;
  for (const std::string& address : SortedNames(fs, kFolder)) {
    const std::string path = StrCat(kFolder, "/", address, "/information");
    auto text = ReadNodeText(fs, path);
    if (!text.ok()) continue;
    ForEachLine(*text, [&](absl::string_view line, std::int64_t number) {
      const std::pair<absl::string_view, absl::string_view> pair = absl::StrSplit(line, absl::MaxSplits(':', 1));
      const absl::string_view key = pair.first == "Model"        ? "gpu.name"
                                    : pair.first == "GPU UUID"   ? "gpu.uuid"
                                    : pair.first == "Video BIOS" ? "gpu.vbios"
                                                                 : "";
      if (key.empty()) return;
      v1::Setting* one = builder.AddText(key, absl::StripAsciiWhitespace(pair.second), number);
      one->set_scope(StrCat("gpu ", count));
      one->set_origin(StrCat(path, ":", number));
    });
    ++count;
  }
  if (count > 0) builder.Add("gpu.count", StrCat(count), 0)->set_origin(kFolder);
  return builder.Finish();
}

// A tool's driver version stands under the tool's own name: what counts is the driver's file (versions.cc), so that
// two nodes are compared by one source.
void KeepDriverVersion(v1::SettingsDocument& document, absl::string_view tool, DeviceSurvey& survey) {
  for (v1::Setting& setting : *document.mutable_settings()) {
    if (setting.raw_key() == "driver.version") setting.set_raw_key(StrCat(tool, ".driver_version"));
    if (setting.raw_key() != StrCat(tool, ".driver_version") || !survey.driver_version.empty()) continue;
    survey.driver_version = setting.raw_value();
    survey.driver_version_from = setting.origin();
  }
}

class Vendor {
 public:
  Vendor(LiveReport& report, DeviceSurvey& survey, std::vector<std::string> folders)
      : report_(report), survey_(survey), folders_(std::move(folders)) {}

  // True: the library told the devices.
  bool Library(Tool tool) {
    if (report_.node().probe == nullptr) return Fail(tool, absl::NotFoundError("vendor libraries are not asked here"));
    const std::string label = StrCat("live:", ToolName(tool));
    auto text = report_.node().probe->Ask(tool, folders_);
    if (!text.ok()) return Fail(tool, text.status());
    auto answer = ReadProbeText(*text, ToolName(tool), label);
    if (!answer.ok()) return Fail(tool, answer.status());
    survey_.processes.insert(answer->processes.begin(), answer->processes.end());
    if (!answer->refused.empty()) report_.Failed("live_device_refused", label, answer->refused);
    KeepDriverVersion(answer->document, ToolName(tool), survey_);
    report_.Document(std::move(answer->document), label);
    return true;
  }

  bool Text(Tool tool) {
    if (report_.node().probe == nullptr) return false;
    const std::string label = StrCat("live:", ToolName(tool));
    auto text = report_.node().probe->Ask(tool, folders_);
    if (!text.ok()) return Fail(tool, text.status());
    auto document = FindSettingsFormat(ToolName(tool))->parse(*text, label);
    if (!document.ok()) return Fail(tool, document.status());
    KeepDriverVersion(*document, ToolName(tool), survey_);
    report_.Document(*std::move(document), label);
    return true;
  }

  const std::string& why() const { return why_; }

 private:
  bool Fail(Tool tool, const absl::Status& status) {
    absl::StrAppend(&why_, why_.empty() ? "" : "; ", ToolName(tool), ": ", status.message());
    return false;
  }

  LiveReport& report_;
  DeviceSurvey& survey_;
  const std::vector<std::string> folders_;
  std::string why_;
};

void ReportNvidia(LiveReport& report, DeviceSurvey& survey) {
  Vendor vendor(report, survey, {});
  if (vendor.Library(Tool::kNvml)) return;
  v1::SettingsDocument files = ReadNvidiaFiles(report.fs());
  if (!files.settings().empty()) {
    report.Document(std::move(files), "/proc/driver/nvidia/gpus");
    // The devices are named; what the library refused is worth a word ("Driver/library version mismatch").
    report.Absent("live_library_refused", "live:nvml", vendor.why());
    return;
  }
  if (!vendor.Text(Tool::kNvidiaSmi)) report.Failed("live_devices_unnamed", "live:nvidia", vendor.why());
}

void ReportAscend(LiveReport& report, DeviceSurvey& survey) {
  const std::string driver = StrCat(AscendDriverOf(report.fs()).folder, "/driver/lib64");
  Vendor vendor(report, survey, {StrCat(driver, "/driver"), StrCat(driver, "/common"), driver});
  if (vendor.Library(Tool::kDcmi) || vendor.Text(Tool::kNpuSmi)) return;
  report.Failed("live_devices_unnamed", "live:ascend", vendor.why());
}

}  // namespace

DeviceSurvey ReportDevices(LiveReport& report) {
  DeviceSurvey survey;
  SettingsBuilder builder("devices", "devices", kPciFolder);
  ReadPci(report.fs(), survey, builder);
  ReadDeviceNodes(report.fs(), survey, builder);
  if (const std::string product = FirstLine(report.fs(), "/sys/class/dmi/id/product_name"); !product.empty()) {
    builder.AddText("host.product_name", product, 1)->set_origin("/sys/class/dmi/id/product_name");
  }
  if (!survey.nvidia && !survey.ascend) {
    if (report.fs().Stat(kPciFolder).ok()) {
      report.Absent("live_no_accelerator", kPciFolder);
    } else {
      report.Failed("live_no_sysfs", kPciFolder);
    }
    return survey;
  }
  report.Document(builder.Finish(), kPciFolder);
  if (survey.nvidia) ReportNvidia(report, survey);
  if (survey.ascend) ReportAscend(report, survey);
  return survey;
}

}  // namespace paritect
