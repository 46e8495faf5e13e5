// What lies in a folder that has no plan: files to be recognised, data folders as a whole, runs that were recorded.
// Names and sizes alone; no file is opened. Bounded in entries and depth; links to folders are followed for data alone.
#ifndef PARITECT_AGENT_DRAFTING_FOLDER_SCAN_H_
#define PARITECT_AGENT_DRAFTING_FOLDER_SCAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file_system.h"

namespace paritect {

inline constexpr std::size_t kScanEntriesMax = 100'000;  // in all; of a data folder by itself as many again
inline constexpr int kScanDepthMax = 24;

// Paths are bytes, relative to the scanned folder.
struct ScannedFile {
  std::string path;
  std::uint64_t size_bytes = 0;
};

// A folder that is a data set by its name. Not looked into but for its size.
struct ScannedData {
  std::string path;
  std::uint64_t files = 0;
  std::uint64_t size_bytes = 0;
  bool more = false;                 // than kScanEntriesMax entries: the counts are lower bounds
  std::vector<std::string> folders;  // directly in it, sorted
};

// What is not looked at, and why: an id of the catalogue ("not_taken_…").
struct PassedOver {
  std::string path;
  std::string why;
  std::string seen = "";
};

struct FolderScan {
  std::vector<ScannedFile> files;     // sorted by path
  std::vector<std::string> folders;   // below the root, sorted; without data folders
  std::vector<ScannedData> data;      // sorted by path
  std::vector<std::string> recorded;  // folders below the root that hold a plan.yaml; not looked into
  std::vector<PassedOver> passed_over;
  std::size_t left_out = 0;  // entries that the bounds leave out; 0: the scan is whole
};

// NotFound, PermissionDenied, FailedPrecondition: of the root itself.
absl::StatusOr<FolderScan> ScanFolder(FileSystem& fs, const std::string& root);

// Files and bytes below a folder.
ScannedData MeasureData(FileSystem& fs, const std::string& root, const std::string& path);

}  // namespace paritect

#endif  // PARITECT_AGENT_DRAFTING_FOLDER_SCAN_H_
