#include "formats/shards/trace_epochs.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "rules/file_names.h"

namespace paritect {
namespace {

constexpr std::int64_t kTickNs = 10'000'000;  // births are told in hundredths of a second
// A few files beside the data: at most one for so many.
constexpr std::size_t kFilesBesideOne = 4;

using ByRank = std::map<std::int32_t, Names>;
using NameViews = absl::flat_hash_set<absl::string_view>;

NameViews SetOf(const Names& names) {
  return NameViews(names.begin(), names.end());
}

void Append(const Names& from, Names& to) {
  to.insert(to.end(), from.begin(), from.end());
}

bool IsBeside(absl::string_view name) {
  const std::vector<std::string>& endings = BuiltInFileNames().beside_endings;
  const std::string lower = absl::AsciiStrToLower(name);
  return std::any_of(endings.begin(), endings.end(),
                     [&](const std::string& ending) { return absl::EndsWith(lower, ending); });
}

// What processes side by side read in each epoch, one after another. nullopt: they open the same files, or other
// numbers of epochs.
std::optional<std::vector<Names>> PartsOfGeneration(const std::vector<const ProcessOpens*>& generation) {
  if (generation.size() == 1) return SplitRepeats(generation[0]->names);
  std::vector<Names> parts;
  NameViews seen;
  for (const ProcessOpens* process : generation) {
    auto own = SplitRepeats(process->names);
    if (!own || own->empty() || own->back().size() != own->front().size()) return std::nullopt;
    if (!parts.empty() && own->size() != parts.size()) return std::nullopt;
    for (absl::string_view name : SetOf(process->names)) {
      if (!seen.insert(name).second) return std::nullopt;
    }
    parts.resize(own->size());
    for (std::size_t i = 0; i < own->size(); ++i) Append((*own)[i], parts[i]);
  }
  return parts;
}

bool Holds(const NameViews& whole, const Names& part) {
  return std::all_of(part.begin(), part.end(), [&](const std::string& name) { return whole.contains(name); });
}

// Parts in their order in time: epochs where each holds the same files, behind files that are opened once; one epoch
// where no two share a file.
std::optional<std::vector<Names>> JoinParts(std::vector<Names> parts) {
  absl::flat_hash_map<absl::string_view, int> opens;
  std::size_t count = 0;
  for (const Names& part : parts) {
    count += part.size();
    for (const std::string& name : part) ++opens[name];
  }
  if (opens.size() == count) {
    Names all;
    for (const Names& part : parts) Append(part, all);
    return std::vector<Names>{std::move(all)};
  }
  std::size_t begin = 0;
  Names opened;
  const auto once = [&](const std::string& name) { return opens[name] == 1; };
  while (std::all_of(parts[begin].begin(), parts[begin].end(), once)) Append(parts[begin++], opened);
  if (opened.size() * 2 > opens.size()) return std::nullopt;
  const NameViews first = SetOf(parts[begin]);
  for (std::size_t i = begin; i < parts.size(); ++i) {
    const bool whole = parts[i].size() == first.size() || (i + 1 == parts.size() && parts[i].size() < first.size());
    if (!whole || SetOf(parts[i]).size() != parts[i].size() || !Holds(first, parts[i])) return std::nullopt;
  }
  Append(parts[begin], opened);
  std::vector<Names> epochs = {std::move(opened)};
  for (std::size_t i = begin + 1; i < parts.size(); ++i) epochs.push_back(std::move(parts[i]));
  return epochs;
}

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
  epochs->front().insert(epochs->front().begin(), beside.begin(), beside.end());
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
  // What stands in the rest as well was looked through before.
  for (const std::string& name : beginning) {
    if (files.contains(name)) return {};
  }
  const std::size_t epochs = files.empty() || count % files.size() != 0 ? 0 : count / files.size();
  if (epochs < 2 || !PartsAreWhole(rest, epochs)) return {};
  std::map<std::int32_t, std::vector<Names>> parts;
  for (const auto& [rank, names] : rest) {
    const auto share = static_cast<std::ptrdiff_t>(names.size() / epochs);
    for (std::ptrdiff_t e = 0; e < static_cast<std::ptrdiff_t>(epochs); ++e) {
      Names part = e == 0 ? beginning : Names();
      part.insert(part.end(), names.begin() + e * share, names.begin() + (e + 1) * share);
      parts[rank].push_back(std::move(part));
    }
  }
  return parts;
}

std::vector<std::vector<const ProcessOpens*>> Generations(const std::vector<ProcessOpens>& processes) {
  std::vector<const ProcessOpens*> ordered;
  for (const ProcessOpens& process : processes) ordered.push_back(&process);
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const ProcessOpens* a, const ProcessOpens* b) { return a->first_ns < b->first_ns; });
  std::vector<std::vector<const ProcessOpens*>> generations;
  std::int64_t first = 0, last = 0;
  for (const ProcessOpens* process : ordered) {
    // Of another clock (a container's, a machine that slept) births say nothing: the order of the opens does.
    const bool known = process->born_ns <= process->first_ns;
    const bool born_later = !known || (process->born_ns > first && process->born_ns + kTickNs > last);
    if (generations.empty() || (process->first_ns > last && born_later)) {
      generations.emplace_back();
      first = process->first_ns;
    }
    generations.back().push_back(process);
    last = std::max(last, process->last_ns);
  }
  // Within a generation by birth, as on the other side.
  for (auto& generation : generations) std::sort(generation.begin(), generation.end());
  return generations;
}

std::optional<std::vector<Names>> EpochsOfRank(const std::vector<ProcessOpens>& processes) {
  if (processes.empty()) return std::nullopt;
  if (processes.size() == 1) {
    if (auto epochs = SplitBehindStart(processes[0].names)) return epochs;
    return SplitRepeats(processes[0].names);
  }
  std::vector<Names> parts;
  for (const auto& generation : Generations(processes)) {
    auto own = PartsOfGeneration(generation);
    if (!own) return std::nullopt;
    for (Names& part : *own) parts.push_back(std::move(part));
  }
  return JoinParts(std::move(parts));
}

bool ShareFilesSideBySide(const std::vector<ProcessOpens>& processes) {
  for (const auto& generation : Generations(processes)) {
    NameViews seen, shared;
    bool beside = true;
    for (const ProcessOpens* process : generation) {
      for (absl::string_view name : SetOf(process->names)) {
        if (seen.insert(name).second) continue;
        shared.insert(name);
        beside = beside && IsBeside(name);
      }
    }
    if (!shared.empty() && !(beside && shared.size() * kFilesBesideOne <= seen.size())) return true;
  }
  return false;
}

namespace {

// Behind as many full passes over its files as a list begins with.
Names BehindFullPasses(const Names& names) {
  const std::size_t distinct = SetOf(names).size();
  std::size_t begin = 0;
  while (distinct > 0 && begin + distinct <= names.size()) {
    const auto from = names.begin() + static_cast<std::ptrdiff_t>(begin);
    if (NameViews(from, from + static_cast<std::ptrdiff_t>(distinct)).size() != distinct) break;
    begin += distinct;
  }
  return Names(names.begin() + static_cast<std::ptrdiff_t>(begin), names.end());
}

bool MayBeginWithScan(const Names& names, std::size_t all) {
  if (SetOf(names).size() != all) return false;
  const Names rest = BehindFullPasses(names);
  return !rest.empty() && rest.size() < names.size() && SetOf(rest).size() < all;
}

struct BehindScan {
  std::set<std::int32_t> scanned;  // ranks that may have looked through all files first
  ByRank rest;
  std::size_t all = 0, left = 0;  // distinct files that were opened, and of what is left
  bool disjoint = false;          // no two ranks share a file of what is left
};

BehindScan LookBehindScan(const ByRank& opens) {
  BehindScan out;
  NameViews all, left;
  for (const auto& [rank, names] : opens) all.insert(names.begin(), names.end());
  if (opens.size() < 2 || all.size() < 2) return out;
  std::size_t count = 0;
  for (const auto& [rank, names] : opens) {
    const bool scan = MayBeginWithScan(names, all.size());
    if (scan) out.scanned.insert(rank);
    out.rest[rank] = scan ? BehindFullPasses(names) : names;
  }
  for (const auto& [rank, names] : out.rest) {
    const NameViews own = SetOf(names);
    count += own.size();
    left.insert(own.begin(), own.end());
  }
  out.all = all.size();
  out.left = left.size();
  out.disjoint = count == left.size();
  return out;
}

}  // namespace

std::set<std::int32_t> MayHaveScanned(const ByRank& opens) {
  const BehindScan behind = LookBehindScan(opens);
  return behind.disjoint ? behind.scanned : std::set<std::int32_t>();
}

std::map<std::int32_t, std::vector<Names>> SplitBehindScan(const ByRank& opens) {
  const BehindScan behind = LookBehindScan(opens);
  if (behind.scanned.empty() || behind.left != behind.all) return {};
  if (!behind.disjoint) return SplitTogether(behind.rest);
  std::map<std::int32_t, std::vector<Names>> epochs;
  for (const auto& [rank, names] : behind.rest) {
    auto own = SplitRepeats(names);
    if (!own) return {};
    epochs[rank] = *std::move(own);
  }
  return epochs;
}

std::map<std::int32_t, std::vector<Names>> SplitByIterators(
    const std::map<std::int32_t, std::vector<ProcessOpens>>& processes) {
  std::map<std::int32_t, std::vector<Names>> epochs;
  for (const auto& [rank, own] : processes) {
    for (const auto& generation : Generations(own)) {
      Names& part = epochs[rank].emplace_back();
      for (const ProcessOpens* process : generation) Append(process->names, part);
    }
  }
  if (epochs.size() < 2) return {};
  const std::size_t count = epochs.begin()->second.size();
  if (count < 2) return {};
  NameViews first;
  for (std::size_t e = 0; e < count; ++e) {
    NameViews seen;
    for (const auto& [rank, parts] : epochs) {
      if (parts.size() != count) return {};
      for (const std::string& name : parts[e]) {
        if (!seen.insert(name).second || (e > 0 && !first.contains(name))) return {};
      }
    }
    if (e == 0) first = seen;
    if (seen.size() != first.size() && e + 1 < count) return {};
  }
  return epochs;
}

}  // namespace paritect
