// npu-smi info and nvidia-smi tables. Columns are mapped by header words, never by number: the layouts of the
// 310, 910/910B, 910_93 and 950 generations differ (vendor's npu_info_print.c). Numbers may touch ("10568/ 65536"),
// the name cell may be cut off. nvidia-smi: the table and --query-gpu CSV.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/numbers.h"
#include "formats/settings/builder.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

std::vector<absl::string_view> Cells(absl::string_view line) {
  line = absl::StripAsciiWhitespace(line);
  absl::ConsumePrefix(&line, "|");
  absl::ConsumeSuffix(&line, "|");
  std::vector<absl::string_view> cells;
  for (absl::string_view cell : absl::StrSplit(line, '|')) cells.push_back(absl::StripAsciiWhitespace(cell));
  return cells;
}

bool IsRow(absl::string_view line) {
  return absl::StartsWith(absl::StripLeadingAsciiWhitespace(line), "|");
}

int SniffNpuSmi(absl::string_view head) {
  if (!absl::StrContains(head, "npu-smi") && !absl::StrContains(head, "NPU")) return 0;
  if (absl::StrContains(head, "| npu-smi") && absl::StrContains(head, "| NPU")) return 95;
  // `-t board`: "NPU ID : 0", "Chip Name : ...".
  return absl::StrContains(head, "Chip Name") && absl::StrContains(head, "NPU ID") ? 60 : 0;
}

// "| npu-smi 25.2.0      Version: 25.2.0 |": the tool's version, then the driver's.
void ReadVersionLine(absl::string_view line, std::int64_t number, SettingsBuilder& builder) {
  std::vector<absl::string_view> words = absl::StrSplit(line, absl::ByAnyChar(" |"), absl::SkipEmpty());
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "npu-smi") builder.AddText("npu_smi.version", words[i + 1], number);
    if (words[i] == "Version:") builder.AddText("driver.version", words[i + 1], number);
  }
}

// "0     910B3" or "3  Ascend910": the NPU's number and its name. A name may hold blanks.
bool ReadNameCell(absl::string_view cell, std::int64_t& npu, absl::string_view& name) {
  const std::size_t blank = cell.find(' ');
  if (blank == absl::string_view::npos) return false;
  auto id = ParseInt(cell.substr(0, blank));
  name = absl::StripAsciiWhitespace(cell.substr(blank));
  if (!id || *id < 0 || name.empty()) return false;
  npu = *id;
  return true;
}

absl::StatusOr<v1::SettingsDocument> ParseNpuSmi(absl::string_view text, absl::string_view label) {
  SettingsBuilder builder("npu-smi", "devices", label);
  bool in_processes = false;
  std::int64_t count = 0;
  ForEachLine(text, [&](absl::string_view line, std::int64_t number) {
    if (absl::StrContains(line, "Phy-ID")) builder.AddText("npu.layout", "phy-id", number);
    if (absl::StrContains(line, "Process id") || absl::StrContains(line, "Process ID")) in_processes = true;
    if (absl::StrContains(line, "npu-smi") && absl::StrContains(line, "Version"))
      ReadVersionLine(line, number, builder);
    const std::vector<absl::string_view> pair = absl::StrSplit(line, absl::MaxSplits(':', 1));
    if (!IsRow(line) && pair.size() == 2 && absl::StripAsciiWhitespace(pair[0]) == "Chip Name") {
      builder.AddText("npu.name", absl::StripAsciiWhitespace(pair[1]), number);
      ++count;
      return;
    }
    if (!IsRow(line) || in_processes) return;
    const std::vector<absl::string_view> cells = Cells(line);
    static constexpr absl::string_view kHealth[] = {"OK", "Warning", "Alarm", "Critical", "UNKNOWN", "Offline"};
    std::size_t health = 0;
    for (std::size_t i = 1; i < cells.size(); ++i) {
      for (absl::string_view word : kHealth) health = cells[i] == word ? i : health;
    }
    std::int64_t npu = 0;
    absl::string_view name;
    // The 950 layout has the number and the name in two cells.
    const std::string joined = health == 2 ? absl::StrCat(cells[0], " ", cells[1]) : std::string(cells[0]);
    if (health == 0 || !ReadNameCell(joined, npu, name)) return;
    if (v1::Setting* setting = builder.AddText("npu.name", name, number)) setting->set_scope(absl::StrCat("npu ", npu));
    if (v1::Setting* setting = builder.AddText("npu.health", cells[health], number)) {
      setting->set_scope(absl::StrCat("npu ", npu));
    }
    ++count;
  });
  if (count == 0) return absl::DataLossError("an npu-smi table without a device row");
  builder.Add("npu.count", absl::StrCat(count), 1);
  return builder.Finish();
}

int SniffNvidiaSmi(absl::string_view head) {
  if (absl::StrContains(head, "NVIDIA-SMI") && absl::StrContains(head, "Driver Version:")) return 95;
  return absl::StartsWith(head, "index, name") || absl::StartsWith(head, "name, driver_version") ? 80 : 0;
}

void ReadNvidiaHeader(absl::string_view line, std::int64_t number, SettingsBuilder& builder) {
  std::vector<absl::string_view> words = absl::StrSplit(line, absl::ByAnyChar(" |"), absl::SkipEmpty());
  for (std::size_t i = 0; i + 2 < words.size(); ++i) {
    if (words[i] == "Driver" && words[i + 1] == "Version:") builder.AddText("driver.version", words[i + 2], number);
    if (words[i] == "CUDA" && words[i + 1] == "Version:") builder.AddText("cuda.driver_version", words[i + 2], number);
  }
}

absl::StatusOr<v1::SettingsDocument> ParseNvidiaSmi(absl::string_view text, absl::string_view label) {
  SettingsBuilder builder("nvidia-smi", "devices", label);
  std::vector<absl::string_view> columns;
  bool in_processes = false;
  std::int64_t count = 0;
  ForEachLine(text, [&](absl::string_view line, std::int64_t number) {
    if (absl::StrContains(line, "NVIDIA-SMI")) return ReadNvidiaHeader(line, number, builder);
    if (absl::StrContains(line, "Processes:")) in_processes = true;
    if (number == 1 && absl::StrContains(line, "name")) {
      columns = absl::StrSplit(line, ", ");
      return;
    }
    if (!columns.empty()) {
      const std::vector<absl::string_view> cells = absl::StrSplit(line, ", ");
      for (std::size_t i = 0; i < std::min(cells.size(), columns.size()); ++i) {
        if (columns[i] == "name") {
          builder.AddText("gpu.name", cells[i], number);
          ++count;
        } else if (columns[i] == "driver_version") {
          builder.AddText("driver.version", cells[i], number);
        }
      }
      return;
    }
    if (in_processes || !IsRow(line)) return;
    const absl::string_view cell = Cells(line)[0];
    const std::vector<absl::string_view> words = absl::StrSplit(cell, ' ', absl::SkipEmpty());
    // "0  NVIDIA A100-SXM4-80GB   On" / "0  Tesla V100-SXM2...  Off": number, name, persistence.
    if (words.size() < 3 || !ParseInt(words[0]) || !absl::ascii_isalpha(static_cast<unsigned char>(words[1][0])))
      return;
    if (words.back() != "On" && words.back() != "Off" && words.back() != "N/A") return;
    std::string name(words[1]);
    for (std::size_t i = 2; i + 1 < words.size(); ++i) absl::StrAppend(&name, " ", words[i]);
    if (v1::Setting* setting = builder.AddText("gpu.name", name, number))
      setting->set_scope(absl::StrCat("gpu ", words[0]));
    ++count;
  });
  if (count == 0) return absl::DataLossError("an nvidia-smi table without a device row");
  builder.Add("gpu.count", absl::StrCat(count), 1);
  return builder.Finish();
}

}  // namespace

extern const SettingsFormat kNpuSmiSettings;
const SettingsFormat kNpuSmiSettings = {"npu-smi", "devices", &SniffNpuSmi, &ParseNpuSmi};
extern const SettingsFormat kNvidiaSmiSettings;
const SettingsFormat kNvidiaSmiSettings = {"nvidia-smi", "devices", &SniffNvidiaSmi, &ParseNvidiaSmi};

}  // namespace paritect
