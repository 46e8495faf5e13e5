// Lists of what each rank read, in the forms in which people record them. Bytes in, ShardLists out.
//
//   plain list     one path or one sample number a line (LF, CRLF or NUL between them)
//   JSON           {"rank","world_size","files"} a line, an array of such, an array of names, {"0": [...], ...}
//   printed lists  log lines that hold a list: "rank 3 files: ['a', 'b']", "step=7 rank=0 world=8 idx=[4, 5]"
//
// A list comes back as written: paths are bytes, data roots are stripped when lists are compared.
#ifndef PARITECT_FORMATS_SHARDS_SHARD_FORMAT_H_
#define PARITECT_FORMATS_SHARDS_SHARD_FORMAT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "paritect/v1/shards.pb.h"

namespace paritect {

inline constexpr std::size_t kShardItemsMax = 50'000'000;  // in one file

using ShardLists = std::vector<v1::ShardList>;

struct ShardFormat {
  absl::string_view name;
  bool (*sniff)(absl::string_view bytes);
  absl::StatusOr<ShardLists> (*read)(absl::string_view bytes);
};

absl::Span<const ShardFormat* const> AllShardFormats();

// One file. Lists carry what the file itself states (rank, world size, epoch, segment), never its name.
// An empty file is one empty list. Unimplemented: no list in it (says what was seen); FailedPrecondition:
// a stand-in (Git LFS pointer, HTML page); ResourceExhausted: above kShardItemsMax.
absl::StatusOr<ShardLists> ReadShardFile(absl::string_view bytes);

}  // namespace paritect

#endif  // PARITECT_FORMATS_SHARDS_SHARD_FORMAT_H_
