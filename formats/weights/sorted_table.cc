#include "formats/weights/sorted_table.h"

#include <snappy.h>

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/crc.h"
#include "common/little_endian.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr std::uint64_t kFooterBytes = 48;
constexpr std::uint64_t kMagic = 0xdb4775248b80fb57;
constexpr std::uint64_t kTrailerBytes = 5;  // type and checksum
constexpr std::uint64_t kBlockBytesMax = 16 << 20;
constexpr std::size_t kKeyBytesMax = 16 << 10;
constexpr std::uint64_t kBlocksMax = 1'000'000;

// Takes a varint off `text`.
std::optional<std::uint64_t> TakeVarint(absl::string_view& text) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64 && !text.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(text[0]);
    text.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

struct Handle {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

absl::StatusOr<Handle> TakeHandle(absl::string_view& text) {
  const auto offset = TakeVarint(text);
  const auto size = offset ? TakeVarint(text) : std::nullopt;
  if (!size) return absl::DataLossError("the place of a block is cut off");
  return Handle{*offset, *size};
}

absl::StatusOr<std::string> ReadBlock(RandomBytes& table, const Handle& handle) {
  if (handle.size > kBlockBytesMax) return absl::DataLossError(StrCat("a block of ", handle.size, " bytes"));
  PARITECT_ASSIGN_OR_RETURN(std::string block,
                            table.ReadText(handle.offset, handle.size + kTrailerBytes, kBlockBytesMax + kTrailerBytes));
  const auto stated = static_cast<std::uint32_t>(LittleEndian(block, block.size() - 4, 4));
  block.resize(block.size() - 4);
  if (MaskedCrc32c(block) != stated) {
    return absl::DataLossError(StrCat("the block at byte ", handle.offset, " has another checksum than it states"));
  }
  const char type = block.back();
  block.pop_back();
  if (type == 0) return block;
  if (type != 1) return absl::UnimplementedError(StrCat("a block compressed by method ", static_cast<int>(type)));
  std::size_t length = 0;
  if (!snappy::GetUncompressedLength(block.data(), block.size(), &length) || length > kBlockBytesMax) {
    return absl::DataLossError(StrCat("the block at byte ", handle.offset, " unpacks to too much, or to nothing"));
  }
  std::string plain(length, '\0');
  if (!snappy::RawUncompress(block.data(), block.size(), plain.data())) {
    return absl::DataLossError(StrCat("the block at byte ", handle.offset, " does not unpack"));
  }
  return plain;
}

// Entries {shared bytes with the key before, other bytes of the key, bytes of the value, key, value}, then u32 places
// of restarts and their count.
absl::Status ReadEntries(absl::string_view block,
                         absl::FunctionRef<absl::Status(absl::string_view key, absl::string_view value)> entry) {
  if (block.size() < 4) return absl::DataLossError("a block without its end");
  const std::uint64_t restarts = LittleEndian(block, block.size() - 4, 4);
  if (restarts > (block.size() - 4) / 4) return absl::DataLossError("a block of more restarts than bytes");
  block.remove_suffix(static_cast<std::size_t>(4 + 4 * restarts));
  std::string key;
  while (!block.empty()) {
    const auto shared = TakeVarint(block);
    const auto more = shared ? TakeVarint(block) : std::nullopt;
    const auto value_bytes = more ? TakeVarint(block) : std::nullopt;
    if (!value_bytes || *shared > key.size() || *more > block.size() || *value_bytes > block.size() - *more ||
        *shared + *more > kKeyBytesMax) {
      return absl::DataLossError("an entry that goes beyond its block");
    }
    key.resize(static_cast<std::size_t>(*shared));
    key.append(block.data(), static_cast<std::size_t>(*more));
    block.remove_prefix(static_cast<std::size_t>(*more));
    PARITECT_RETURN_IF_ERROR(entry(key, block.substr(0, static_cast<std::size_t>(*value_bytes))));
    block.remove_prefix(static_cast<std::size_t>(*value_bytes));
  }
  return absl::OkStatus();
}

}  // namespace

bool EndsAsSortedTable(absl::string_view tail) {
  return tail.size() >= 8 && LittleEndian(tail, tail.size() - 8, 8) == kMagic;
}

absl::Status ReadSortedTable(RandomBytes& table,
                             absl::FunctionRef<absl::Status(absl::string_view key, absl::string_view value)> entry) {
  if (table.size() < kFooterBytes) return absl::DataLossError(StrCat("a table of ", table.size(), " bytes"));
  PARITECT_ASSIGN_OR_RETURN(const std::string footer,
                            table.ReadText(table.size() - kFooterBytes, kFooterBytes, kFooterBytes));
  if (!EndsAsSortedTable(footer)) return absl::DataLossError("the table does not end as it should (file cut off?)");
  absl::string_view rest = footer;
  PARITECT_RETURN_IF_ERROR(TakeHandle(rest).status());  // of what this version has no use for
  PARITECT_ASSIGN_OR_RETURN(const Handle index, TakeHandle(rest));
  PARITECT_ASSIGN_OR_RETURN(const std::string blocks, ReadBlock(table, index));
  std::uint64_t count = 0;
  std::uint64_t end = 0;
  return ReadEntries(blocks, [&](absl::string_view, absl::string_view value) -> absl::Status {
    PARITECT_ASSIGN_OR_RETURN(const Handle handle, TakeHandle(value));
    // In order, so that one block cannot stand for many.
    if (++count > kBlocksMax || handle.offset < end) return absl::DataLossError("blocks that stand in no order");
    end = handle.offset + handle.size;
    PARITECT_ASSIGN_OR_RETURN(const std::string block, ReadBlock(table, handle));
    return ReadEntries(block, entry);
  });
}

}  // namespace paritect
