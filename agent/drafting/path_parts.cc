#include "agent/drafting/path_parts.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/glob.h"
#include "rules/evaluation_words.h"
#include "rules/folder_words.h"

namespace paritect {
namespace {

const std::vector<std::string>& EpochWords() {
  static const auto* const words = new std::vector<std::string>{"epoch"};
  return *words;
}

// A further place of evidence, a rank or a node; "seed1_output" is a run all the same.
bool IsPartOfRun(absl::string_view name) {
  const FolderWords& words = BuiltInFolderWords();
  if (NumberBehind(name, words.runs)) return false;
  return HasWord(name, words.evidence) || HasWord(name, words.train_splits) || NamesEvaluationSet(name) ||
         NumberBehind(name, words.ranks) || NumberBehind(name, words.nodes) || NumberBehind(name, words.steps);
}

}  // namespace

RankedPath RankedPathOf(const std::string& path) {
  const FolderWords& words = BuiltInFolderWords();
  RankedPath out = {path, std::nullopt};
  if (IsPathPattern(path)) return out;
  std::string pattern;
  bool agree = true;
  for (absl::string_view part : absl::StrSplit(path, '/')) {
    std::string name(part);
    if (const auto rank = NumberBehind(name, words.ranks)) {
      agree = agree && (!out.rank || *out.rank == rank->number);
      out.rank = rank->number;
      name.replace(rank->begin, rank->end - rank->begin, "{rank}");
    }
    if (const auto epoch = NumberBehind(name, EpochWords())) {
      name.replace(epoch->begin, epoch->end - epoch->begin, "{epoch}");
    }
    absl::StrAppend(&pattern, pattern.empty() ? "" : "/", name);
  }
  if (!out.rank || !agree) return {path, std::nullopt};
  out.pattern = pattern;
  return out;
}

std::optional<std::int64_t> StepOf(absl::string_view path) {
  const FolderWords& words = BuiltInFolderWords();
  std::optional<std::int64_t> step;
  for (absl::string_view part : absl::StrSplit(path, '/')) {
    if (const auto number = NumberBehind(part, words.steps)) step = number->number;
    if (!step && (HasWord(part, words.initial) || HasWord(part, words.pretrained))) step = 0;
  }
  return step;
}

std::string RecordersRunOf(absl::string_view path) {
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
  const std::vector<std::string>& recorders = BuiltInFolderWords().recorders;
  std::size_t end = 0;
  for (std::size_t i = 0; i + 2 < parts.size(); ++i) {
    end += parts[i].size() + 1;
    if (std::find(recorders.begin(), recorders.end(), absl::AsciiStrToLower(parts[i])) == recorders.end()) continue;
    return std::string(path.substr(0, end + parts[i + 1].size()));
  }
  return "";
}

std::string NodeFolderOf(absl::string_view path) {
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    if (NumberBehind(parts[i], BuiltInFolderWords().nodes)) return std::string(parts[i]);
  }
  return "";
}

bool StandsBelow(absl::string_view path, absl::string_view folder) {
  return folder.empty() || (absl::StartsWith(path, folder) && path.substr(folder.size(), 1) == "/");
}

std::string FolderOf(absl::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? "" : std::string(path.substr(0, slash));
}

std::vector<std::string> RunFolders(const std::vector<std::string>& curves) {
  std::vector<std::string> open = {""};
  while (!open.empty()) {
    const std::string folder = std::move(open.back());
    open.pop_back();
    std::set<std::string> below;
    std::vector<std::string> runs;
    for (const std::string& path : curves) {
      if (!StandsBelow(path, folder)) continue;
      const std::size_t begin = folder.empty() ? 0 : folder.size() + 1;
      const std::size_t end = path.find('/', begin);
      if (end == std::string::npos || !below.insert(path.substr(0, end)).second) continue;
      if (!IsPartOfRun(path.substr(begin, end - begin))) runs.push_back(path.substr(0, end));
    }
    if (runs.size() > 1) return runs;
    open.insert(open.end(), below.begin(), below.end());
  }
  return {};
}

bool LiesInARunsFolder(absl::string_view path) {
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
  return std::any_of(parts.begin(), parts.end() - 1, [](absl::string_view part) { return !IsPartOfRun(part); });
}

bool HoldOtherRanks(const std::vector<std::string>& folders, const std::vector<std::string>& paths) {
  std::set<std::int64_t> taken;
  for (const std::string& folder : folders) {
    std::set<std::int64_t> own;
    for (const std::string& path : paths) {
      if (!StandsBelow(path, folder)) continue;
      if (const RankedPath ranked = RankedPathOf(path.substr(folder.size() + 1)); ranked.rank) own.insert(*ranked.rank);
    }
    if (own.empty()) return false;
    for (const std::int64_t rank : own) {
      if (!taken.insert(rank).second) return false;
    }
  }
  return true;
}

}  // namespace paritect
