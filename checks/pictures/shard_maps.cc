// Rank x file of both sides, what differs first.
#include "checks/pictures/pictures.h"
#include "checks/shards/shard_picture.h"
#include "common/utf8.h"

namespace paritect {
namespace {

template <typename Ranks>
void AddRanks(absl::Span<const std::int32_t> readers, std::size_t max, Ranks& ranks) {
  for (const std::int32_t rank : readers.subspan(0, max)) ranks.Add(rank);
}

void Fill(const ShardPicture& picture, const PictureBounds& bounds, v1::ShardMap& out) {
  out.set_dataset(DisplayBytes(picture.dataset));
  if (picture.epoch.has_value()) out.set_epoch(*picture.epoch);
  out.set_baseline_ranks(picture.ranks[0]);
  out.set_migrated_ranks(picture.ranks[1]);
  out.set_rows_total(static_cast<std::int64_t>(picture.rows.size()));
  for (const auto& [mark, count] : picture.counts) {
    (*out.mutable_counts())[std::string(ShardMarkWord(mark))] = static_cast<std::int64_t>(count);
  }
  for (const bool differing : {true, false}) {
    for (const ShardPicture::Row& row : picture.rows) {
      const bool differs = row.differs || row.mark == ShardMark::kTwice || row.mark == ShardMark::kUnread;
      if (differs != differing) continue;
      if (static_cast<std::size_t>(out.rows_size()) == bounds.shard_rows_max) return;
      v1::ShardMap::Row& drawn = *out.add_rows();
      drawn.set_file(DisplayBytes(picture.pair->names[row.item]));
      drawn.set_mark(std::string(ShardMarkWord(row.mark)));
      AddRanks(picture.sides[0].Of(row.item), bounds.readers_max, *drawn.mutable_baseline());
      AddRanks(picture.sides[1].Of(row.item), bounds.readers_max, *drawn.mutable_migrated());
    }
  }
}

}  // namespace

void AddShardMaps(const CheckContext& context, const PictureBounds& bounds, v1::ReportPictures& out) {
  for (const ShardPicture& picture : MakeShardPictures(PairShards(context))) {
    if (static_cast<std::size_t>(out.shards_size()) == bounds.shard_maps_max) return;
    Fill(picture, bounds, *out.add_shards());
  }
}

}  // namespace paritect
