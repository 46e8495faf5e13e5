// safetensors: u64 length of the header, JSON header {name: {dtype, shape, data_offsets: [begin, end]}}, data; with
// what MindSpore writes into __metadata__ (crc_num, remove_redundancy). Refused: a header that does not begin with '{',
// duplicate keys, unknown types, offsets that overlap, leave holes or do not end with the file. Source:
// huggingface/safetensors, safetensors/src/tensor.rs; mindspore, serialization.py.
#include "formats/weights/safetensors.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/crc.h"
#include "common/document.h"
#include "common/little_endian.h"
#include "common/numbers.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/weights/weights_format.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr std::uint64_t kHeaderBytesMax = 100'000'000;  // of the format
constexpr std::uint64_t kHeaderBytesRead = 64 << 20;    // what is taken into memory
constexpr std::size_t kHeaderNodesMax = 1'000'000;
constexpr int kHeaderDepthMax = 4;

struct Entry {
  TensorInfo info;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

absl::Status Damaged(absl::string_view name, absl::string_view why) {
  return absl::DataLossError(StrCat("tensor ", DisplayBytes(name), ": ", why));
}

absl::StatusOr<std::uint64_t> Unsigned(const DocumentNode& node, absl::string_view name, absl::string_view what) {
  const auto value = node.is_scalar() && !node.quoted ? ParseInt(node.text) : std::nullopt;
  if (!value || *value < 0 || absl::StartsWith(node.text, "+")) {
    return Damaged(name, StrCat(what, " that is no count: ", DisplayBytes(node.text.substr(0, 32))));
  }
  return static_cast<std::uint64_t>(*value);
}

absl::StatusOr<Entry> ReadEntry(const std::string& name, const DocumentNode& node) {
  const DocumentNode* dtype = node.Find("dtype");
  const DocumentNode* shape = node.Find("shape");
  const DocumentNode* offsets = node.Find("data_offsets");
  if (!node.is_map() || dtype == nullptr || shape == nullptr || offsets == nullptr || !dtype->quoted ||
      !shape->is_list() || !offsets->is_list() || offsets->items.size() != 2) {
    return Damaged(name, "dtype, shape and two data_offsets are wanted");
  }
  Entry entry;
  entry.info.name = name;
  const auto type = DTypeOfWord(dtype->text);
  if (!type)
    return absl::UnimplementedError(StrCat("tensor ", DisplayBytes(name), ": the type \"",
                                           DisplayBytes(dtype->text.substr(0, 32)), "\" is not known"));
  entry.info.dtype = *type;
  for (const DocumentNode& extent : shape->items) {
    PARITECT_ASSIGN_OR_RETURN(const std::uint64_t value, Unsigned(extent, name, "a dimension"));
    entry.info.shape.push_back(static_cast<std::int64_t>(value));
  }
  if (const absl::Status sized = SizeTensor(entry.info); !sized.ok()) return Damaged(name, sized.message());
  PARITECT_ASSIGN_OR_RETURN(entry.begin, Unsigned(offsets->items[0], name, "an offset"));
  PARITECT_ASSIGN_OR_RETURN(entry.end, Unsigned(offsets->items[1], name, "an offset"));
  if (entry.end < entry.begin || entry.end - entry.begin != entry.info.bytes) {
    return Damaged(name, StrCat("its shape takes ", entry.info.bytes, " bytes, its offsets are ", entry.begin, " and ",
                                entry.end));
  }
  return entry;
}

// What MindSpore states of the file.
struct MindsporeMarks {
  bool is_mindspore = false;
  bool removed_redundancy = false;
  std::optional<std::uint32_t> crc;
};

absl::Status ReadMetadata(const DocumentNode& node, StoredTensors& out, MindsporeMarks& marks) {
  if (!node.is_map()) return absl::DataLossError("__metadata__ is no object");
  for (const auto& [key, value] : node.fields) {
    if (!value.is_scalar() || !value.quoted) {
      return absl::DataLossError(StrCat("__metadata__.", DisplayBytes(key.text), " is no text"));
    }
    out.AddFact(StrCat("__metadata__.", key.text), TextValue(value.text));
    if (key.text == "format") marks.is_mindspore = value.text == "ms";
    if (key.text == "remove_redundancy") marks.removed_redundancy = value.text == "True";
    if (key.text == "crc_num") {
      const auto crc = ParseInt(value.text);
      if (!crc || *crc < 0 || *crc > UINT32_MAX) return absl::DataLossError("__metadata__.crc_num is no CRC-32");
      marks.crc = static_cast<std::uint32_t>(*crc);
    }
  }
  return absl::OkStatus();
}

// Offsets begin at 0 and leave neither holes nor overlaps; the file ends with the last.
absl::Status CheckLayout(std::vector<Entry>& entries, std::uint64_t data_bytes) {
  std::vector<const Entry*> order;
  for (const Entry& entry : entries) order.push_back(&entry);
  std::sort(order.begin(), order.end(),
            [](const Entry* a, const Entry* b) { return std::pair(a->begin, a->end) < std::pair(b->begin, b->end); });
  std::uint64_t at = 0;
  for (const Entry* entry : order) {
    if (entry->begin != at) {
      return Damaged(entry->info.name, StrCat("begins at ", entry->begin, " where the one before it ends at ", at,
                                              entry->begin < at ? " (they overlap)" : " (a hole)"));
    }
    at = entry->end;
  }
  if (at == data_bytes) return absl::OkStatus();
  return absl::DataLossError(StrCat("the header tells of ", at, " bytes of data, the file has ", data_bytes,
                                    at > data_bytes ? " (file cut off?)" : ""));
}

// MindSpore's checksum runs over name and bytes of each tensor, by name.
absl::Status CheckMindsporeCrc(const SharedBytes& bytes, std::uint64_t data_at, const std::vector<Entry>& entries,
                               std::uint32_t wanted) {
  std::vector<const Entry*> order;
  for (const Entry& entry : entries) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const Entry* a, const Entry* b) { return a->info.name < b->info.name; });
  std::uint32_t crc = 0;
  const auto add = [&](absl::string_view block) {
    crc = Crc32(crc, block);
    return absl::OkStatus();
  };
  for (const Entry* entry : order) {
    PARITECT_RETURN_IF_ERROR(add(entry->info.name));
    PARITECT_RETURN_IF_ERROR(ReadPiece({bytes, data_at + entry->begin, entry->info.bytes}, add));
  }
  if (crc == wanted) return absl::OkStatus();
  return absl::DataLossError(StrCat("the checksum of the data is ", crc, ", the header states ", wanted,
                                    " (the file is damaged: copy or save it again)"));
}

absl::StatusOr<DocumentNode> ReadHeader(const SharedBytes& bytes, std::uint64_t& data_at) {
  if (bytes->size() < 8)
    return absl::DataLossError(StrCat("8 bytes of length are wanted, the file has ", bytes->size()));
  PARITECT_ASSIGN_OR_RETURN(const std::string raw_length, bytes->ReadText(0, 8, 8));
  const std::uint64_t length = LittleEndian(raw_length, 0, 8);
  if (length > kHeaderBytesMax) {
    return absl::DataLossError(StrCat("a header of ", length, " bytes is stated, the format allows ", kHeaderBytesMax));
  }
  PARITECT_ASSIGN_OR_RETURN(const std::string header, bytes->ReadText(8, length, kHeaderBytesRead));
  if (!absl::StartsWith(header, "{")) return absl::DataLossError("the header does not begin with '{'");
  data_at = 8 + length;
  DocumentLimits limits;
  limits.bytes_max = kHeaderBytesRead;
  limits.nodes_max = kHeaderNodesMax;
  limits.depth_max = kHeaderDepthMax;
  auto document = ParseJson(header, limits);
  if (!document.ok()) return absl::DataLossError(StrCat("header, line ", document.status().message()));
  return document;
}

bool Sniff(const WeightsSample& sample) {
  return !sample.is_folder && LooksLikeSafetensors(sample.head, sample.size_bytes);
}

absl::StatusOr<std::unique_ptr<StoredTensors>> Open(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(const SharedBytes bytes, OpenRandomBytes(fs, path));
  return ReadSafetensors(bytes);
}

}  // namespace

bool LooksLikeSafetensors(absl::string_view head, std::uint64_t size_bytes) {
  if (head.size() < 9) return false;
  // A length that a file can have leaves the upper bytes zero; JSON follows, or what stands in its place.
  const std::uint64_t length = LittleEndian(head, 0, 8);
  const absl::string_view text = head.substr(8);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = first != absl::string_view::npos && text[first] == '{';
  return json && (length <= kHeaderBytesMax || length > size_bytes);
}

absl::StatusOr<std::unique_ptr<StoredTensors>> ReadSafetensors(const SharedBytes& bytes) {
  std::uint64_t data_at = 0;
  PARITECT_ASSIGN_OR_RETURN(const DocumentNode header, ReadHeader(bytes, data_at));
  auto out = std::make_unique<StoredTensors>("safetensors");
  MindsporeMarks marks;
  std::vector<Entry> entries;
  for (const auto& [key, value] : header.fields) {
    if (key.text == "__metadata__") {
      PARITECT_RETURN_IF_ERROR(ReadMetadata(value, *out, marks));
      continue;
    }
    PARITECT_ASSIGN_OR_RETURN(Entry entry, ReadEntry(key.text, value));
    entries.push_back(std::move(entry));
  }
  PARITECT_RETURN_IF_ERROR(CheckLayout(entries, bytes->size() - data_at));
  if (marks.crc && marks.is_mindspore) {
    PARITECT_RETURN_IF_ERROR(CheckMindsporeCrc(bytes, data_at, entries, *marks.crc));
  }
  out->mutable_about().set_removed_redundancy(marks.removed_redundancy);
  for (Entry& entry : entries) {
    const BytePiece piece = {bytes, data_at + entry.begin, entry.info.bytes};
    PARITECT_RETURN_IF_ERROR(out->AddPieces(std::move(entry.info), {piece}));
  }
  return out;
}

extern const WeightsFormat kSafetensorsWeights;
const WeightsFormat kSafetensorsWeights = {"safetensors", &Sniff, &Open};

}  // namespace paritect
