#include "agent/datasets/file_table.h"

#include <algorithm>
#include <cstring>

namespace paritect {

std::uint64_t FileTable::Texts::Add(absl::string_view text) {
  if (text.size() > room_) {
    chunks_.push_back(std::make_unique<char[]>(kChunkBytes));
    room_ = kChunkBytes;
  }
  const std::size_t at = kChunkBytes - room_;
  std::memcpy(chunks_.back().get() + at, text.data(), text.size());
  room_ -= text.size();
  return (chunks_.size() - 1) * kChunkBytes + at;
}

absl::string_view FileTable::Texts::At(std::uint64_t at, std::size_t bytes) const {
  return {chunks_[at / kChunkBytes].get() + at % kChunkBytes, bytes};
}

void FileTable::SetRemarks(std::uint32_t at, v1::FileEntry remarks) {
  const std::string bytes = remarks.SerializeAsString();
  if (bytes.size() > Texts::kChunkBytes) return;  // hints and a few digests never are
  remarks_of_[at] = {remarks_.Add(bytes), static_cast<std::uint32_t>(bytes.size())};
}

std::optional<v1::FileEntry> FileTable::RemarksOf(std::uint32_t at) const {
  const auto found = remarks_of_.find(at);
  if (found == remarks_of_.end()) return std::nullopt;
  const absl::string_view bytes = remarks_.At(found->second.at, found->second.bytes);
  v1::FileEntry remarks;
  if (!remarks.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return std::nullopt;
  return remarks;
}

std::uint32_t FileTable::AddFolder(std::uint32_t parent, absl::string_view name) {
  if (folders_.empty()) names_.Add(" ");  // so that an empty name has a place
  const std::uint64_t at = name.empty() ? 0 : names_.Add(name.substr(0, UINT16_MAX));
  folders_.push_back({parent, at, static_cast<std::uint32_t>(std::min<std::size_t>(name.size(), UINT16_MAX))});
  return static_cast<std::uint32_t>(folders_.size() - 1);
}

std::uint32_t FileTable::Add(std::uint32_t folder, absl::string_view name) {
  if (size_ % kChunkRows == 0) chunks_.push_back(std::make_unique<FileRow[]>(kChunkRows));
  name = name.substr(0, UINT16_MAX);
  const std::uint64_t at = names_.Add(name);
  FileRow& added = row(size_);
  added.folder = folder;
  added.name_low = static_cast<std::uint32_t>(at);
  added.name_high = static_cast<std::uint16_t>(at >> 32);
  added.name_bytes = static_cast<std::uint16_t>(name.size());
  return size_++;
}

std::uint32_t FileTable::OriginalOf(std::uint32_t at) const {
  if (!row(at).is(FileRow::kCopy)) return at;
  std::uint32_t original = 0;
  std::memcpy(&original, row(at).md5, sizeof(original));
  return original;
}

void FileTable::MarkCopy(std::uint32_t at, std::uint32_t original) {
  row(at).flags |= FileRow::kCopy;
  std::memcpy(row(at).md5, &original, sizeof(original));
}

absl::string_view FileTable::NameOf(std::uint32_t at) const {
  const FileRow& r = row(at);
  return names_.At(static_cast<std::uint64_t>(r.name_high) << 32 | r.name_low, r.name_bytes);
}

absl::string_view FileTable::FolderName(std::uint32_t folder) const {
  return names_.At(folders_[folder].name, folders_[folder].name_bytes);
}

std::string FileTable::FolderPath(std::uint32_t folder) const {
  std::vector<absl::string_view> parts;
  for (; folder != 0; folder = folders_[folder].parent) parts.push_back(FolderName(folder));
  std::string path;
  for (std::size_t i = parts.size(); i > 0; --i) {
    path.append(parts[i - 1].data(), parts[i - 1].size());
    if (i > 1) path.push_back('/');
  }
  return path;
}

std::string FileTable::PathOf(std::uint32_t at) const {
  std::string path = FolderPath(row(at).folder);
  if (!path.empty()) path.push_back('/');
  const absl::string_view name = NameOf(at);
  path.append(name.data(), name.size());
  return path;
}

// Folder by folder, where a folder sorts as its name and '/': the order of whole paths, without making them.
void FileTable::ForEachSorted(absl::FunctionRef<void(std::uint32_t, const std::string&)> visit) const {
  const std::size_t count = folders_.size();
  std::vector<std::uint32_t> first_row(count + 1, 0);
  for (std::uint32_t i = 0; i < size_; ++i) ++first_row[row(i).folder + 1];
  for (std::size_t i = 1; i <= count; ++i) first_row[i] += first_row[i - 1];
  std::vector<std::uint32_t> rows(size_);
  {
    std::vector<std::uint32_t> next(first_row.begin(), first_row.end());
    for (std::uint32_t i = 0; i < size_; ++i) rows[next[row(i).folder]++] = i;
  }
  std::vector<std::vector<std::uint32_t>> children(count);
  for (std::uint32_t i = 1; i < count; ++i) children[folders_[i].parent].push_back(i);

  // What is being visited: its rows and its folders, each sorted, merged while going on.
  struct Level {
    std::uint32_t folder;
    std::size_t row_at, row_end, child_at;
    std::size_t path_bytes;
  };
  const auto Begin = [&](std::uint32_t folder, std::size_t path_bytes) {
    const auto begin = rows.begin() + first_row[folder];
    const auto end = rows.begin() + first_row[folder + 1];
    std::sort(begin, end, [&](std::uint32_t a, std::uint32_t b) { return NameOf(a) < NameOf(b); });
    std::sort(children[folder].begin(), children[folder].end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::string(FolderName(a)) + "/" < std::string(FolderName(b)) + "/";
    });
    return Level{folder, first_row[folder], first_row[folder + 1], 0, path_bytes};
  };
  std::string path;
  std::vector<Level> open;
  if (count > 0) open.push_back(Begin(0, 0));
  while (!open.empty()) {
    Level& level = open.back();
    path.resize(level.path_bytes);
    const bool has_row = level.row_at < level.row_end;
    const bool has_child = level.child_at < children[level.folder].size();
    if (!has_row && !has_child) {
      open.pop_back();
      continue;
    }
    const std::uint32_t child = has_child ? children[level.folder][level.child_at] : 0;
    const std::string child_name = has_child ? std::string(FolderName(child)) + "/" : "";
    if (has_row && (!has_child || NameOf(rows[level.row_at]) < child_name)) {
      const std::uint32_t at = rows[level.row_at++];
      const absl::string_view name = NameOf(at);
      path.append(name.data(), name.size());
      visit(at, path);
      continue;
    }
    ++level.child_at;
    path += child_name;
    open.push_back(Begin(child, path.size()));
  }
}

}  // namespace paritect
