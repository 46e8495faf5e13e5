#include "formats/git_objects.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "common/digest.h"
#include "common/status_macros.h"
#include "formats/archives/inflate.h"

namespace paritect {
namespace {

constexpr std::size_t kHeaderBytes = 12;
constexpr std::size_t kEntryHeadBytes = 62;  // up to the path, without extended flags
constexpr std::size_t kPathBytesMax = 64 << 10;
constexpr std::uint32_t kModeFolder = 040000;
constexpr int kObjectCommit = 1;

absl::Status Damaged(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("git index: ", what));
}

std::uint64_t BigEndian(absl::string_view bytes) {
  std::uint64_t value = 0;
  for (char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

std::string Sha1(absl::string_view bytes) {
  Digest digest(DigestKind::kSha1);
  digest.Update(bytes);
  return digest.Finish();
}

class IndexReader {
 public:
  explicit IndexReader(absl::string_view bytes) : bytes_(bytes) {}

  absl::StatusOr<std::vector<GitIndexEntry>> Read() {
    if (bytes_.size() < kHeaderBytes + kGitIdBytes || !absl::StartsWith(bytes_, "DIRC")) return Damaged("no index");
    const absl::string_view checksum = bytes_.substr(bytes_.size() - kGitIdBytes);
    bytes_.remove_suffix(kGitIdBytes);
    // All zeros: the user has switched it off (index.skipHash).
    if (checksum != std::string(kGitIdBytes, '\0') && Sha1(bytes_) != checksum) return Damaged("its checksum differs");
    version_ = BigEndian(bytes_.substr(4, 4));
    if (version_ < 2 || version_ > 4) return absl::UnimplementedError(absl::StrCat("git index version ", version_));
    const std::uint64_t count = BigEndian(bytes_.substr(8, 4));
    at_ = kHeaderBytes;
    std::vector<GitIndexEntry> entries;
    for (std::uint64_t i = 0; i < count; ++i) {
      PARITECT_ASSIGN_OR_RETURN(GitIndexEntry entry, Next());
      if (entry.mode == kModeFolder) return absl::UnimplementedError("a sparse git index");
      if (!entries.empty() && entry.path < entries.back().path) return Damaged("its paths are not in order");
      entries.push_back(std::move(entry));
    }
    PARITECT_RETURN_IF_ERROR(CheckExtensions());
    return entries;
  }

 private:
  absl::StatusOr<GitIndexEntry> Next() {
    const std::size_t begin = at_;
    if (bytes_.size() - at_ < kEntryHeadBytes) return Damaged("cut off");
    const absl::string_view head = bytes_.substr(at_, kEntryHeadBytes);
    GitIndexEntry entry;
    entry.mtime_seconds = static_cast<std::uint32_t>(BigEndian(head.substr(8, 4)));
    entry.mtime_nanoseconds = static_cast<std::uint32_t>(BigEndian(head.substr(12, 4)));
    entry.mode = static_cast<std::uint32_t>(BigEndian(head.substr(24, 4)));
    entry.size = static_cast<std::uint32_t>(BigEndian(head.substr(36, 4)));
    entry.id = std::string(head.substr(40, kGitIdBytes));
    const std::uint64_t flags = BigEndian(head.substr(60, 2));
    entry.unmerged = (flags & 0x3000) != 0;
    at_ += kEntryHeadBytes;
    if ((flags & 0x4000) != 0) {
      if (version_ < 3 || bytes_.size() - at_ < 2) return Damaged("extended flags");
      const std::uint64_t more = BigEndian(bytes_.substr(at_, 2));
      entry.not_there = (more & 0x6000) != 0;  // skip-worktree, intent-to-add
      at_ += 2;
    }
    PARITECT_RETURN_IF_ERROR(ReadPath(begin, entry.path));
    return entry;
  }

  absl::Status ReadPath(std::size_t begin, std::string& path) {
    if (version_ == 4) {
      std::uint64_t cut = 0;
      if (!TakeOffset(cut) || cut > previous_.size()) return Damaged("a path is cut too short");
      path = previous_.substr(0, previous_.size() - cut);
    }
    const std::size_t end = bytes_.find('\0', at_);
    if (end == absl::string_view::npos || end - at_ > kPathBytesMax) return Damaged("a path without end");
    absl::StrAppend(&path, bytes_.substr(at_, end - at_));
    if (path.empty() || path.size() > kPathBytesMax) return Damaged("a path of no or too many bytes");
    at_ = end + 1;
    if (version_ < 4) at_ = std::min(begin + (end - begin + 8) / 8 * 8, bytes_.size());  // filled up with NUL
    previous_ = path;
    return absl::OkStatus();
  }

  // As offsets of packs are written: each further byte adds one.
  bool TakeOffset(std::uint64_t& value) {
    value = 0;
    for (int i = 0; i < 8 && at_ < bytes_.size(); ++i) {
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      value = (i > 0 ? (value + 1) << 7 : 0) | (byte & 0x7FU);
      if ((byte & 0x80) == 0) return true;
    }
    return false;
  }

  absl::Status CheckExtensions() {
    while (bytes_.size() - at_ >= 8) {
      const absl::string_view name = bytes_.substr(at_, 4);
      const std::uint64_t size = BigEndian(bytes_.substr(at_ + 4, 4));
      if (name == "link") return absl::UnimplementedError("a split git index");
      if (size > bytes_.size() - at_ - 8) return Damaged("an extension is cut off");
      at_ += 8 + size;
    }
    return absl::OkStatus();
  }

  absl::string_view bytes_;
  std::size_t at_ = 0;
  std::uint64_t version_ = 0;
  std::string previous_;
};

std::string ObjectId(absl::string_view type, absl::string_view content) {
  Digest digest(DigestKind::kSha1);
  digest.Update(absl::StrCat(type, " ", content.size(), absl::string_view("\0", 1)));
  digest.Update(content);
  return digest.Finish();
}

// The beginning of a zlib stream; empty where it is none.
std::string InflateHead(absl::string_view bytes, std::size_t size) {
  std::string out(size, '\0');
  Inflater inflater(Inflater::Form::kZlib);
  std::size_t given = 0;
  for (Inflater::Step step; given < size && step.state == Inflater::State::kMore;) {
    step = inflater.Next(bytes, absl::MakeSpan(out).subspan(given));
    bytes.remove_prefix(step.taken);
    given += step.given;
    if (step.taken == 0 && step.given == 0) break;
  }
  return out.substr(0, given);
}

absl::StatusOr<std::string> TreeOfCommitText(absl::string_view text) {
  const auto tree =
      absl::ConsumePrefix(&text, "tree ") && text.size() > 2 * kGitIdBytes && text[2 * kGitIdBytes] == '\n'
          ? FromHex(text.substr(0, 2 * kGitIdBytes))
          : std::nullopt;
  if (!tree) return absl::DataLossError("no git commit");
  return *tree;
}

constexpr std::size_t kCommitHeadBytes = 128;

}  // namespace

absl::StatusOr<std::vector<GitIndexEntry>> ReadGitIndex(absl::string_view bytes) {
  if (bytes.size() > kGitIndexBytesMax) {
    return absl::ResourceExhaustedError(absl::StrCat("a git index of ", bytes.size(), " bytes"));
  }
  return IndexReader(bytes).Read();
}

std::string GitTreeId(absl::Span<const GitIndexEntry> entries) {
  struct Open {
    std::string prefix;  // "a/b/", "" of the root
    std::string content;
  };
  std::vector<Open> open = {{"", ""}};
  const auto add = [&](std::uint32_t mode, absl::string_view name, absl::string_view id) {
    absl::StrAppend(&open.back().content, absl::StrFormat("%o", mode), " ", name, absl::string_view("\0", 1), id);
  };
  const auto close = [&] {
    const Open done = std::move(open.back());
    open.pop_back();
    const absl::string_view name = absl::string_view(done.prefix).substr(open.back().prefix.size());
    absl::StrAppend(&open.back().content, "40000 ", name.substr(0, name.size() - 1), absl::string_view("\0", 1),
                    ObjectId("tree", done.content));
  };
  for (const GitIndexEntry& entry : entries) {
    while (!absl::StartsWith(entry.path, open.back().prefix)) close();
    for (;;) {
      const std::size_t from = open.back().prefix.size();
      const std::size_t slash = entry.path.find('/', from);
      if (slash == std::string::npos) break;
      open.push_back({entry.path.substr(0, slash + 1), ""});
    }
    add(entry.mode, absl::string_view(entry.path).substr(open.back().prefix.size()), entry.id);
  }
  while (open.size() > 1) close();
  return ObjectId("tree", open.back().content);
}

std::string GitBlobId(absl::string_view content) {
  return ObjectId("blob", content);
}

std::string GitLfsPointer(absl::string_view content) {
  return absl::StrCat("version https://git-lfs.github.com/spec/v1\noid sha256:", ToHex(Sha256(content)), "\nsize ",
                      content.size(), "\n");
}

absl::StatusOr<std::string> TreeOfLooseCommit(absl::string_view bytes) {
  const std::string text = InflateHead(bytes, kCommitHeadBytes);
  const std::size_t end = text.find('\0');
  if (!absl::StartsWith(text, "commit ") || end == std::string::npos) return absl::DataLossError("no git commit");
  return TreeOfCommitText(absl::string_view(text).substr(end + 1));
}

absl::StatusOr<std::string> TreeOfPackedCommit(absl::string_view bytes) {
  if (bytes.empty()) return absl::DataLossError("no git object");
  const int type = static_cast<unsigned char>(bytes[0]) >> 4 & 7;
  if (type == 6 || type == 7) return absl::UnimplementedError("the commit is kept as a difference to another");
  if (type != kObjectCommit) return absl::DataLossError("no git commit");
  std::size_t at = 0;
  while (at < bytes.size() && (bytes[at++] & 0x80) != 0) {
  }
  return TreeOfCommitText(InflateHead(bytes.substr(at), kCommitHeadBytes));
}

}  // namespace paritect
