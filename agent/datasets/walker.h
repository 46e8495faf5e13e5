// Reads folders into a table, from several threads at once: whoever has nothing better to do reads the next open one.
#ifndef PARITECT_AGENT_DATASETS_WALKER_H_
#define PARITECT_AGENT_DATASETS_WALKER_H_

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "agent/datasets/file_table.h"
#include "agent/datasets/folder_handles.h"
#include "agent/datasets/tree.h"
#include "common/file_system.h"

namespace paritect {

class Walker {
 public:
  // Told of each regular file (or link to one) with `mutex` held, in batches while a folder is still being read.
  using Found = std::function<void(std::uint32_t row, const FileInfo& info)>;

  // `mutex` guards `table`. All must outlive this.
  Walker(FileSystem& fs, absl::string_view root, const TreeOptions& options, absl::Mutex& mutex, FileTable& table,
         Found found);

  // Looks at the root. An error: it cannot be looked at at all.
  absl::Status Start();
  // Reads one open folder to its end. False: none is open now (others may still open some).
  bool ReadOne();
  // Nothing is open and nobody reads: what is in the table is all. `mutex` held.
  bool done() const { return open_.empty() && reading_ == 0; }
  bool has_open() const { return !open_.empty(); }
  // Gives up what is not read yet. `mutex` held.
  void Stop() { open_.clear(); }

  // Takes out of a list what a walk with these options would leave out.
  static void FilterList(const TreeOptions& options, v1::FileList& list);

  absl::StatusOr<std::unique_ptr<File>> OpenFile(std::uint32_t row);
  // After the end: links to folders whose content was not seen on another way.
  void MarkUnseenFolders();

 private:
  using FileId = std::pair<std::uint64_t, std::uint64_t>;  // device, inode
  class Filter;
  struct Name {
    std::string name;
    FileRow::Type type = FileRow::kRegular;
    FileInfo info;
    std::unique_ptr<FileExtra> extra;
    bool enter = false;   // a folder to be read
    bool unread = false;  // what is behind it could not be looked at
    bool wanted = true;   // named by the filter
  };

  Name Look(Folder& folder, std::uint32_t number, const std::string& name, const std::string& path);
  void LookAtLink(Folder& folder, std::uint32_t number, const std::string& path, Name& name);
  bool LeadsBack(std::uint32_t folder, FileId id);
  void Publish(std::uint32_t folder, std::vector<Name>& names, const std::string& path);
  void PublishOne(std::uint32_t folder, Name& name, const std::string& path);
  void Enter(std::uint32_t parent, const std::string& name, FileId id);
  absl::StatusOr<std::shared_ptr<Folder>> Handle(std::uint32_t folder);
  void ReadFolder(std::uint32_t folder);

  FileSystem& fs_;
  const std::string root_;
  const TreeOptions& options_;
  const std::shared_ptr<const Filter> filter_;
  absl::Mutex& mutex_;
  FileTable& table_;
  const Found found_;
  FolderHandles handles_;
  // Guarded by mutex_.
  std::vector<std::uint32_t> open_;
  std::vector<FileId> ids_;  // of each folder
  std::set<FileId> visited_;
  int reading_ = 0;
  bool overflow_ = false;
};

}  // namespace paritect

#endif  // PARITECT_AGENT_DATASETS_WALKER_H_
