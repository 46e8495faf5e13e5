#include "formats/shards/shard_format.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace paritect {

#define PARITECT_SHARD_FORMAT(name) extern const ShardFormat k##name##ShardFormat;
#include "formats/shards/all_shard_formats.inc"
#undef PARITECT_SHARD_FORMAT

absl::Span<const ShardFormat* const> AllShardFormats() {
  static constexpr const ShardFormat* kAll[] = {
#define PARITECT_SHARD_FORMAT(name) &k##name##ShardFormat,
#include "formats/shards/all_shard_formats.inc"
#undef PARITECT_SHARD_FORMAT
  };
  return kAll;
}

absl::StatusOr<ShardLists> ReadShardFile(absl::string_view bytes) {
  if (absl::StartsWith(bytes, "\xef\xbb\xbf")) bytes.remove_prefix(3);
  if (absl::StartsWith(bytes, "version https://git-lfs.github.com/spec/")) {
    return absl::FailedPreconditionError("a Git LFS pointer");
  }
  if (absl::StartsWithIgnoreCase(bytes, "<!doctype html") || absl::StartsWithIgnoreCase(bytes, "<html")) {
    return absl::FailedPreconditionError("an HTML page");
  }
  for (const ShardFormat* format : AllShardFormats()) {
    if (format->sniff(bytes)) return format->read(bytes);
  }
  return absl::UnimplementedError("binary bytes, no list of names or numbers");
}

}  // namespace paritect
