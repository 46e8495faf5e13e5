// Accelerators of the node. PCI ids come first: they need no driver, no right and no vendor library, and they decide
// the product (rules/data/products.yaml). Names, memory and health come from the vendor's library in a child process;
// where it refuses, from the driver's own files (NVIDIA); the text of the vendor's tool is the last resort.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/live/accelerators.h"
#include "agent/live/live_parts.h"
#include "formats/devices/probe_text.h"
#include "formats/settings/builder.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

using absl::StrCat;
using Tool = VendorProbe::Tool;

void ReadPci(FileSystem& fs, DeviceSurvey& survey, SettingsBuilder& builder) {
  const std::vector<Accelerator> all = Accelerators(fs);
  for (const Accelerator& one : all) {
    (one.nvidia ? survey.nvidia : survey.ascend) = true;
    const auto add = [&](absl::string_view key, const std::string& value) {
      if (value.empty()) return;
      if (v1::Setting* setting = builder.AddText(key, value, 1)) {
        setting->set_scope(one.address);
        setting->set_origin(one.folder);
      }
    };
    add("device.pci_id", one.pci_id);
    add("device.numa_node", FirstLine(fs, one.folder + "/numa_node"));
  }
  if (!all.empty()) builder.Add("device.count", StrCat(all.size()), 0)->set_origin(kPciFolder);
}

void ReadDeviceNodes(FileSystem& fs, DeviceSurvey& survey, SettingsBuilder& builder) {
  const auto [davinci, nvidia] = AcceleratorNodes(fs);
  survey.ascend = survey.ascend || davinci > 0;
  survey.nvidia = survey.nvidia || nvidia > 0;
  if (davinci > 0) builder.Add("device.davinci_nodes", StrCat(davinci), 0)->set_origin("/dev/davinci*");
  if (nvidia > 0) builder.Add("device.nvidia_nodes", StrCat(nvidia), 0)->set_origin("/dev/nvidia*");
}

// "Model: ... / GPU UUID: ... / Bus Location: ..." of each GPU, without any library.
v1::SettingsDocument ReadNvidiaFiles(FileSystem& fs) {
  SettingsBuilder builder("devices", "devices", kNvidiaFolder);
  int count = 0;
  for (const std::string& address : SortedNames(fs, kNvidiaFolder)) {
    const std::string path = StrCat(kNvidiaFolder, "/", address, "/information");
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
  if (count > 0) builder.Add("gpu.count", StrCat(count), 0)->set_origin(kNvidiaFolder);
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
    report.Document(std::move(files), kNvidiaFolder);
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
