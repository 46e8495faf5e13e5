#include "checks/datasets/states.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "common/md5/md5_lanes.h"

namespace paritect {
namespace {

struct SavedStates {
  std::uint64_t block = 0;
  absl::string_view states;

  std::uint64_t count() const { return states.size() / kMd5Bytes; }
  // After `bytes`, a multiple of the block.
  absl::string_view At(std::uint64_t bytes) const { return states.substr((bytes / block - 1) * kMd5Bytes, kMd5Bytes); }
  bool Has(std::uint64_t bytes) const { return bytes > 0 && bytes % block == 0 && bytes / block <= count(); }
};

std::optional<SavedStates> StatesOf(const DatasetView& view, const NamedFile& file) {
  if (file.origin < 0 || static_cast<std::size_t>(file.origin) >= view.origins.size()) return std::nullopt;
  const auto& all = view.origins[static_cast<std::size_t>(file.origin)].list->states();
  const std::string& path = file.entry->path();
  const auto found = std::lower_bound(all.begin(), all.end(), path,
                                      [](const v1::FileStates& one, const std::string& p) { return one.path() < p; });
  if (found == all.end() || found->path() != path) return std::nullopt;
  // What a node states may be anything.
  const std::uint64_t block = found->block_bytes();
  if (block < kMd5BlockBytes || block % kMd5BlockBytes != 0 || found->states().size() % kMd5Bytes != 0) {
    return std::nullopt;
  }
  return SavedStates{block, found->states()};
}

// The digest of a message that ends where this state was saved.
std::string DigestAt(absl::string_view state, std::uint64_t bytes) {
  Md5Lane lane;
  for (std::size_t i = 0; i < 4; ++i) {
    lane.state.words[i] = 0;
    for (std::size_t b = 4; b > 0; --b) {
      lane.state.words[i] = lane.state.words[i] << 8 | static_cast<unsigned char>(state[i * 4 + b - 1]);
    }
  }
  unsigned char block[2 * kMd5BlockBytes] = {};
  const std::size_t blocks = Md5Pad(block, bytes);
  lane.data = block;
  Md5RunScalar(lane, blocks);
  unsigned char digest[kMd5Bytes];
  Md5Digest(lane.state, digest);
  return std::string(reinterpret_cast<const char*>(digest), sizeof(digest));
}

}  // namespace

std::optional<StatesVerdict> CompareStates(const DatasetView& baseline_view, const NamedFile& baseline,
                                           const DatasetView& migrated_view, const NamedFile& migrated) {
  const auto b = StatesOf(baseline_view, baseline);
  const auto m = StatesOf(migrated_view, migrated);
  if (!baseline.entry->has_size_bytes() || !migrated.entry->has_size_bytes()) return std::nullopt;
  const bool migrated_shorter = migrated.entry->size_bytes() < baseline.entry->size_bytes();
  const std::uint64_t common = std::min(baseline.entry->size_bytes(), migrated.entry->size_bytes());
  const auto& longer = migrated_shorter ? b : m;
  const v1::FileEntry& shorter = migrated_shorter ? *migrated.entry : *baseline.entry;
  StatesVerdict verdict;
  verdict.differs_by = common;
  if (baseline.entry->size_bytes() != migrated.entry->size_bytes() && longer && longer->Has(common) &&
      DigestAt(longer->At(common), common) == shorter.md5()) {
    verdict.equal_until = common;
    verdict.prefix = true;
    return verdict;
  }
  if (!b || !m) return std::nullopt;
  const std::uint64_t step = std::max(b->block, m->block);
  if (step % b->block != 0 || step % m->block != 0) return std::nullopt;
  // Once unequal they stay so: the first unequal one is found by halving.
  std::uint64_t low = 0;
  std::uint64_t high = std::min({b->count() * b->block / step, m->count() * m->block / step, common / step});
  if (high == 0) return std::nullopt;
  if (b->At(high * step) != m->At(high * step)) {
    while (high - low > 1) {
      const std::uint64_t middle = low + (high - low) / 2;
      (b->At(middle * step) == m->At(middle * step) ? low : high) = middle;
    }
    verdict.differs_by = high * step;
    verdict.equal_until = low * step;
    return verdict;
  }
  verdict.equal_until = high * step;
  return verdict;
}

}  // namespace paritect
