#include "agent/datasets/follow_up.h"

#include <algorithm>

#include "agent/datasets/tree.h"
#include "common/digest.h"
#include "common/status_macros.h"
#include "formats/datasets/alternates.h"

namespace paritect {
namespace {

constexpr std::size_t kReadBytes = 256 << 10;

// MD5 of the first `prefix` bytes (all where nullopt) or SHA-256 of the whole.
absl::StatusOr<std::string> StreamDigest(FileSystem& fs, const std::string& path, DigestKind kind,
                                         std::optional<std::uint64_t> prefix) {
  PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<File> file, fs.Open(path));
  Digest digest(kind);
  std::vector<char> buffer(kReadBytes);
  std::uint64_t left = prefix.value_or(UINT64_MAX);
  while (left > 0) {
    PARITECT_ASSIGN_OR_RETURN(std::size_t n, file->Read(absl::MakeSpan(buffer)));
    if (n == 0) break;
    const std::size_t used = static_cast<std::size_t>(std::min<std::uint64_t>(n, left));
    digest.Update(absl::string_view(buffer.data(), used));
    left -= used;
  }
  if (prefix && left > 0) return absl::DataLossError("shorter than it was");
  return digest.Finish();
}

v1::FileEntry* FindEntry(const std::string& path, v1::FileList& list) {
  auto& files = *list.mutable_files();
  auto it = std::lower_bound(files.begin(), files.end(), path,
                             [](const v1::FileEntry& file, const std::string& p) { return file.path() < p; });
  return it != files.end() && it->path() == path ? &*it : nullptr;
}

void AddAlternate(const std::string& law, std::string digest, v1::FileEntry& entry) {
  v1::AlternateDigest& alternate = *entry.add_alternates();
  alternate.set_law(law);
  alternate.set_md5(std::move(digest));
}

}  // namespace

void AnswerDatasetQuestion(FileSystem& fs, const std::string& path, const std::vector<std::string>& laws,
                           v1::FileList& list) {
  v1::FileEntry* entry = FindEntry(path, list);
  if (entry == nullptr) return;
  auto root = fs.Stat(list.root());
  if (!root.ok()) return;
  const std::string on_disk = PathOnDisk(list.root(), root->type == FileInfo::Type::kRegular, path);
  auto info = fs.Stat(on_disk);
  if (!info.ok() || info->size_bytes != entry->size_bytes()) return;
  std::optional<std::string> content;
  for (const std::string& law : laws) {
    const auto prefix = PrefixOfLaw(law);
    if (prefix || law == "sha256") {
      auto digest = StreamDigest(fs, on_disk, prefix ? DigestKind::kMd5 : DigestKind::kSha256, prefix);
      if (digest.ok()) AddAlternate(law, *std::move(digest), *entry);
      continue;
    }
    if (!content) {
      auto bytes = ReadWholeFile(fs, on_disk, kAlternateBytesMax);
      if (!bytes.ok()) continue;
      content = *std::move(bytes);
    }
    AddAlternate(law, AlternateMd5(law, path, *content), *entry);
  }
}

}  // namespace paritect
