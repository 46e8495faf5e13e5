// nvidia-smi: the table, --query-gpu CSV with or without header, -q text, -q -x XML, -L list. Every field is optional:
// names and boxes changed between drivers, "[N/A]" and "[Not Supported]" stand where a value is not there.
// Keys: gpu.name (scope "gpu N"), driver.version, cuda.driver_version, gpu.count.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/numbers.h"
#include "formats/settings/builder.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

using absl::StrCat;
using Cells = std::vector<absl::string_view>;

bool IsGpuName(absl::string_view cell) {
  for (absl::string_view start : {"NVIDIA ", "Tesla ", "GeForce ", "Quadro ", "GRID "}) {
    if (absl::StartsWith(cell, start)) return true;
  }
  return false;
}

Cells Csv(absl::string_view line) {
  Cells cells;
  for (absl::string_view cell : absl::StrSplit(line, ',')) cells.push_back(absl::StripAsciiWhitespace(cell));
  return cells;
}

// "535.104.05": a driver's version.
bool IsVersion(absl::string_view cell) {
  return absl::StrContains(cell, '.') && cell.find_first_not_of("0123456789.") == absl::string_view::npos &&
         !ParseInt(cell);
}

bool IsCsvHeader(absl::string_view line) {
  const Cells cells = Csv(line);
  return std::find(cells.begin(), cells.end(), "name") != cells.end() && line.find(':') == absl::string_view::npos;
}

int Sniff(absl::string_view head) {
  if (absl::StrContains(head, "NVIDIA-SMI") && absl::StrContains(head, "Driver Version:")) return 95;
  if (absl::StrContains(head, "<nvidia_smi_log>")) return 95;
  if (absl::StrContains(head, "NVSMI LOG") && absl::StrContains(head, "Product Name")) return 95;
  const absl::string_view first = absl::StripAsciiWhitespace(head.substr(0, head.find('\n')));
  if (absl::StartsWith(first, "GPU 0: ") && absl::StrContains(first, "(UUID: ")) return 90;
  const Cells cells = Csv(first);
  if (cells.size() < 2) return 0;
  if (IsCsvHeader(first)) {
    for (absl::string_view known : {"index", "uuid", "driver_version", "pci.bus_id", "compute_cap", "gpu_uuid"}) {
      if (std::find(cells.begin(), cells.end(), known) != cells.end()) return 80;
    }
    return 0;
  }
  return IsGpuName(cells[0]) || (ParseInt(cells[0]) && IsGpuName(cells[1])) ? 80 : 0;
}

class Reader {
 public:
  explicit Reader(absl::string_view label) : builder_("nvidia-smi", "devices", label) {}

  void Line(absl::string_view line, std::int64_t number) {
    const absl::string_view stripped = absl::StripAsciiWhitespace(line);
    if (absl::StrContains(line, "NVIDIA-SMI")) return Header(line, number);
    if (absl::StrContains(line, "Processes:")) in_processes_ = true;
    if (in_processes_ || stripped.empty()) return;
    if (stripped[0] == '<') return Element(stripped, number);
    if (stripped[0] == '|') return Row(stripped, number);
    if (absl::StartsWith(stripped, "GPU ") && absl::StrContains(stripped, "(UUID: ")) return Listed(stripped, number);
    const std::size_t colon = stripped.find(" : ");
    if (colon != absl::string_view::npos) {
      return Pair(absl::StripAsciiWhitespace(stripped.substr(0, colon)),
                  absl::StripAsciiWhitespace(stripped.substr(colon + 3)), number);
    }
    if (columns_.empty() && IsCsvHeader(stripped)) {
      columns_ = Csv(stripped);
    } else if (absl::StrContains(stripped, ',')) {
      CsvRow(Csv(stripped), number);
    }
  }

  absl::StatusOr<v1::SettingsDocument> Finish() {
    if (count_ == 0) return absl::DataLossError("nvidia-smi output without a device");
    builder_.Add("gpu.count", StrCat(count_), 1);
    return builder_.Finish();
  }

 private:
  void Gpu(absl::string_view name, absl::string_view index, std::int64_t number) {
    v1::Setting* setting = builder_.AddText("gpu.name", name, number);
    if (setting != nullptr) setting->set_scope(StrCat("gpu ", index.empty() ? StrCat(count_) : std::string(index)));
    ++count_;
  }
  void Version(absl::string_view key, absl::string_view value, std::int64_t number) {
    if (!value.empty() && absl::ascii_isdigit(static_cast<unsigned char>(value[0])))
      builder_.AddText(key, value, number);
  }

  void Header(absl::string_view line, std::int64_t number) {
    const Cells words = absl::StrSplit(line, absl::ByAnyChar(" |"), absl::SkipEmpty());
    for (std::size_t i = 0; i + 2 < words.size(); ++i) {
      if (words[i] == "Driver" && words[i + 1] == "Version:") Version("driver.version", words[i + 2], number);
      if (words[i] == "CUDA" && words[i + 1] == "Version:") Version("cuda.driver_version", words[i + 2], number);
    }
  }

  // "| 0  NVIDIA A100-SXM4-80GB   On |": number, name, persistence.
  void Row(absl::string_view line, std::int64_t number) {
    const absl::string_view cell = line.substr(1, std::min(line.find('|', 1), line.size()) - 1);
    const Cells words = absl::StrSplit(cell, ' ', absl::SkipEmpty());
    if (words.size() < 3 || !ParseInt(words[0]) || !absl::ascii_isalpha(static_cast<unsigned char>(words[1][0])))
      return;
    if (words.back() != "On" && words.back() != "Off" && words.back() != "N/A") return;
    Gpu(absl::StrJoin(words.begin() + 1, words.end() - 1, " "), words[0], number);
  }

  void Listed(absl::string_view line, std::int64_t number) {
    const std::size_t colon = line.find(':');
    const std::size_t uuid = line.find(" (UUID: ");
    if (colon < uuid)
      Gpu(absl::StripAsciiWhitespace(line.substr(colon + 1, uuid - colon - 1)), line.substr(4, colon - 4), number);
  }

  void Pair(absl::string_view key, absl::string_view value, std::int64_t number) {
    if (key == "Product Name") Gpu(value, "", number);
    if (key == "Driver Version") Version("driver.version", value, number);
    if (key == "CUDA Version") Version("cuda.driver_version", value, number);
  }

  // "<product_name>NVIDIA A100</product_name>"
  void Element(absl::string_view line, std::int64_t number) {
    const std::size_t open_end = line.find('>');
    const std::size_t close = line.rfind("</");
    if (open_end == absl::string_view::npos || close == absl::string_view::npos || close <= open_end) return;
    const absl::string_view name = line.substr(1, open_end - 1);
    const absl::string_view value = absl::StripAsciiWhitespace(line.substr(open_end + 1, close - open_end - 1));
    if (name == "product_name") Gpu(value, "", number);
    if (name == "driver_version") Version("driver.version", value, number);
    if (name == "cuda_version") Version("cuda.driver_version", value, number);
  }

  void CsvRow(const Cells& cells, std::int64_t number) {
    absl::string_view name, index, driver;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const absl::string_view column = i < columns_.size() ? columns_[i] : "";
      if (columns_.empty() ? name.empty() && IsGpuName(cells[i]) : column == "name" || column == "gpu_name")
        name = cells[i];
      if (columns_.empty() ? driver.empty() && IsVersion(cells[i]) &&
                                 std::count(cells[i].begin(), cells[i].end(), '.') >= 1 && cells[i].size() >= 6
                           : column == "driver_version") {
        driver = cells[i];
      }
      if (columns_.empty() ? i == 0 && ParseInt(cells[i]).has_value() : column == "index") index = cells[i];
    }
    if (name.empty()) return;
    Gpu(name, index, number);
    Version("driver.version", driver, number);
  }

  SettingsBuilder builder_;
  bool in_processes_ = false;
  Cells columns_;  // views into the text
  std::int64_t count_ = 0;
};

absl::StatusOr<v1::SettingsDocument> Parse(absl::string_view text, absl::string_view label) {
  Reader reader(label);
  ForEachLine(text, [&](absl::string_view line, std::int64_t number) { reader.Line(line, number); });
  return reader.Finish();
}

}  // namespace

extern const SettingsFormat kNvidiaSmiSettings;
const SettingsFormat kNvidiaSmiSettings = {"nvidia-smi", "devices", &Sniff, &Parse};

}  // namespace paritect
