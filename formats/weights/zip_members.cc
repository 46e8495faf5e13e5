#include "formats/weights/zip_members.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

using absl::StrCat;

// Deflate reaches 1032 on one repeated byte; weights, also zeros with some others among them, stay far below.
constexpr std::uint64_t kHarmlessBytes = 64 << 20;
constexpr std::uint64_t kRatioMax = 400;

absl::Status CheckRatio(const ZipEntry& entry) {
  if (entry.size <= kHarmlessBytes || entry.size / std::max<std::uint64_t>(entry.packed_size, 1) <= kRatioMax) {
    return absl::OkStatus();
  }
  return absl::DataLossError(StrCat("the entry ", DisplayBytes(entry.name), " unpacks from ", entry.packed_size,
                                    " bytes to ", entry.size, " (a ZIP bomb? save the file uncompressed)"));
}

}  // namespace

RandomAccess AccessTo(const SharedBytes& bytes) {
  RandomAccess access;
  access.size_bytes = bytes->size();
  access.read_at = [bytes](std::uint64_t offset, absl::Span<char> buffer) -> absl::StatusOr<std::size_t> {
    const std::uint64_t left = offset < bytes->size() ? bytes->size() - offset : 0;
    const auto take = static_cast<std::size_t>(std::min<std::uint64_t>(left, buffer.size()));
    PARITECT_RETURN_IF_ERROR(bytes->Read(offset, buffer.subspan(0, take)));
    return take;
  };
  return access;
}

absl::StatusOr<ZipMembers> ZipMembers::Open(SharedBytes archive) {
  ZipMembers members;
  PARITECT_ASSIGN_OR_RETURN(members.entries_, ReadZipDirectory(AccessTo(archive)));
  members.archive_ = std::move(archive);
  for (std::size_t i = 0; i < members.entries_.size(); ++i) members.places_.emplace(members.entries_[i].name, i);
  return members;
}

const ZipEntry* ZipMembers::Find(const std::string& name) const {
  const auto place = places_.find(name);
  return place == places_.end() ? nullptr : &entries_[place->second];
}

absl::StatusOr<SharedBytes> ZipMembers::Bytes(const ZipEntry& entry) const {
  if (entry.method == 0) return PartOfBytes(archive_, entry.data_at, entry.size);
  if (entry.size > kUnpackedBytesMax) {
    return absl::ResourceExhaustedError(StrCat("the entry ", DisplayBytes(entry.name), " unpacks to ", entry.size,
                                               " bytes, at most ", kUnpackedBytesMax,
                                               " are taken into memory: save the file uncompressed"));
  }
  std::string content;
  content.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(entry.size, entry.packed_size * kRatioMax)));
  PARITECT_RETURN_IF_ERROR(Stream(entry, [&](absl::string_view block) {
    content.append(block.data(), block.size());
    return absl::OkStatus();
  }));
  return BytesInMemory(StrCat(archive_->name(), ":", entry.name), std::move(content));
}

absl::Status ZipMembers::Stream(const ZipEntry& entry, BlockSink sink) const {
  PARITECT_RETURN_IF_ERROR(CheckRatio(entry));
  PARITECT_ASSIGN_OR_RETURN(const ZipContent content, UnpackZipEntry(AccessTo(archive_), entry, sink));
  if (content == ZipContent::kWhole) return archive_->CheckUnchanged();
  return absl::DataLossError(StrCat("the entry ", DisplayBytes(entry.name),
                                    content == ZipContent::kOtherLength
                                        ? " has another length than the directory states"
                                        : " has another checksum than the directory states"));
}

}  // namespace paritect
