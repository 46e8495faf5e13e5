#include "agent/spool/spool_index.h"

#include <algorithm>

namespace paritect {
namespace {

constexpr std::uint64_t kBlockBytes = 4096;

// The entry whose key is the highest not above `key`; end() if there is none.
template <typename Map>
typename Map::const_iterator AtOrBefore(const Map& map, std::uint64_t key) {
  auto it = map.upper_bound(key);
  return it == map.begin() ? map.end() : std::prev(it);
}

}  // namespace

std::uint64_t SpoolIndex::DiskBytes(std::uint64_t size) {
  return std::max(kBlockBytes, (size + kBlockBytes - 1) / kBlockBytes * kBlockBytes);
}

void SpoolIndex::Put(const Segment& segment) {
  Erase(segment.record_class, segment.first);
  const int of = static_cast<int>(segment.record_class);
  bytes_[of] += DiskBytes(segment.end);
  if (segment.dropped.has_value()) drops_[segment.first] = *segment.dropped;
  maps_[of].emplace(segment.first, segment);
}

void SpoolIndex::Erase(RecordClass record_class, std::uint64_t first) {
  const int of = static_cast<int>(record_class);
  const auto it = maps_[of].find(first);
  if (it == maps_[of].end()) return;
  bytes_[of] -= DiskBytes(it->second.end);
  if (it->second.dropped.has_value()) drops_.erase(first);
  maps_[of].erase(it);
}

const Segment* SpoolIndex::Find(RecordClass record_class, std::uint64_t first) const {
  const auto it = Of(record_class).find(first);
  return it == Of(record_class).end() ? nullptr : &it->second;
}

const Segment* SpoolIndex::Holding(RecordClass record_class, std::uint64_t sequence) const {
  const Map& map = Of(record_class);
  auto it = AtOrBefore(map, sequence);
  if (it == map.end()) it = map.begin();
  // A segment is followed by higher numbers only, so at most one is passed over unless some were dropped.
  while (it != map.end() && (it->second.dropped.has_value() || it->second.last < sequence)) ++it;
  return it == map.end() ? nullptr : &it->second;
}

const Segment* SpoolIndex::Behind(RecordClass record_class, std::uint64_t first) const {
  const Map& map = Of(record_class);
  auto it = map.upper_bound(first);
  while (it != map.end() && it->second.dropped.has_value()) ++it;
  return it == map.end() ? nullptr : &it->second;
}

void SpoolIndex::AddSkip(const NumberRange& range) {
  if (range.from == 0) return;
  NumberRange joined = range;
  // Ranges may overlap: a segment that was begun and left empty tells the same numbers as its successor.
  auto it = AtOrBefore(skips_, joined.from);
  if (it == skips_.end() || it->second.to < joined.from) it = skips_.upper_bound(joined.from);
  while (it != skips_.end() && it->second.from <= joined.to) {
    joined.from = std::min(joined.from, it->second.from);
    joined.to = std::max(joined.to, it->second.to);
    it = skips_.erase(it);
  }
  skips_[joined.from] = joined;
}

bool SpoolIndex::IsSkipped(std::uint64_t sequence) const {
  const auto it = AtOrBefore(skips_, sequence);
  return it != skips_.end() && sequence <= it->second.to;
}

void SpoolIndex::ForgetSkipsUpTo(std::uint64_t sequence) {
  while (!skips_.empty() && skips_.begin()->second.to <= sequence) skips_.erase(skips_.begin());
}

std::vector<NumberRange> SpoolIndex::Explain(std::uint64_t from, std::uint64_t to) const {
  std::vector<NumberRange> ranges;
  while (from <= to) {
    NumberRange piece = {from, to, GapReason::kDamaged};
    const auto skip = AtOrBefore(skips_, from);
    const auto next_skip = skips_.upper_bound(from);
    if (next_skip != skips_.end()) piece.to = std::min(piece.to, next_skip->first - 1);
    if (skip != skips_.end() && from <= skip->second.to) {
      piece.to = std::min(piece.to, skip->second.to);
      piece.reason = skip->second.reason;
    } else if (const auto drop = AtOrBefore(drops_, from); drop != drops_.end() && from <= drop->second.to) {
      piece.to = std::min(piece.to, drop->second.to);
      piece.reason = drop->second.reason;
    } else if (const auto next_drop = drops_.upper_bound(from); next_drop != drops_.end()) {
      piece.to = std::min(piece.to, next_drop->first - 1);
    }
    from = piece.to + 1;
    const bool joins = !ranges.empty() && ranges.back().reason == piece.reason;
    if (joins) {
      ranges.back().to = piece.to;
    } else {
      ranges.push_back(piece);
    }
  }
  return ranges;
}

}  // namespace paritect
