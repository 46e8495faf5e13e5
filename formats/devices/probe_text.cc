#include "formats/devices/probe_text.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/numbers.h"
#include "formats/settings/builder.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr int kDevicesMax = 1024;
constexpr int kProcessesMax = 1 << 22;

// The SoC name that the DCMI names make: A3 and later split it ("Ascend910" + "9392"), A2 has it twice ("910B3").
std::string SocName(absl::string_view chip, absl::string_view npu) {
  if (npu.empty() || npu == chip || absl::StrContains(chip, npu)) return std::string(chip);
  const std::string full = absl::StartsWith(chip, "Ascend") ? std::string(chip) : StrCat("Ascend", chip);
  return StrCat(full, "_", npu);
}

class Reader {
 public:
  Reader(absl::string_view tool, absl::string_view label)
      : tool_(tool), unit_(tool == "dcmi" ? "npu" : "gpu"), builder_("devices", "devices", label) {}

  void Line(absl::string_view key, absl::string_view value, std::int64_t number) {
    if (key == "device") {
      FinishDevice();
      device_ = devices_++;
    } else if (key == "error") {
      if (refused_.empty()) refused_ = std::string(value);
    } else if (key == "process") {
      const auto pid = ParseInt(value);
      if (pid && *pid > 0 && *pid < kProcessesMax) processes_.insert(static_cast<int>(*pid));
    } else if (key == "library") {
      loaded_ = true;
    } else if (device_ < 0) {
      System(key, value, number);
    } else if (devices_ <= kDevicesMax) {
      Device(key, value, number);
    }
  }

  absl::StatusOr<ProbeAnswer> Finish() {
    FinishDevice();
    if (!loaded_) return absl::NotFoundError("no library could be loaded");
    if (devices_ == 0 && !refused_.empty()) return absl::UnavailableError(refused_);
    builder_.Add(StrCat(unit_, ".count"), StrCat(devices_), last_line_);
    return ProbeAnswer{builder_.Finish(), std::move(processes_), refused_};
  }

 private:
  void System(absl::string_view key, absl::string_view value, std::int64_t number) {
    last_line_ = number;
    if (key == "driver_version" || key == "library_version") builder_.AddText(StrCat(tool_, ".", key), value, number);
    if (key == "cuda_driver_version") builder_.AddText("cuda.driver_version", value, number);
  }

  void Device(absl::string_view key, absl::string_view value, std::int64_t number) {
    last_line_ = number;
    if (key == "chip_name") {
      chip_ = std::string(value);
      name_line_ = number;
    } else if (key == "npu_name") {
      npu_ = std::string(value);
    } else if (key == "pci_id") {
      Scoped("device.pci_id", value, number);
    } else if (key != "chip_type" && key != "card") {
      Scoped(StrCat(unit_, ".", key), value, number);
    }
  }

  void FinishDevice() {
    if (device_ >= 0 && !chip_.empty()) Scoped(StrCat(unit_, ".name"), SocName(chip_, npu_), name_line_);
    chip_.clear();
    npu_.clear();
  }

  void Scoped(absl::string_view key, absl::string_view value, std::int64_t number) {
    if (v1::Setting* one = builder_.AddText(key, value, number)) one->set_scope(StrCat(unit_, " ", device_));
  }

  const std::string tool_;
  const std::string unit_;
  SettingsBuilder builder_;
  std::set<int> processes_;
  std::string refused_;
  bool loaded_ = false;
  int device_ = -1;
  int devices_ = 0;
  std::int64_t last_line_ = 1;
  std::string chip_, npu_;
  std::int64_t name_line_ = 1;
};

}  // namespace

absl::StatusOr<ProbeAnswer> ReadProbeText(absl::string_view text, absl::string_view tool, absl::string_view label) {
  if (text.size() > kProbeTextBytesMax || !absl::StartsWith(text, "paritect-probe\t1\n")) {
    return absl::DataLossError("not the probe's output");
  }
  if (!absl::EndsWith(text, "\nend\t\n")) return absl::DataLossError("the probe's output is cut off");
  Reader reader(tool, label);
  bool clean = true;
  ForEachLine(text, [&](absl::string_view line, std::int64_t number) {
    const std::pair<absl::string_view, absl::string_view> pair = absl::StrSplit(line, absl::MaxSplits('\t', 1));
    for (char c : pair.second) clean = clean && c >= 0x20 && c < 0x7f;
    if (number > 1 && pair.first != "end" && pair.first != "not_loaded") reader.Line(pair.first, pair.second, number);
  });
  if (!clean) return absl::DataLossError("the probe's output holds bytes that it does not write");
  return reader.Finish();
}

}  // namespace paritect
