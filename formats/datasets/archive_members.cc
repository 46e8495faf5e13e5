#include "formats/datasets/archive_members.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/digest.h"
#include "common/status_macros.h"
#include "formats/archives/gzip.h"
#include "formats/archives/tar.h"
#include "formats/archives/zip.h"

namespace paritect {
namespace {

using absl::string_view;

constexpr std::size_t kMembersMax = 5'000'000;

absl::StatusOr<std::vector<std::string>> ListTar(string_view bytes) {
  TarReader tar([bytes](std::uint64_t offset, std::size_t n) -> absl::StatusOr<string_view> {
    return offset >= bytes.size() ? "" : bytes.substr(static_cast<std::size_t>(offset), n);
  });
  std::vector<std::string> members;
  TarMember member;
  for (;;) {
    PARITECT_ASSIGN_OR_RETURN(const TarReader::Found found, tar.Next(member));
    if (found == TarReader::Found::kEnd) return members;
    if (found != TarReader::Found::kMember) return absl::DataLossError("tar: cut, damaged or without its end mark");
    if (members.size() >= kMembersMax) return absl::ResourceExhaustedError("tar: too many members");
    const string_view data =
        bytes.substr(static_cast<std::size_t>(member.data_at), static_cast<std::size_t>(member.data_bytes));
    members.push_back(absl::StrCat(absl::CEscape(member.name), "\t", member.size, "\t", ToHex(Md5(data)), "\t",
                                   member.has_target ? "link" : ""));
  }
}

absl::StatusOr<std::vector<std::string>> ListZip(string_view bytes) {
  PARITECT_ASSIGN_OR_RETURN(ZipDirectory directory, ZipDirectory::Find(AccessTo(bytes)));
  std::vector<std::string> members;
  for (;;) {
    PARITECT_ASSIGN_OR_RETURN(const std::optional<ZipEntry> entry, directory.Next());
    if (!entry) break;
    if (members.size() >= kMembersMax) return absl::ResourceExhaustedError("zip: too many members");
    members.push_back(absl::StrCat(absl::CEscape(entry->name), "\t", entry->size, "\tcrc32 ", entry->crc));
  }
  if (!directory.CountFits()) return absl::DataLossError("zip: directory and count disagree");
  return members;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ListArchiveMembers(string_view bytes, std::uint64_t inflated_bytes_max) {
  if (LooksLikeZip(bytes)) return ListZip(bytes);
  std::string inflated;
  if (LooksLikeGzip(bytes)) {
    PARITECT_ASSIGN_OR_RETURN(inflated, GunzipWhole(bytes, inflated_bytes_max));
    bytes = inflated;
  }
  if (bytes.size() < 2 * kTarBlockBytes) return absl::InvalidArgumentError("no archive");
  const bool ustar = bytes.substr(257, 5) == "ustar";
  const bool empty = bytes[0] == '\0';
  if (!ustar && !empty) return absl::InvalidArgumentError("no archive");
  return ListTar(bytes);
}

}  // namespace paritect
