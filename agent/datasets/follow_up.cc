#include "agent/datasets/follow_up.h"

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

#include "agent/datasets/tree.h"
#include "common/crc.h"
#include "common/digest.h"
#include "common/little_endian.h"
#include "common/status_macros.h"
#include "formats/datasets/alternates.h"
#include "formats/datasets/file_hints.h"
#include "formats/datasets/record_count.h"

namespace paritect {
namespace {

constexpr std::size_t kReadBytes = 256 << 10;
constexpr std::uint64_t kBlockBytesMin = 512;
constexpr std::size_t kBlockAnswerBytesMax = 64 << 10;

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

// CRC-32 as SFV lists it: four bytes, big endian.
absl::StatusOr<std::string> StreamCrc32(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<File> file, fs.Open(path));
  std::vector<char> buffer(kReadBytes);
  std::uint32_t crc = 0;
  for (;;) {
    PARITECT_ASSIGN_OR_RETURN(const std::size_t n, file->Read(absl::MakeSpan(buffer)));
    if (n == 0) break;
    crc = Crc32(crc, absl::string_view(buffer.data(), n));
  }
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(crc >> shift));
  return out;
}

// Bytes of a "blocks:4096" law; nullopt: another law.
std::optional<std::uint64_t> BlocksOfLaw(absl::string_view law) {
  std::uint64_t bytes = 0;
  if (!absl::ConsumePrefix(&law, "blocks:") || !absl::SimpleAtoi(law, &bytes) || bytes < kBlockBytesMin) {
    return std::nullopt;
  }
  return bytes;
}

// MD5 of every block of that size, the last one shorter, one behind the other; and where the zeros at the end begin.
struct BlockAnswer {
  std::string digests;
  std::uint64_t zeros_from = 0;
};
absl::StatusOr<BlockAnswer> DigestBlocks(FileSystem& fs, const std::string& path, std::uint64_t block) {
  PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<File> file, fs.Open(path));
  BlockAnswer answer;
  std::optional<Digest> digest;
  std::vector<char> buffer(kReadBytes);
  std::uint64_t at = 0;
  for (;;) {
    const std::uint64_t left = block - at % block;
    const std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(left, buffer.size()));
    PARITECT_ASSIGN_OR_RETURN(const std::size_t n, file->Read(absl::MakeSpan(buffer).subspan(0, wanted)));
    if (n == 0) break;
    if (!digest) digest.emplace(DigestKind::kMd5);
    digest->Update(absl::string_view(buffer.data(), n));
    const absl::string_view piece(buffer.data(), n);
    const std::size_t last = piece.find_last_not_of('\0');
    if (last != absl::string_view::npos) answer.zeros_from = at + last + 1;
    at += n;
    if (at % block == 0) {
      answer.digests += digest->Finish();
      digest.reset();
      if (answer.digests.size() >= kBlockAnswerBytesMax) return absl::ResourceExhaustedError("too many blocks");
    }
  }
  if (digest) answer.digests += digest->Finish();
  return answer;
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

// The number of bytes read.
std::uint64_t LookAtRecords(FileSystem& fs, const std::string& on_disk, const std::string& root,
                            std::uint64_t bytes_max, v1::FileEntry& entry) {
  auto file = fs.Open(on_disk);
  if (!file.ok()) return 0;
  return CountRecords([&](std::uint64_t offset, absl::Span<char> buffer) { return (*file)->ReadAt(offset, buffer); },
                      [&](absl::string_view path) -> std::optional<std::uint64_t> {
                        auto info = fs.Stat(PathOnDisk(root, false, path));
                        return info.ok() ? std::optional<std::uint64_t>(info->size_bytes) : std::nullopt;
                      },
                      {.bytes_max = bytes_max}, entry);
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
    if (law == "zeros") continue;  // answered with the blocks, which are asked for too
    if (const auto block = BlocksOfLaw(law)) {
      auto answer = DigestBlocks(fs, on_disk, *block);
      if (!answer.ok()) continue;
      AddAlternate(law, std::move(answer->digests), *entry);
      AddAlternate("zeros", LittleEndianBytes(answer->zeros_from, 8), *entry);
      continue;
    }
    if (law == "crc32") {
      auto crc = StreamCrc32(fs, on_disk);
      if (crc.ok()) AddAlternate(law, *std::move(crc), *entry);
      continue;
    }
    if (law == "records") {
      (void)LookAtRecords(fs, on_disk, list.root(), RecordLimits().bytes_max, *entry);
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

RecordLooks::RecordLooks(FileSystem& fs, const v1::FileList& list, std::size_t files_max, std::uint64_t bytes_max)
    : fs_(fs), root_(list.root()), files_left_(list.format() == "tree" ? files_max : 0), bytes_left_(bytes_max) {
  const auto root = fs.Stat(root_);
  if (!root.ok()) files_left_ = 0;
  root_is_file_ = root.ok() && root->type == FileInfo::Type::kRegular;
}

void RecordLooks::Add(v1::FileEntry& file) {
  if (files_left_ == 0 || bytes_left_ == 0) return;
  if (file.type() != v1::FILE_TYPE_REGULAR || file.has_error() || file.lfs_size_bytes() > 0) return;
  const bool page = HasHint(file, v1::FILE_HINT_HTML_PAGE) || HasHint(file, v1::FILE_HINT_OS_JUNK);
  if (file.size_bytes() == 0 || file.has_record_look() || page) return;
  --files_left_;
  const std::string on_disk = PathOnDisk(root_, root_is_file_, file.path());
  bytes_left_ -= std::min(bytes_left_, LookAtRecords(fs_, on_disk, root_, bytes_left_, file));
}

}  // namespace paritect
