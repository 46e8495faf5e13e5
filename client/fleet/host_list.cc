#include "client/fleet/host_list.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/numbers.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr std::size_t kHostsMax = 100'000;
constexpr std::size_t kHostBytesMax = 255;
constexpr std::size_t kDigitsMax = 9;

absl::Status Bad(absl::string_view word, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("host ", DisplayBytes(word), ": ", why));
}

absl::Status CheckHost(absl::string_view host) {
  if (host.size() > kHostBytesMax) return Bad(host.substr(0, 40), "longer than a name can be");
  const auto begins_well = [](absl::string_view part) {
    return !part.empty() && (absl::ascii_isalnum(static_cast<unsigned char>(part[0])) || part[0] == ':');
  };
  for (absl::string_view part : absl::StrSplit(host, absl::MaxSplits('@', 1))) {
    if (!begins_well(part)) return Bad(host, "a user and a host begin with a letter or a digit");
  }
  for (const char c : host) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) continue;
    if (absl::string_view("._-@:%").find(c) == absl::string_view::npos) {
      return Bad(host, "letters, digits and . _ - @ : only, and [A-B,C] for numbers");
    }
  }
  return absl::OkStatus();
}

// "01-03,7" as "01", "02", "03", "7".
absl::StatusOr<std::vector<std::string>> Numbers(absl::string_view word, absl::string_view ranges) {
  std::vector<std::string> numbers;
  for (absl::string_view range : absl::StrSplit(ranges, ',')) {
    const std::vector<absl::string_view> ends = absl::StrSplit(range, absl::MaxSplits('-', 1));
    const auto first = ParseInt(ends.front());
    const auto last = ParseInt(ends.back());
    if (!first || !last || *first < 0 || ends.back().size() > kDigitsMax || ends.front().size() > kDigitsMax) {
      return Bad(word, "[A-B,C] holds numbers");
    }
    if (*last < *first) return Bad(word, absl::StrCat("[", range, "] ends before it begins"));
    if (static_cast<std::uint64_t>(*last - *first) >= kHostsMax) return Bad(word, "too many hosts");
    for (std::int64_t number = *first; number <= *last; ++number) {
      std::string digits = absl::StrCat(number);
      if (digits.size() < ends.front().size()) digits.insert(0, ends.front().size() - digits.size(), '0');
      numbers.push_back(std::move(digits));
      if (numbers.size() > kHostsMax) return Bad(word, "too many hosts");
    }
  }
  return numbers;
}

// All that the word stands for; several ranges multiply.
absl::StatusOr<std::vector<std::string>> ExpandWord(absl::string_view word) {
  std::vector<std::string> hosts = {""};
  absl::string_view rest = word;
  while (!rest.empty()) {
    const std::size_t open = std::min(rest.find('['), rest.size());
    for (std::string& host : hosts) absl::StrAppend(&host, rest.substr(0, open));
    rest.remove_prefix(open);
    if (rest.empty()) break;
    const std::size_t close = rest.find(']');
    if (close == absl::string_view::npos) return Bad(word, "[ without ]");
    PARITECT_ASSIGN_OR_RETURN(const std::vector<std::string> numbers, Numbers(word, rest.substr(1, close - 1)));
    if (hosts.size() * numbers.size() > kHostsMax) return Bad(word, "too many hosts");
    std::vector<std::string> longer;
    for (const std::string& host : hosts) {
      for (const std::string& number : numbers) longer.push_back(absl::StrCat(host, number));
    }
    hosts = std::move(longer);
    rest.remove_prefix(close + 1);
  }
  return hosts;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ExpandHosts(const std::vector<std::string>& words) {
  std::vector<std::string> hosts;
  std::set<std::string> seen;
  for (const std::string& word : words) {
    PARITECT_ASSIGN_OR_RETURN(const std::vector<std::string> some, ExpandWord(word));
    for (const std::string& host : some) {
      PARITECT_RETURN_IF_ERROR(CheckHost(host));
      if (seen.insert(host).second) hosts.push_back(host);
    }
    if (hosts.size() > kHostsMax) return absl::InvalidArgumentError(absl::StrCat("more than ", kHostsMax, " hosts"));
  }
  if (hosts.empty()) return absl::InvalidArgumentError("no host is named");
  return hosts;
}

std::vector<std::string> WordsOfHostFile(absl::string_view text) {
  std::vector<std::string> words;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = line.substr(0, line.find('#'));
    for (absl::string_view word : absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty())) {
      words.emplace_back(word);
    }
  }
  return words;
}

std::string PatternOfNames(const std::vector<std::string>& names) {
  if (names.empty()) return "";
  std::size_t head = names[0].size();
  std::size_t tail = names[0].size();
  std::size_t shortest = names[0].size();
  bool one = true;
  for (const std::string& name : names) {
    one = one && name == names[0];
    shortest = std::min(shortest, name.size());
    const auto begins = std::mismatch(name.begin(), name.end(), names[0].begin(), names[0].end());
    head = std::min(head, static_cast<std::size_t>(begins.first - name.begin()));
    const auto ends = std::mismatch(name.rbegin(), name.rend(), names[0].rbegin(), names[0].rend());
    tail = std::min(tail, static_cast<std::size_t>(ends.first - name.rbegin()));
  }
  if (one) return names[0];
  tail = std::min(tail, shortest - head);
  return absl::StrCat(names[0].substr(0, head), "*", names[0].substr(names[0].size() - tail));
}

}  // namespace paritect
