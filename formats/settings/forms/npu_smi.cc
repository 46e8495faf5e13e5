// npu-smi in its layouts. Columns are mapped by header words, never by number: the tables of the 310, 910/910B, 910_93
// and 950 generations and of the CH build differ (vendor's npu_info_print.c). Numbers may touch ("10568/ 65536"), the
// name of a process may be empty or hold blanks.
//   info            the table: "| 0  910B3 | OK | ..." and below it the row of the chip with its bus id
//   info -m         columns NPU ID, Chip ID, Chip Logic ID, (Chip Phy-ID,) Chip Name; management units are left out
//   info -l, -t board   "NPU ID : 0", "Chip Name : Ascend910", "NPU Name : 9392", "Firmware Version : ...", ...
// Keys: npu.name, npu.health, npu.bus_id (scope "npu N" or "npu N chip M"), driver.version, firmware.version,
// npu.count.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/numbers.h"
#include "formats/settings/builder.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

using absl::StrCat;
using Cells = std::vector<absl::string_view>;

bool IsRow(absl::string_view line) {
  return absl::StartsWith(absl::StripLeadingAsciiWhitespace(line), "|");
}

Cells CellsOf(absl::string_view line) {
  line = absl::StripAsciiWhitespace(line);
  absl::ConsumePrefix(&line, "|");
  absl::ConsumeSuffix(&line, "|");
  Cells cells;
  for (absl::string_view cell : absl::StrSplit(line, '|')) cells.push_back(absl::StripAsciiWhitespace(cell));
  return cells;
}

// Cells parted by two blanks or more, or by tabs.
Cells WideColumns(absl::string_view line) {
  Cells cells;
  line = absl::StripAsciiWhitespace(line);
  while (!line.empty()) {
    const std::size_t end = std::min({line.find("  "), line.find('\t'), line.size()});
    cells.push_back(absl::StripAsciiWhitespace(line.substr(0, end)));
    line = absl::StripLeadingAsciiWhitespace(line.substr(end));
  }
  return cells;
}

bool IsHealth(absl::string_view cell) {
  for (absl::string_view word : {"OK", "Warning", "Alarm", "Critical", "UNKNOWN", "Unknown", "Offline"}) {
    if (cell == word) return true;
  }
  return false;
}

int Sniff(absl::string_view head) {
  if (absl::StrContains(head, "| npu-smi") && absl::StrContains(head, "| NPU")) return 95;
  if (!absl::StrContains(head, "NPU ID")) return 0;
  if (absl::StrContains(head, "Chip Name") || absl::StrContains(head, "Chip Logic ID")) return 90;
  return absl::StrContains(head, "Chip Count") || absl::StrContains(head, "Board ID") ? 80 : 0;
}

class Reader {
 public:
  explicit Reader(absl::string_view label) : builder_("npu-smi", "devices", label) {}

  void Line(absl::string_view line, std::int64_t number) {
    if (absl::StrContains(line, "npu-smi") && absl::StrContains(line, "Version")) return Versions(line, number);
    if (absl::StrContains(line, "Process id") || absl::StrContains(line, "Process ID")) in_processes_ = true;
    if (in_processes_) return;
    if (IsRow(line)) return Row(CellsOf(line), number);
    if (absl::StrContains(line, "NPU ID") && absl::StrContains(line, "Chip ID")) {
      columns_ = WideColumns(line);
      return;
    }
    const std::size_t colon = line.find(':');
    if (colon != absl::string_view::npos && absl::StrContains(line.substr(0, colon), ' ')) {
      return Pair(absl::StripAsciiWhitespace(line.substr(0, colon)), absl::StripAsciiWhitespace(line.substr(colon + 1)),
                  number);
    }
    if (!columns_.empty()) MapRow(WideColumns(line), number);
  }

  absl::StatusOr<v1::SettingsDocument> Finish() {
    EndBoard();
    if (count_ == 0 && total_ == 0) return absl::DataLossError("npu-smi output without a device");
    builder_.Add("npu.count", StrCat(count_ > 0 ? count_ : total_), 1);
    return builder_.Finish();
  }

 private:
  void Add(absl::string_view key, absl::string_view value, std::int64_t number, const std::string& scope) {
    if (value.empty() || value == "NA" || value == "-") return;
    if (v1::Setting* setting = builder_.AddText(key, value, number)) setting->set_scope(scope);
  }

  // "| npu-smi 25.2.0      Version: 25.2.0 |": the tool's version, then the driver's.
  void Versions(absl::string_view line, std::int64_t number) {
    const Cells words = absl::StrSplit(line, absl::ByAnyChar(" |\t"), absl::SkipEmpty());
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] == "npu-smi") builder_.AddText("npu_smi.version", words[i + 1], number);
      if (words[i] == "Version:") builder_.AddText("driver.version", words[i + 1], number);
    }
  }

  void Row(const Cells& cells, std::int64_t number) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (absl::StartsWith(cells[i], "Health")) {
        health_ = i;
        return;
      }
      if (absl::StartsWith(cells[i], "Bus-Id") || absl::StartsWith(cells[i], "Bus-ID")) {
        if (absl::StrContains(cells[0], "Phy-ID")) builder_.AddText("npu.layout", "phy-id", number);
        return;
      }
    }
    if (health_ == 0 || cells.size() <= health_) return;
    if (IsHealth(cells[health_]) && Device(cells, number)) return;
    // The row of the chip below the device's.
    if (device_.empty()) return;
    for (absl::string_view cell : cells) {
      const absl::string_view word = cell.substr(0, cell.find(' '));
      if (std::count(word.begin(), word.end(), ':') == 2) Add("npu.bus_id", word, number, device_);
    }
    device_.clear();
  }

  // "| 0     910B3 | OK |"; the 950 layout has number and name in two cells. A name may hold blanks.
  bool Device(const Cells& cells, std::int64_t number) {
    const std::string first = health_ == 2 ? StrCat(cells[0], " ", cells[1]) : std::string(cells[0]);
    const std::size_t blank = first.find(' ');
    if (blank == std::string::npos) return false;
    const auto id = ParseInt(first.substr(0, blank));
    const absl::string_view name = absl::StripAsciiWhitespace(absl::string_view(first).substr(blank));
    if (!id || *id < 0 || name.empty()) return false;
    device_ = StrCat("npu ", *id);
    Add("npu.name", name, number, device_);
    Add("npu.health", cells[health_], number, device_);
    ++count_;
    return true;
  }

  void MapRow(const Cells& cells, std::int64_t number) {
    if (cells.size() != columns_.size() || !ParseInt(cells[0])) return;
    std::string scope = StrCat("npu ", cells[0]);
    absl::string_view name, logic;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (columns_[i] == "Chip ID") absl::StrAppend(&scope, " chip ", cells[i]);
      if (columns_[i] == "Chip Name") name = cells[i];
      if (columns_[i] == "Chip Logic ID") logic = cells[i];
    }
    if (logic == "-" || absl::EqualsIgnoreCase(name, "mcu") || name.empty()) return;
    Add("npu.name", name, number, scope);
    ++count_;
  }

  void Pair(absl::string_view key, absl::string_view value, std::int64_t number) {
    if (key == "NPU ID") {
      EndBoard();
      device_ = StrCat("npu ", value);
    } else if (key == "Total Count") {
      total_ = ParseInt(value).value_or(0);
    } else if (key == "Chip Name" && chip_name_.empty()) {
      chip_name_ = std::string(value);
      chip_line_ = number;
    } else if (key == "NPU Name") {
      npu_name_ = std::string(value);
    } else if (key == "Software Version") {
      Add("driver.version", value, number, device_);
    } else if (key == "Firmware Version") {
      Add("firmware.version", value, number, device_);
    } else if (key == "Board ID") {
      Add("npu.board_id", value, number, device_);
    } else if (key == "PCIe Bus Info") {
      Add("npu.bus_id", value, number, device_);
    }
  }

  // Chip Name "Ascend910" and NPU Name "9392" are the SoC "Ascend910_9392"; equal names are one.
  void EndBoard() {
    if (!chip_name_.empty()) {
      const bool joined = !npu_name_.empty() && npu_name_ != chip_name_ && npu_name_ != "NA";
      Add("npu.name", joined ? StrCat(chip_name_, "_", npu_name_) : chip_name_, chip_line_, device_);
      ++count_;
    }
    chip_name_.clear();
    npu_name_.clear();
  }

  SettingsBuilder builder_;
  bool in_processes_ = false;
  std::size_t health_ = 0;  // column of the table; 0: no header yet
  std::string device_;      // whose rows or pairs these are
  Cells columns_;           // of -m; views into the text
  std::string chip_name_;
  std::string npu_name_;
  std::int64_t chip_line_ = 0;
  std::int64_t count_ = 0;
  std::int64_t total_ = 0;
};

absl::StatusOr<v1::SettingsDocument> Parse(absl::string_view text, absl::string_view label) {
  Reader reader(label);
  ForEachLine(text, [&](absl::string_view line, std::int64_t number) { reader.Line(line, number); });
  return reader.Finish();
}

}  // namespace

extern const SettingsFormat kNpuSmiSettings;
const SettingsFormat kNpuSmiSettings = {"npu-smi", "devices", &Sniff, &Parse};

}  // namespace paritect
