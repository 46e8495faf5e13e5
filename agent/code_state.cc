#include "agent/code_state.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/digest.h"
#include "common/status_macros.h"
#include "formats/git_objects.h"

namespace paritect {
namespace {

constexpr int kFoldersUpMax = 64;
constexpr int kReferencesMax = 5;  // as git follows symbolic ones
constexpr std::uint64_t kSmallBytesMax = 1 << 20;
constexpr std::uint64_t kPackedRefsBytesMax = 64 << 20;
constexpr std::uint64_t kFileBytesMax = 256 << 20;
constexpr std::uint64_t kContentBytesMax = std::uint64_t{2} << 30;  // read of all files together
constexpr std::size_t kObjectHeadBytes = 4096;
constexpr std::uint32_t kModeLink = 0120000;
constexpr std::uint32_t kModeSubmodule = 0160000;
constexpr std::uint32_t kModeFile = 0100644;
constexpr std::uint32_t kModeProgram = 0100755;

std::string FirstLineOf(FileSystem& fs, const std::string& path) {
  const auto text = ReadWholeFile(fs, path, kSmallBytesMax);
  if (!text.ok()) return "";
  return std::string(absl::StripAsciiWhitespace(absl::string_view(*text).substr(0, text->find('\n'))));
}

bool IsId(absl::string_view text) {
  return text.size() == 2 * kGitIdBytes && FromHex(text).has_value();
}

// A name of a reference leads nowhere but below the folder of references.
bool IsReference(absl::string_view name) {
  return absl::StartsWith(name, "refs/") && !absl::StrContains(name, "..");
}

struct Repository {
  std::string work;    // the working tree
  std::string own;     // .git, or of a linked working tree its own folder
  std::string common;  // where objects and references are
};

// ".git" is a folder, or a file that names it (linked working trees, submodules).
std::optional<Repository> RepositoryAt(FileSystem& fs, const std::string& work) {
  Repository found = {work, JoinPath(work, ".git"), ""};
  const auto info = fs.Stat(found.own);
  if (!info.ok()) return std::nullopt;
  if (info->type == FileInfo::Type::kRegular) {
    const std::string line = FirstLineOf(fs, found.own);
    absl::string_view named = line;
    if (!absl::ConsumePrefix(&named, "gitdir: ")) return std::nullopt;
    found.own = JoinPath(work, named);
  }
  const std::string common = FirstLineOf(fs, JoinPath(found.own, "commondir"));
  found.common = common.empty() ? found.own : JoinPath(found.own, common);
  if (FirstLineOf(fs, JoinPath(found.own, "HEAD")).empty()) return std::nullopt;
  return found;
}

std::string CommitOf(FileSystem& fs, const Repository& repository) {
  std::string text = FirstLineOf(fs, JoinPath(repository.own, "HEAD"));
  for (int i = 0; i < kReferencesMax; ++i) {
    absl::string_view name = text;
    if (!absl::ConsumePrefix(&name, "ref: ")) return IsId(text) ? text : "";
    if (!IsReference(name)) return "";
    std::string next = FirstLineOf(fs, JoinPath(repository.own, name));
    if (next.empty()) next = FirstLineOf(fs, JoinPath(repository.common, name));
    if (next.empty()) {
      const auto packed = ReadWholeFile(fs, JoinPath(repository.common, "packed-refs"), kPackedRefsBytesMax);
      if (!packed.ok()) return "";
      for (absl::string_view line : absl::StrSplit(*packed, '\n')) {
        if (absl::ConsumeSuffix(&line, absl::StrCat(" ", name)) && IsId(line)) return std::string(line);
      }
      return "";
    }
    text = std::move(next);
  }
  return "";
}

std::uint64_t BigEndian(absl::string_view bytes) {
  std::uint64_t value = 0;
  for (char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

absl::StatusOr<std::string> BytesAt(File& file, std::uint64_t offset, std::size_t size, bool whole = true) {
  std::string bytes(size, '\0');
  PARITECT_ASSIGN_OR_RETURN(const std::size_t n, file.ReadAt(offset, absl::MakeSpan(bytes)));
  if (whole && n != size) return absl::DataLossError("cut off");
  bytes.resize(n);
  return bytes;
}

// Where a pack keeps the object, by its index (version 2): a table of counts by first byte, then sorted ids.
absl::StatusOr<std::uint64_t> OffsetInPack(File& index, absl::string_view id) {
  PARITECT_ASSIGN_OR_RETURN(const std::string head, BytesAt(index, 0, 8));
  if (head != absl::string_view("\377tOc\0\0\0\2", 8)) return absl::UnimplementedError("an index of another version");
  const auto first = static_cast<unsigned char>(id[0]);
  PARITECT_ASSIGN_OR_RETURN(const std::string counts, BytesAt(index, 8, 1024));
  std::uint64_t low = first == 0 ? 0 : BigEndian(absl::string_view(counts).substr(4 * (first - 1U), 4));
  std::uint64_t high = BigEndian(absl::string_view(counts).substr(4U * first, 4));
  const std::uint64_t all = BigEndian(absl::string_view(counts).substr(1020, 4));
  if (high > all) return absl::DataLossError("counts that cannot be");
  const std::uint64_t ids = 8 + 1024;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    PARITECT_ASSIGN_OR_RETURN(const std::string one, BytesAt(index, ids + middle * kGitIdBytes, kGitIdBytes));
    if (one == id) {
      const std::uint64_t offsets = ids + all * (kGitIdBytes + 4);
      PARITECT_ASSIGN_OR_RETURN(const std::string small, BytesAt(index, offsets + middle * 4, 4));
      const std::uint64_t offset = BigEndian(small);
      if ((offset & 0x80000000U) == 0) return offset;
      const std::uint64_t place = offsets + all * 4 + (offset & 0x7FFFFFFFU) * 8;
      PARITECT_ASSIGN_OR_RETURN(const std::string large, BytesAt(index, place, 8));
      return BigEndian(large);
    }
    one < id ? low = middle + 1 : high = middle;
  }
  return absl::NotFoundError("not in this pack");
}

absl::StatusOr<std::string> TreeOfCommit(FileSystem& fs, const Repository& repository, const std::string& commit) {
  const std::string objects = JoinPath(repository.common, "objects");
  if (auto loose = fs.Open(absl::StrCat(objects, "/", commit.substr(0, 2), "/", commit.substr(2))); loose.ok()) {
    PARITECT_ASSIGN_OR_RETURN(const std::string head, BytesAt(**loose, 0, kObjectHeadBytes, false));
    return TreeOfLooseCommit(head);
  }
  const std::string id = *FromHex(commit);
  std::vector<std::string> names;
  PARITECT_RETURN_IF_ERROR(
      fs.List(absl::StrCat(objects, "/pack"), [&](const DirectoryEntry& entry) { names.push_back(entry.name); }));
  for (absl::string_view name : names) {
    if (!absl::ConsumeSuffix(&name, ".idx")) continue;
    PARITECT_ASSIGN_OR_RETURN(const auto index, fs.Open(absl::StrCat(objects, "/pack/", name, ".idx")));
    const auto offset = OffsetInPack(*index, id);
    if (!offset.ok()) continue;
    PARITECT_ASSIGN_OR_RETURN(const auto pack, fs.Open(absl::StrCat(objects, "/pack/", name, ".pack")));
    PARITECT_ASSIGN_OR_RETURN(const std::string head, BytesAt(*pack, *offset, kObjectHeadBytes, false));
    return TreeOfPackedCommit(head);
  }
  return absl::NotFoundError("the commit's object is not here (borrowed from another repository, or not fetched)");
}

// Brings the entries of an index to what stands in the working tree.
class WorkingTree {
 public:
  WorkingTree(FileSystem& fs, const std::string& folder, std::int64_t index_mtime_ns)
      : fs_(fs), folder_(folder), index_mtime_ns_(index_mtime_ns) {}

  absl::StatusOr<std::vector<GitIndexEntry>> Look(std::vector<GitIndexEntry> entries) {
    std::vector<GitIndexEntry> out;
    for (GitIndexEntry& entry : entries) {
      if (entry.unmerged) return absl::FailedPreconditionError("a merge is not finished");
      PARITECT_ASSIGN_OR_RETURN(const bool there, LookAt(entry));
      if (there) out.push_back(std::move(entry));
    }
    return out;
  }

 private:
  // False: it was taken away.
  absl::StatusOr<bool> LookAt(GitIndexEntry& entry) {
    if (entry.not_there || entry.mode == kModeSubmodule) return true;
    const std::string path = JoinPath(folder_, entry.path);
    if (entry.path[0] == '/' || absl::StrContains(absl::StrCat("/", entry.path, "/"), "/../")) {
      return absl::DataLossError("a path that leads out of the working tree");
    }
    const auto info = fs_.LStat(path);
    if (absl::IsNotFound(info.status())) return false;
    PARITECT_RETURN_IF_ERROR(info.status());
    if (info->type == FileInfo::Type::kSymlink) {
      PARITECT_ASSIGN_OR_RETURN(const std::string target, fs_.ReadLink(path));
      entry.mode = kModeLink;
      entry.id = GitBlobId(target);
      return true;
    }
    if (info->type != FileInfo::Type::kRegular) return false;
    const bool was_file = entry.mode != kModeLink;
    const std::uint32_t mode = (info->mode & 0100) != 0 ? kModeProgram : kModeFile;
    if (was_file && mode == entry.mode && HasSameTimes(entry, *info)) return true;
    entry.mode = mode;
    PARITECT_ASSIGN_OR_RETURN(const std::string content, Content(path, info->size_bytes));
    if (!was_file || !IsContentOf(content, entry.id)) entry.id = GitBlobId(content);
    return true;
  }

  // A file as old as the index may have been changed within the same tick.
  bool HasSameTimes(const GitIndexEntry& entry, const FileInfo& info) const {
    constexpr std::int64_t kNanoseconds = 1'000'000'000;
    return info.mtime_ns / kNanoseconds == entry.mtime_seconds &&
           (entry.mtime_nanoseconds == 0 || info.mtime_ns % kNanoseconds == entry.mtime_nanoseconds) &&
           static_cast<std::uint32_t>(info.size_bytes) == entry.size && info.mtime_ns < index_mtime_ns_;
  }

  absl::StatusOr<std::string> Content(const std::string& path, std::uint64_t size) {
    if (size > kContentBytesMax - read_) return absl::ResourceExhaustedError("more changed content than is read");
    PARITECT_ASSIGN_OR_RETURN(std::string content, ReadWholeFile(fs_, path, kFileBytesMax));
    read_ += content.size();
    return content;
  }

  static bool IsContentOf(const std::string& content, absl::string_view id) {
    return GitBlobId(content) == id || GitBlobId(absl::StrReplaceAll(content, {{"\r\n", "\n"}})) == id ||
           GitBlobId(GitLfsPointer(content)) == id;
  }

  FileSystem& fs_;
  const std::string folder_;
  const std::int64_t index_mtime_ns_;
  std::uint64_t read_ = 0;
};

absl::StatusOr<std::string> TreeOfWork(FileSystem& fs, const Repository& repository) {
  const std::string path = JoinPath(repository.own, "index");
  PARITECT_ASSIGN_OR_RETURN(const FileInfo info, fs.Stat(path));
  PARITECT_ASSIGN_OR_RETURN(const std::string bytes, ReadWholeFile(fs, path, kGitIndexBytesMax));
  PARITECT_ASSIGN_OR_RETURN(std::vector<GitIndexEntry> entries, ReadGitIndex(bytes));
  PARITECT_ASSIGN_OR_RETURN(entries, WorkingTree(fs, repository.work, info.mtime_ns).Look(std::move(entries)));
  return GitTreeId(entries);
}

}  // namespace

std::string GitCommit(FileSystem& fs, const std::string& folder) {
  const auto repository = RepositoryAt(fs, folder);
  return repository ? CommitOf(fs, *repository) : "";
}

std::optional<CodeState> ReadCodeState(FileSystem& fs, absl::string_view folder) {
  std::string work(folder);
  std::optional<Repository> repository = RepositoryAt(fs, work);
  for (int i = 0; i < kFoldersUpMax && !repository && work.size() > 1; ++i) {
    work = std::string(DirName(work));
    repository = RepositoryAt(fs, work);
  }
  if (!repository) return std::nullopt;
  CodeState state;
  state.commit = CommitOf(fs, *repository);
  if (state.commit.empty()) return std::nullopt;
  const auto tree = TreeOfWork(fs, *repository);
  const auto committed = TreeOfCommit(fs, *repository, state.commit);
  if (tree.ok()) state.tree = ToHex(*tree);
  if (tree.ok() && committed.ok()) {
    state.dirty = *tree != *committed;
  } else {
    state.unknown = std::string((tree.ok() ? committed.status() : tree.status()).message());
  }
  return state;
}

}  // namespace paritect
