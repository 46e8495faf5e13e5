// NumPy .npz: a ZIP archive of NAME.npy, stored or deflated. Source: numpy, lib/npyio.py (savez, savez_compressed).
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/weights/npy.h"
#include "formats/weights/strided.h"
#include "formats/weights/weights_format.h"
#include "formats/weights/zip_members.h"

namespace paritect {
namespace {

using absl::StrCat;

// The first bytes of an entry: enough of it is unpacked and the rest left.
absl::StatusOr<std::string> HeadOf(const ZipMembers& members, const ZipEntry& entry) {
  std::string head;
  const absl::Status read = members.Stream(entry, [&](absl::string_view block) {
    const absl::string_view part = block.substr(0, kNpyHeadBytesMax - head.size());
    head.append(part.data(), part.size());
    return head.size() < kNpyHeadBytesMax ? absl::OkStatus() : absl::CancelledError("enough");
  });
  if (!read.ok() && !absl::IsCancelled(read)) return read;
  return head;
}

// Elements of a deflated entry from its stream: nothing is kept.
ReadElements StreamElements(std::shared_ptr<const ZipMembers> members, const ZipEntry& entry, const NpyHeader& header) {
  return [members = std::move(members), entry, header](BlockSink sink) -> absl::Status {
    std::uint64_t skip = header.data_at;
    std::uint64_t left = header.info.bytes;
    std::string turned;
    const auto give =
        [&](absl::string_view block) {  // blocks of the archive end anywhere, the writer's with an element
          if (!header.swap) return sink(block);
          turned.assign(block.data(), block.size());
          SwapElements(header.info.dtype, absl::MakeSpan(turned.data(), turned.size()));
          return sink(turned);
        };
    BlockWriter writer(give);
    PARITECT_RETURN_IF_ERROR(members->Stream(entry, [&](absl::string_view block) {
      const std::uint64_t drop = std::min<std::uint64_t>(skip, block.size());
      skip -= drop;
      block = block.substr(static_cast<std::size_t>(drop))
                  .substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left, block.size())));
      left -= block.size();
      return writer.Add(block);
    }));
    return writer.Finish();
  };
}

absl::Status AddDeflated(const std::shared_ptr<const ZipMembers>& members, const ZipEntry& entry,
                         absl::string_view name, StoredTensors& out) {
  PARITECT_ASSIGN_OR_RETURN(const std::string head, HeadOf(*members, entry));
  PARITECT_ASSIGN_OR_RETURN(NpyHeader header, ReadNpyHeader(head));
  if (entry.size < header.data_at || entry.size - header.data_at < header.info.bytes) {
    return absl::DataLossError(StrCat("the shape takes ", header.info.bytes, " bytes, the entry has ", entry.size));
  }
  const bool turned = header.fortran_order && header.info.shape.size() > 1;
  if (turned) {  // needs to be read here and there
    PARITECT_ASSIGN_OR_RETURN(const SharedBytes bytes, members->Bytes(entry));
    return AddNpy(bytes, name, out);
  }
  header.info.name = std::string(name);
  return out.Add(header.info, StreamElements(members, entry, header));
}

bool Sniff(const WeightsSample& sample) {
  if (sample.is_folder) return false;
  const std::vector<std::string> names = ZipNamesInHead(sample.head);
  return !names.empty() && absl::EndsWith(names[0], ".npy");
}

absl::StatusOr<std::unique_ptr<StoredTensors>> Open(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(const SharedBytes bytes, OpenRandomBytes(fs, path));
  PARITECT_ASSIGN_OR_RETURN(ZipMembers opened, ZipMembers::Open(bytes));
  const auto members = std::make_shared<const ZipMembers>(std::move(opened));
  auto out = std::make_unique<StoredTensors>("npz");
  for (const ZipEntry& entry : members->entries()) {
    const absl::string_view name = absl::StripSuffix(entry.name, ".npy");
    absl::Status added;
    if (entry.method == 0) {
      PARITECT_ASSIGN_OR_RETURN(const SharedBytes part, members->Bytes(entry));
      added = AddNpy(part, name, *out);
    } else {
      added = AddDeflated(members, entry, name, *out);
    }
    if (absl::IsUnimplemented(added)) {  // objects beside arrays
      TensorInfo info;
      info.name = std::string(name);
      info.dtype = DType::kBlocks;
      info.dtype_word = "unknown";
      added = out->AddUnreadable(std::move(info), added.message());
    }
    if (!added.ok()) return Annotate(added, DisplayBytes(entry.name));
  }
  return out;
}

}  // namespace

extern const WeightsFormat kNpzWeights;
const WeightsFormat kNpzWeights = {"npz", &Sniff, &Open};

}  // namespace paritect
