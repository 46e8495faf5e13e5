// A table as evidence.
#include <algorithm>

#include "agent/datasets/hash.h"
#include "agent/datasets/lane_hasher.h"
#include "agent/datasets/names.h"
#include "common/status_macros.h"
#include "formats/datasets/file_hints.h"

namespace paritect {
namespace {

v1::FileType TypeOf(const FileRow& row) {
  switch (row.type) {
    case FileRow::kRegular: return v1::FILE_TYPE_REGULAR;
    case FileRow::kSymlink: return v1::FILE_TYPE_SYMLINK;
    case FileRow::kEmptyFolder: return v1::FILE_TYPE_DIRECTORY;
    case FileRow::kSpecial: return v1::FILE_TYPE_SPECIAL;
  }
  return v1::FILE_TYPE_UNSPECIFIED;
}

void AddHintOnce(v1::FileHint hint, v1::FileEntry& entry) {
  if (!HasHint(entry, hint)) entry.add_hints(hint);
}

// The content's hints hold for every name.
void AddContent(const v1::FileEntry& content, v1::FileEntry& entry) {
  for (const int hint : content.hints()) AddHintOnce(static_cast<v1::FileHint>(hint), entry);
  *entry.mutable_alternates() = content.alternates();
  if (content.has_lfs_size_bytes()) entry.set_lfs_size_bytes(content.lfs_size_bytes());
  entry.set_lfs_oid_sha256(content.lfs_oid_sha256());
}

void AddExtra(const FileExtra& extra, v1::FileEntry& entry) {
  if (extra.has_error) *entry.mutable_error() = extra.error;
  if (extra.changed) AddHintOnce(v1::FILE_HINT_CHANGED_WHILE_READ, entry);
}

}  // namespace

v1::FileEntry ToFileEntry(const FileTable& table, std::uint32_t at, const std::string& path) {
  const FileRow& row = table.row(at);
  v1::FileEntry entry;
  entry.set_path(path);
  entry.set_type(TypeOf(row));
  AddNameReadings(entry);
  const auto own = table.extras.find(at);
  if (own != table.extras.end()) {
    entry.set_link_target(own->second.link_target);
    if (own->second.loop) entry.add_hints(v1::FILE_HINT_LINK_LOOP);
    if (own->second.dangling) entry.add_hints(v1::FILE_HINT_DANGLING_LINK);
    AddExtra(own->second, entry);
  }
  if (const auto remarks = table.RemarksOf(at)) AddContent(*remarks, entry);
  if (row.type != FileRow::kRegular) return entry;
  const std::uint32_t source = table.OriginalOf(at);
  const FileRow& content = table.row(source);
  entry.set_size_bytes(content.size_bytes);
  const std::vector<int> hints(entry.hints().begin(), entry.hints().end());
  entry.clear_hints();
  AddNameHints(path, entry);
  for (const int hint : hints) AddHintOnce(static_cast<v1::FileHint>(hint), entry);
  if (source != at) {
    const auto other = table.extras.find(source);
    if (other != table.extras.end()) AddExtra(other->second, entry);
    if (const auto remarks = table.RemarksOf(source)) AddContent(*remarks, entry);
  }
  if (!content.is(FileRow::kHashed)) return entry;
  entry.set_md5(reinterpret_cast<const char*>(content.md5), kMd5Bytes);
  if (content.size_bytes == 0) AddHintOnce(v1::FILE_HINT_EMPTY, entry);
  if (content.is(FileRow::kFromCache)) {
    entry.set_from_cache(true);
    entry.set_hashed_at_unix_ms(std::int64_t{1000} * content.hashed_at_unix_s);
  }
  return entry;
}

v1::FileList WithoutFiles(const FileTable& table) {
  v1::FileList list;
  list.set_format("tree");
  for (const v1::Problem& problem : table.incomplete) *list.add_incomplete() = problem;
  for (const v1::UnreadFolder& folder : table.unread_folders) *list.add_unread_folders() = folder;
  auto& unread = *list.mutable_unread_folders();
  std::sort(unread.begin(), unread.end(), [](const auto& a, const auto& b) { return a.path() < b.path(); });
  return list;
}

v1::FileList ToFileList(const FileTable& table) {
  v1::FileList list = WithoutFiles(table);
  list.mutable_files()->Reserve(static_cast<int>(table.size()));
  table.ForEachSorted(
      [&](std::uint32_t at, const std::string& path) { *list.add_files() = ToFileEntry(table, at, path); });
  return list;
}

v1::DigestSources SumOfDigests(const FileTable& table, bool past_cache) {
  v1::DigestSources sum;
  std::int64_t oldest_s = INT64_MAX;
  std::int64_t newest_s = 0;
  for (std::uint32_t at = 0; at < table.size(); ++at) {
    const FileRow& row = table.row(at);
    if (row.type != FileRow::kRegular || !row.is(FileRow::kHashed)) continue;
    if (!row.is(FileRow::kFromCache)) {
      sum.set_files_now(sum.files_now() + 1);
      sum.set_bytes_now(sum.bytes_now() + row.size_bytes);
      continue;
    }
    sum.set_files_cached(sum.files_cached() + 1);
    sum.set_bytes_cached(sum.bytes_cached() + row.size_bytes);
    oldest_s = std::min<std::int64_t>(oldest_s, row.hashed_at_unix_s);
    newest_s = std::max<std::int64_t>(newest_s, row.hashed_at_unix_s);
  }
  if (sum.files_cached() > 0) {
    sum.set_oldest_unix_ms(1000 * oldest_s);
    sum.set_newest_unix_ms(1000 * newest_s);
  }
  sum.set_past_page_cache(past_cache);
  return sum;
}

void AddStates(const FileTable& table, std::size_t bytes_max, v1::FileList& list) {
  std::size_t total = 0;
  for (const auto& [at, states] : table.states) total += states.size();
  std::size_t every = 1;
  while (total / every * kMd5Bytes > bytes_max) every *= 2;
  for (const auto& [at, states] : table.states) {
    v1::FileStates one;
    one.set_path(table.PathOf(at));
    one.set_block_bytes(StateStepBytes(table.row(at).size_bytes) * every);
    for (std::size_t i = every; i <= states.size(); i += every) {
      unsigned char bytes[kMd5Bytes];
      Md5Digest(states[i - 1], bytes);  // the words in the same order
      one.mutable_states()->append(reinterpret_cast<const char*>(bytes), kMd5Bytes);
    }
    if (!one.states().empty()) *list.add_states() = std::move(one);
  }
  auto& states = *list.mutable_states();
  std::sort(states.begin(), states.end(), [](const auto& a, const auto& b) { return a.path() < b.path(); });
}

absl::StatusOr<v1::FileList> HashDataset(FileSystem& fs, absl::string_view root, const TreeOptions& tree,
                                         const HashOptions& options) {
  PARITECT_ASSIGN_OR_RETURN(const FileTable table, HashFolder(fs, root, tree, options));
  return ToFileList(table);
}

}  // namespace paritect
