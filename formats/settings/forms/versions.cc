// Version files of vendors (`kind: versions`), recognised by content:
//   driver/version.info     Version=, ascendhal_version=, package_version=   -> driver.version
//   firmware/version.info   Version=, compatible_version_drv=                -> firmware.version
//   latest/version.cfg      runtime_running_version=[INNER:RELEASE]          -> cann.runtime.version
//   ascend_*_install.info   package_name=Ascend-cann-toolkit, version=       -> cann.toolkit.version
//   cuda/version.json       {"cuda": {"version": ...}, ...}                  -> cuda.version, libcublas.version, ...
//   cuda/version.txt        "CUDA Version 10.1.243"                          -> cuda.version
//   /etc/ascend_install.info   Driver_Install_Status=, ..._Path_Param=       -> driver.install_status,
//   driver.install_path /proc/driver/nvidia/version   "NVRM version: NVIDIA UNIX ... 535.104.05" -> driver.version
//   torch/version.py        __version__ = '2.1.0', git_version, cuda         -> torch_version, torch.git_version,
//   torch.cuda
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "formats/settings/builder.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr char kName[] = "versions";
constexpr char kRunning[] = "_running_version";

int Sniff(absl::string_view head) {
  const absl::string_view text = absl::StripLeadingAsciiWhitespace(head);
  if (absl::StartsWith(text, "CUDA Version ")) return 90;
  if (absl::StartsWith(text, "NVRM version:")) return 95;
  if (absl::StrContains(head, "__version__ =") && absl::StrContains(head, "git_version")) return 95;
  if (absl::StrContains(head, "Driver_Install_Path_Param=") || absl::StrContains(head, "Firmware_Install_Path_Param="))
    return 96;
  if (absl::StartsWith(text, "{") && absl::StrContains(head, "\"CUDA SDK\"")) return 95;
  if (absl::StrContains(head, "_running_version=[")) return 96;
  if (absl::StrContains(head, "package_name=Ascend-cann-")) return 96;
  const bool info = absl::StartsWith(text, "Version=") || absl::StrContains(head, "\nVersion=");
  if (!info) return 0;
  for (absl::string_view word :
       {"ascendhal_version=", "compatible_version", "package_version=", "version_dir=", "required_package_"}) {
    if (absl::StrContains(head, word)) return 96;
  }
  return 0;
}

struct Entry {
  std::string value;
  std::int64_t line = 0;
};

// "[7.6.0.1.220:8.0.0]" and lists of such: the release of the last one, or what there is.
absl::string_view Release(absl::string_view text) {
  text = text.substr(text.rfind('[') == absl::string_view::npos ? 0 : text.rfind('[') + 1);
  absl::ConsumeSuffix(&text, "]");
  const std::size_t colon = text.rfind(':');
  return colon == absl::string_view::npos ? text : text.substr(colon + 1);
}

void AddEntries(const std::map<std::string, Entry>& entries, SettingsBuilder& builder) {
  const auto add = [&](absl::string_view key, const char* from) {
    auto it = entries.find(from);
    if (it != entries.end()) builder.AddText(key, it->second.value, it->second.line);
    return it != entries.end();
  };
  for (const auto& [key, entry] : entries) {
    absl::string_view part = key;
    if (absl::ConsumeSuffix(&part, kRunning)) {
      builder.AddText(StrCat("cann.", part, ".version"), Release(entry.value), entry.line);
    }
  }
  add("driver.install_path", "Driver_Install_Path_Param");
  if (add("driver.install_status", "Driver_Install_Status") || entries.contains("Driver_Install_Path_Param")) return;
  auto package = entries.find("package_name");
  if (package != entries.end()) {
    absl::string_view part = package->second.value;
    absl::ConsumePrefix(&part, "Ascend-cann-");
    add(StrCat("cann.", absl::AsciiStrToLower(part), ".version"), "version");
  } else if (entries.contains("ascendhal_version")) {
    if (!add("driver.version", "package_version")) add("driver.version", "Version");
  } else if (entries.contains("compatible_version_drv")) {
    add("firmware.version", "Version");
  } else {
    add("component.version", "Version");
  }
}

// The first word of digits and dots behind "Module": both spellings of the line have it there.
absl::string_view NvrmVersion(absl::string_view line) {
  const std::size_t module = line.find("Module");
  if (module == absl::string_view::npos) return "";
  for (absl::string_view word : absl::StrSplit(line.substr(module), ' ', absl::SkipEmpty())) {
    if (absl::StrContains(word, '.') && word.find_first_not_of("0123456789.") == absl::string_view::npos) return word;
  }
  return "";
}

// "__version__ = '2.1.0'", "cuda: Optional[str] = '12.1'" of torch/version.py.
void AddTorchLine(absl::string_view line, std::int64_t number, SettingsBuilder& builder) {
  const std::size_t equals = line.find('=');
  if (equals == absl::string_view::npos) return;
  absl::string_view name = line.substr(0, equals);
  name = absl::StripAsciiWhitespace(name.substr(0, name.find(':')));
  absl::string_view value = absl::StripAsciiWhitespace(line.substr(equals + 1));
  if (value.size() < 2 || (value.front() != '\'' && value.front() != '"')) return;
  value = value.substr(1, value.size() - 2);
  if (name == "__version__") builder.AddText("torch_version", value, number);
  if (name == "git_version" || name == "cuda") builder.AddText(StrCat("torch.", name), value, number);
}

absl::Status AddCudaJson(absl::string_view text, SettingsBuilder& builder) {
  DocumentLimits limits;
  limits.bytes_max = 1 << 20;
  auto root = ParseJson(text, limits);
  if (!root.ok()) return absl::DataLossError(root.status().message());
  for (const auto& [name, part] : root->fields) {
    const DocumentNode* version = part.is_map() ? part.Find("version") : nullptr;
    if (version != nullptr) builder.AddText(StrCat(name.text, ".version"), version->text, version->line);
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::SettingsDocument> Parse(absl::string_view text, absl::string_view label) {
  SettingsBuilder builder(kName, kName, label);
  absl::string_view start = absl::StripLeadingAsciiWhitespace(text);
  if (absl::StartsWith(start, "{")) {
    if (absl::Status status = AddCudaJson(text, builder); !status.ok()) return status;
    return builder.Finish();
  }
  const bool torch = absl::StrContains(text.substr(0, kSettingsHeadBytes), "git_version");
  std::map<std::string, Entry> entries;
  ForEachLine(text, [&](absl::string_view line, std::int64_t number) {
    if (absl::ConsumePrefix(&line, "CUDA Version ")) {
      builder.AddText("cuda.version", absl::StripAsciiWhitespace(line), number);
      return;
    }
    if (absl::StartsWith(line, "NVRM version:") && !NvrmVersion(line).empty()) {
      builder.AddText("driver.version", NvrmVersion(line), number);
      return;
    }
    if (torch) return AddTorchLine(line, number, builder);
    const std::vector<absl::string_view> pair = absl::StrSplit(line, absl::MaxSplits('=', 1));
    if (pair.size() != 2 || absl::StartsWith(line, "#")) return;
    entries.try_emplace(std::string(absl::StripAsciiWhitespace(pair[0])),
                        Entry{std::string(absl::StripAsciiWhitespace(pair[1])), number});
  });
  AddEntries(entries, builder);
  if (builder.empty()) return absl::DataLossError("no version");
  return builder.Finish();
}

}  // namespace

extern const SettingsFormat kVersionsSettings;
const SettingsFormat kVersionsSettings = {kName, kName, &Sniff, &Parse};

}  // namespace paritect
