// The matrix of links between devices that `nvidia-smi topo -m` and `npu-smi info -t topo` print: a line of column
// heads (GPU0 GPU1 ... or NPU0 NPU1 ...), then one row a device with "X" for itself and a word a link (NV12, HCCS,
// PIX, SYS).
// Kept: topology.devices (a count), topology.links (the words, each once), and each pair once as topology.GPU0.GPU1.
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "formats/settings/builder.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

constexpr char kName[] = "topology";
constexpr std::size_t kDevicesMax = 4096;

// "GPU0", "NPU12".
bool IsDevice(absl::string_view word) {
  int number = 0;
  return word.size() > 3 && (absl::StartsWith(word, "GPU") || absl::StartsWith(word, "NPU")) &&
         absl::SimpleAtoi(word.substr(3), &number) && number >= 0;
}

std::vector<absl::string_view> Words(absl::string_view line) {
  return absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
}

// The devices that a line of column heads names; empty for another line.
std::vector<std::string> Heads(const std::vector<absl::string_view>& words) {
  std::vector<std::string> heads;
  for (absl::string_view word : words) {
    if (!IsDevice(word)) break;
    heads.emplace_back(word);
  }
  // A row begins with one device alone.
  return heads.size() == words.size() || heads.size() > 1 ? heads : std::vector<std::string>();
}

int Sniff(absl::string_view head) {
  std::vector<std::string> heads;
  int sure = 0;
  ForEachLine(head, [&](absl::string_view line, std::int64_t) {
    const std::vector<absl::string_view> words = Words(line);
    if (heads.empty()) {
      heads = Heads(words);
    } else if (sure == 0 && words.size() > heads.size() && words[0] == heads[0] && words[1] == "X") {
      sure = 95;
    }
  });
  return sure;
}

absl::StatusOr<v1::SettingsDocument> Parse(absl::string_view text, absl::string_view label) {
  SettingsBuilder builder(kName, "topology", label);
  std::vector<std::string> heads;
  std::set<std::string> links;
  std::size_t rows = 0;
  ForEachLine(text, [&](absl::string_view line, std::int64_t number) {
    const std::vector<absl::string_view> words = Words(line);
    if (heads.empty()) {
      heads = Heads(words);
      if (heads.size() > kDevicesMax) heads.resize(kDevicesMax);
      return;
    }
    if (rows >= heads.size() || words.size() <= heads.size() || words[0] != heads[rows]) return;
    for (std::size_t i = rows + 1; i < heads.size(); ++i) {
      builder.AddText(absl::StrCat("topology.", heads[rows], ".", heads[i]), words[i + 1], number);
      links.emplace(words[i + 1]);
    }
    ++rows;
  });
  if (heads.empty() || rows == 0) return absl::DataLossError("no matrix of links between devices");
  if (rows < heads.size()) {
    builder.AddNote("truncated", 0, absl::StrCat("rows of ", rows, " of ", heads.size(), " devices"));
  }
  builder.Add("topology.devices", absl::StrCat(heads.size()), 1);
  builder.AddText("topology.links", absl::StrJoin(links, " "), 1);
  return builder.Finish();
}

}  // namespace

extern const SettingsFormat kTopologySettings;
const SettingsFormat kTopologySettings = {kName, "topology", &Sniff, &Parse};

}  // namespace paritect
