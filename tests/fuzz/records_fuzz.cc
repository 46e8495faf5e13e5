// Data files whose records are counted: every form, whole and as what gzip holds.
#include "formats/datasets/record_count.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paritect;  // NOLINT(google-build-using-namespace)
  const absl::string_view bytes = FuzzInput(data, size);
  for (const char* path : {"a.idx", "b.csv", "c.jsonl", "d.tar.gz"}) {
    v1::FileEntry entry;
    entry.set_path(path);
    entry.set_size_bytes(bytes.size());
    const auto read = [&](std::uint64_t offset, absl::Span<char> buffer) -> absl::StatusOr<std::size_t> {
      if (offset >= bytes.size()) return std::size_t{0};
      return bytes.copy(buffer.data(), buffer.size(), offset);
    };
    const std::uint64_t used = CountRecords(read, nullptr, {.bytes_max = 1 << 20}, entry);
    FuzzCheck(used <= (1 << 20), "the budget is kept");
    const v1::RecordLook& look = entry.record_look();
    FuzzCheck(!look.whole() || (!look.has_damage() && !look.has_not_looked()), "whole is whole");
    FuzzCheck(!look.format().empty() || !entry.has_records(), "no records without a form");
  }
  return 0;
}
