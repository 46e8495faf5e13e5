// Lists of what each rank read.
#include "formats/shards/shard_format.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paritect;  // NOLINT(google-build-using-namespace)
  const absl::string_view bytes = FuzzInput(data, size);
  const auto lists = ReadShardFile(bytes);
  if (lists.ok()) FuzzCheck(!lists->empty(), "an empty file is one empty list");
  for (const ShardFormat* format : AllShardFormats()) {
    if (format->sniff(bytes)) (void)format->read(bytes);
  }
  return 0;
}
