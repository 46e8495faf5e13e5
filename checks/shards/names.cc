#include "checks/shards/names.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace paritect {
namespace {

constexpr int kFoldersGivenBackMax = 16;

absl::string_view WithoutDot(absl::string_view name) {
  while (absl::StartsWith(name, "./")) name.remove_prefix(2);
  return name;
}

// Length of "scheme://" at the beginning of an address; 0 for a path.
std::size_t SchemeBytes(absl::string_view name) {
  const std::size_t mark = name.find("://");
  if (mark == absl::string_view::npos || mark == 0) return 0;
  const bool scheme = std::all_of(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(mark), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '+' || c == '-';
  });
  return scheme ? mark + 3 : 0;
}

// Up to and with the last '/'.
absl::string_view FolderOf(absl::string_view name) {
  const std::size_t slash = name.rfind('/');
  return slash == absl::string_view::npos ? absl::string_view() : name.substr(0, slash + 1);
}

}  // namespace

bool IsPlainName(absl::string_view name) {
  name = WithoutDot(name.substr(SchemeBytes(name)));
  if (absl::StartsWith(name, "../")) return true;  // of an unknown folder
  for (std::size_t slash = name.find('/'); slash != absl::string_view::npos; slash = name.find('/', slash + 1)) {
    const absl::string_view rest = name.substr(slash + 1);
    if (absl::StartsWith(rest, "/") || absl::StartsWith(rest, "./") || absl::StartsWith(rest, "../")) return false;
  }
  return true;
}

std::string PlainName(absl::string_view name) {
  const std::size_t scheme = SchemeBytes(name);
  std::vector<absl::string_view> steps;
  for (absl::string_view step : absl::StrSplit(name.substr(scheme), '/')) {
    if (step.empty() || step == ".") continue;
    if (step == ".." && !steps.empty() && steps.back() != "..") {
      steps.pop_back();
    } else {
      steps.push_back(step);
    }
  }
  const bool absolute = scheme == 0 && absl::StartsWith(name, "/");
  return absl::StrCat(name.substr(0, scheme), absolute ? "/" : "", absl::StrJoin(steps, "/"));
}

void DataRoot::Add(absl::string_view name) {
  const absl::string_view folder = FolderOf(WithoutDot(name));
  if (!any_) {
    any_ = true;
    root_ = std::string(folder);
    return;
  }
  if (absl::StartsWith(folder, root_)) return;
  const std::size_t common = static_cast<std::size_t>(
      std::mismatch(root_.begin(), root_.begin() + static_cast<std::ptrdiff_t>(std::min(root_.size(), folder.size())),
                    folder.begin())
          .first -
      root_.begin());
  root_ = std::string(FolderOf(absl::string_view(root_).substr(0, common)));
}

absl::string_view DataRoot::RelativeWith(absl::string_view name, std::size_t root_bytes) const {
  return WithoutDot(name).substr(root_bytes);
}

absl::string_view DataRoot::Relative(absl::string_view name) const {
  return RelativeWith(name, root_.size());
}

std::size_t DataRoot::AlignTo(const absl::flat_hash_set<absl::string_view>& others,
                              absl::Span<const absl::string_view> sample) {
  std::size_t best = 0, best_bytes = root_.size(), bytes = root_.size();
  for (int given_back = 0; given_back <= kFoldersGivenBackMax; ++given_back) {
    std::size_t found = 0;
    for (absl::string_view name : sample) found += others.contains(RelativeWith(name, bytes)) ? 1 : 0;
    if (found > best) {
      best = found;
      best_bytes = bytes;
    }
    if (bytes == 0 || best == sample.size()) break;
    bytes = FolderOf(absl::string_view(root_).substr(0, bytes - 1)).size();
  }
  root_.resize(best_bytes);
  return best;
}

std::uint32_t NameInterner::Intern(absl::string_view name) {
  auto [it, added] = ids_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
  if (added) names_.push_back(name);
  return it->second;
}

}  // namespace paritect
