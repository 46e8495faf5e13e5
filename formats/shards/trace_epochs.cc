#include "formats/shards/trace_epochs.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"

namespace paritect {
namespace {

using ByRank = std::map<std::int32_t, Names>;

// How many names all lists begin with alike: what every rank opens before its own files belongs to no epoch.
std::size_t CommonBeginning(const ByRank& lists) {
  const Names& first = lists.begin()->second;
  std::size_t length = first.size();
  for (const auto& [rank, names] : lists) {
    const auto end =
        std::mismatch(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(length), names.begin(), names.end());
    length = static_cast<std::size_t>(end.first - first.begin());
  }
  return length;
}

// Whether each of `epochs` equal parts of the lists holds no file twice.
bool PartsAreWhole(const ByRank& lists, std::size_t epochs) {
  for (std::size_t e = 0; e < epochs; ++e) {
    absl::flat_hash_set<absl::string_view> seen;
    for (const auto& [rank, names] : lists) {
      if (names.size() % epochs != 0) return false;
      const std::size_t share = names.size() / epochs;
      for (std::size_t i = e * share; i < (e + 1) * share; ++i) {
        if (!seen.insert(names[i]).second) return false;
      }
    }
  }
  return true;
}

}  // namespace

std::optional<std::vector<Names>> SplitRepeats(const Names& names) {
  const std::size_t distinct = absl::flat_hash_set<absl::string_view>(names.begin(), names.end()).size();
  std::vector<Names> epochs;
  for (std::size_t begin = 0; begin < names.size(); begin += distinct) {
    const std::size_t end = std::min(begin + distinct, names.size());
    Names part(names.begin() + static_cast<std::ptrdiff_t>(begin), names.begin() + static_cast<std::ptrdiff_t>(end));
    if (absl::flat_hash_set<absl::string_view>(part.begin(), part.end()).size() != part.size()) return std::nullopt;
    epochs.push_back(std::move(part));
  }
  return epochs;
}

std::optional<std::vector<Names>> SplitBehindStart(const Names& names) {
  absl::flat_hash_map<absl::string_view, int> opens;
  for (const std::string& name : names) ++opens[name];
  std::size_t start = 0;
  while (start < names.size() && opens[names[start]] == 1) ++start;
  if (start == 0 || start * 2 > opens.size()) return std::nullopt;
  const Names beside(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(start));
  auto epochs = SplitRepeats(Names(names.begin() + static_cast<std::ptrdiff_t>(start), names.end()));
  if (!epochs || epochs->size() < 2) return std::nullopt;
  for (Names& epoch : *epochs) epoch.insert(epoch.begin(), beside.begin(), beside.end());
  return epochs;
}

std::map<std::int32_t, std::vector<Names>> SplitTogether(const ByRank& opens) {
  if (opens.size() < 2) return {};
  ByRank rest = opens;
  const auto start = static_cast<std::ptrdiff_t>(CommonBeginning(rest));
  const Names beginning(rest.begin()->second.begin(), rest.begin()->second.begin() + start);
  std::size_t count = 0;
  absl::flat_hash_set<absl::string_view> files;
  for (auto& [rank, names] : rest) {
    names.erase(names.begin(), names.begin() + start);
    count += names.size();
    files.insert(names.begin(), names.end());
  }
  const std::size_t epochs = files.empty() || count % files.size() != 0 ? 0 : count / files.size();
  if (epochs < 2 || !PartsAreWhole(rest, epochs)) return {};
  std::map<std::int32_t, std::vector<Names>> parts;
  for (const auto& [rank, names] : rest) {
    const auto share = static_cast<std::ptrdiff_t>(names.size() / epochs);
    for (std::ptrdiff_t e = 0; e < static_cast<std::ptrdiff_t>(epochs); ++e) {
      Names part = beginning;
      part.insert(part.end(), names.begin() + e * share, names.begin() + (e + 1) * share);
      parts[rank].push_back(std::move(part));
    }
  }
  return parts;
}

}  // namespace paritect
