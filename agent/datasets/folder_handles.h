// Open folders of a table, for reaching files by name: the ones used last stay open.
#ifndef PARITECT_AGENT_DATASETS_FOLDER_HANDLES_H_
#define PARITECT_AGENT_DATASETS_FOLDER_HANDLES_H_

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/file_system.h"

namespace paritect {

// Thread-safe. A folder is opened from its parent by name, so that a path may be longer than the kernel takes.
class FolderHandles {
 public:
  FolderHandles(FileSystem& fs, std::string root) : fs_(fs), root_(std::move(root)) {}

  // `chain`: the folder's number and those above it but for the root (0), with their names, nearest first.
  struct Part {
    std::uint32_t folder;
    std::string name;
  };
  absl::StatusOr<std::shared_ptr<Folder>> Get(const std::vector<Part>& chain);
  // The same where it is open already; nullptr: it is not.
  std::shared_ptr<Folder> GetOpen(std::uint32_t folder);

 private:
  void Keep(std::uint32_t folder, std::shared_ptr<Folder> handle);

  struct Entry {
    std::uint32_t folder;
    std::shared_ptr<Folder> handle;
  };
  FileSystem& fs_;
  const std::string root_;
  absl::Mutex mutex_;
  std::list<Entry> recent_ ABSL_GUARDED_BY(mutex_);  // used last first
  std::unordered_map<std::uint32_t, std::list<Entry>::iterator> by_folder_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace paritect

#endif  // PARITECT_AGENT_DATASETS_FOLDER_HANDLES_H_
