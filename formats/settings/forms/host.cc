// CPUs and memory of a host: the output of lscpu, /proc/cpuinfo, /proc/meminfo and `free -b`, alone or one after the
// other. Keys: host.cpu_count, host.cpu_model, host.memory_bytes, host.swap_bytes.
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/numbers.h"
#include "formats/settings/builder.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

// "MemTotal:  131040000 kB" and its like, and nothing else: what a `grep` of /proc/meminfo leaves.
bool IsPartOfMeminfo(absl::string_view head) {
  bool total = false;
  bool others = false;
  ForEachLine(head, [&](absl::string_view line, std::int64_t) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    if (words.empty()) return;
    const bool amount = words.size() == 3 && absl::EndsWith(words[0], ":") && words[2] == "kB" && ParseInt(words[1]);
    total = total || (amount && words[0] == "MemTotal:");
    others = others || !amount;
  });
  return total && !others;
}

int Sniff(absl::string_view head) {
  if (absl::StrContains(head, "Architecture:") && absl::StrContains(head, "CPU(s):")) return 85;
  if (absl::StrContains(head, "MemTotal:") && absl::StrContains(head, "MemFree:")) return 85;
  return absl::StartsWith(head, "processor\t:") || IsPartOfMeminfo(head) ? 85 : 0;
}

class Reader {
 public:
  explicit Reader(absl::string_view label) : builder_("host", "host", label) {}

  void Line(absl::string_view line, std::int64_t number) {
    const std::vector<absl::string_view> pair = absl::StrSplit(line, absl::MaxSplits(':', 1));
    if (pair.size() != 2) return;
    const absl::string_view key = absl::StripAsciiWhitespace(pair[0]);
    const absl::string_view value = absl::StripAsciiWhitespace(pair[1]);
    if (key == "processor") {
      ++processors_;
      processors_line_ = number;
    } else if (key == "CPU(s)") {
      Once(kCount, "host.cpu_count", value, number);
    } else if (key == "Model name" || key == "model name") {
      Once(kModel, "host.cpu_model", value, number);
    } else if (key == "MemTotal") {
      Kilobytes(kMemory, "host.memory_bytes", value, number);
    } else if (key == "SwapTotal") {
      Kilobytes(kSwap, "host.swap_bytes", value, number);
    } else if (key == "Mem") {  // free -b
      const std::vector<absl::string_view> words = absl::StrSplit(value, ' ', absl::SkipEmpty());
      if (!words.empty() && ParseInt(words[0]).value_or(0) > (1 << 28)) {
        Once(kMemory, "host.memory_bytes", words[0], number);
      }
    }
  }

  absl::StatusOr<v1::SettingsDocument> Finish() {
    if (processors_ > 0) Once(kCount, "host.cpu_count", absl::StrCat(processors_), processors_line_);
    if (builder_.empty()) return absl::DataLossError("neither CPUs nor memory");
    return builder_.Finish();
  }

 private:
  enum Fact { kCount, kModel, kMemory, kSwap, kFacts };

  void Once(Fact fact, absl::string_view key, absl::string_view value, std::int64_t number) {
    if (seen_[fact]) return;
    seen_[fact] = true;
    builder_.Add(key, value, number);
  }
  void Kilobytes(Fact fact, absl::string_view key, absl::string_view value, std::int64_t number) {
    const std::vector<absl::string_view> words = absl::StrSplit(value, ' ', absl::SkipEmpty());
    if (words.size() != 2 || words[1] != "kB") return;
    const auto kilobytes = ParseInt(words[0]);
    if (kilobytes && *kilobytes >= 0 && *kilobytes < (std::int64_t{1} << 50)) {
      Once(fact, key, absl::StrCat(*kilobytes * 1024), number);
    }
  }

  SettingsBuilder builder_;
  std::array<bool, kFacts> seen_ = {};
  std::int64_t processors_ = 0;
  std::int64_t processors_line_ = 0;
};

absl::StatusOr<v1::SettingsDocument> Parse(absl::string_view text, absl::string_view label) {
  Reader reader(label);
  ForEachLine(text, [&](absl::string_view line, std::int64_t number) { reader.Line(line, number); });
  return reader.Finish();
}

}  // namespace

extern const SettingsFormat kHostSettings;
const SettingsFormat kHostSettings = {"host", "host", &Sniff, &Parse};

}  // namespace paritect
