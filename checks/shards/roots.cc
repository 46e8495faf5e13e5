#include "checks/shards/roots.h"

#include <algorithm>
#include <set>

namespace paritect {
namespace {

constexpr std::size_t kSampleNames = 2000;

// Nine in ten of the names meet: other roots would not do better.
bool MostMeet(std::size_t found, std::size_t total) {
  return found * 10 >= total * 9;
}

}  // namespace

SideNames::SideNames(std::vector<const ShardRun*> runs) : runs_(std::move(runs)) {
  std::size_t total = 0;
  for (const ShardRun* run : runs_) {
    ForEachReader(*run, [&](const ShardReader& reader) { total += static_cast<std::size_t>(reader.names().size()); });
  }
  const std::size_t stride = std::max<std::size_t>(1, total / kSampleNames);
  std::size_t i = 0;
  std::set<Group> groups;
  for (const ShardRun* run : runs_) {
    ForEachReader(*run, [&](const ShardReader& reader) {
      bool spellings[2] = {false, false};
      for (const std::string& item : reader.names()) {
        spellings[!item.empty() && item[0] == '/' ? 1 : 0] = true;
        if (i++ % stride == 0) sample_.emplace_back(&reader, item);
      }
      for (const bool absolute : {false, true}) {
        if (spellings[absolute ? 1 : 0]) groups.insert({reader.node, absolute});
      }
    });
  }
  group_count_ = groups.size();
}

SideNames::Group SideNames::GroupOf(const ShardReader& reader, absl::string_view name) {
  return {reader.node, !name.empty() && name[0] == '/'};
}

void SideNames::UseCommonRoot() {
  groups_.clear();
  common_ = DataRoot();
  for (const ShardRun* run : runs_) {
    ForEachReader(*run, [&](const ShardReader& reader) {
      for (const std::string& item : reader.names()) common_.Add(item);
    });
  }
}

void SideNames::UseGroupRoots() {
  groups_.clear();
  for (const ShardRun* run : runs_) {
    ForEachReader(*run, [&](const ShardReader& reader) {
      DataRoot* roots[2] = {nullptr, nullptr};
      for (const std::string& item : reader.names()) {
        DataRoot*& root = roots[!item.empty() && item[0] == '/' ? 1 : 0];
        if (root == nullptr) root = &groups_[GroupOf(reader, item)];
        root->Add(item);
      }
    });
  }
}

absl::string_view SideNames::Relative(const ShardReader& reader, absl::string_view name) const {
  if (groups_.empty()) return common_.Relative(name);
  return groups_.at(GroupOf(reader, name)).Relative(name);
}

NameSet SideNames::RelativeNames() const {
  NameSet names;
  for (const ShardRun* run : runs_) {
    ForEachReader(*run, [&](const ShardReader& reader) {
      for (const std::string& item : reader.names()) names.insert(Relative(reader, item));
    });
  }
  return names;
}

std::size_t SideNames::AlignTo(const NameSet& others) {
  if (groups_.empty()) {
    std::vector<absl::string_view> names;
    for (const auto& [reader, name] : sample_) names.push_back(name);
    return common_.AlignTo(others, names);
  }
  std::map<Group, std::vector<absl::string_view>> names;
  for (const auto& [reader, name] : sample_) names[GroupOf(*reader, name)].push_back(name);
  std::size_t found = 0;
  for (auto& [group, some] : names) found += groups_.at(group).AlignTo(others, some);
  return found;
}

std::size_t SideNames::CountIn(const NameSet& others) const {
  return static_cast<std::size_t>(std::count_if(sample_.begin(), sample_.end(), [&](const auto& one) {
    return others.contains(Relative(*one.first, one.second));
  }));
}

namespace {

// The side whose roots are deeper gives folders back. How many names of the sample of `migrated` meet then.
std::size_t AlignOneToTheOther(SideNames& baseline, SideNames& migrated) {
  SideNames first = baseline, second = migrated;
  const std::size_t by_second = second.AlignTo(baseline.RelativeNames());
  if (MostMeet(by_second, second.sample_size())) {
    migrated = std::move(second);
    return by_second;
  }
  const NameSet theirs = migrated.RelativeNames();
  if (first.AlignTo(theirs) > by_second) {
    baseline = std::move(first);
    return migrated.CountIn(baseline.RelativeNames());
  }
  migrated = std::move(second);
  return by_second;
}

}  // namespace

void AlignSides(SideNames& baseline, SideNames& migrated) {
  const std::size_t found = AlignOneToTheOther(baseline, migrated);
  if (MostMeet(found, migrated.sample_size()) || (!baseline.has_groups() && !migrated.has_groups())) return;
  SideNames first = baseline, second = migrated;
  first.UseGroupRoots();
  second.UseGroupRoots();
  if (AlignOneToTheOther(first, second) <= found) return;
  baseline = std::move(first);
  migrated = std::move(second);
}

bool AlignToList(SideNames& side, const NameSet& list) {
  std::size_t found = side.AlignTo(list);
  if (!MostMeet(found, side.sample_size()) && side.has_groups()) {
    SideNames other = side;
    other.UseGroupRoots();
    const std::size_t by_groups = other.AlignTo(list);
    if (by_groups > found) side = std::move(other);
    found = std::max(found, by_groups);
  }
  return side.sample_size() == 0 || found * 2 >= side.sample_size();
}

}  // namespace paritect
