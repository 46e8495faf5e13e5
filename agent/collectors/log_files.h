// The files of one log, through the FileSystem: opened, inflated, joined in the order of what they hold.
#ifndef PARITECT_AGENT_COLLECTORS_LOG_FILES_H_
#define PARITECT_AGENT_COLLECTORS_LOG_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/file_system.h"
#include "formats/logs/read_log.h"

namespace paritect {

// The bytes of a log's file, inflated where it is compressed.
absl::StatusOr<std::unique_ptr<LogBytes>> OpenLogFile(FileSystem& fs, const std::string& path);

// Which bytes were read (inflated, all parts), to know a copy again, and the first time of day that they hold.
struct SeenBytes {
  std::string digest;
  std::string first_time;  // "2024-05-08 10:21:10"; empty: none
};

// Reads the files as one log; several are ordered first (OrderLogParts). Settings get "FILE:LINE" origins.
absl::StatusOr<v1::RunLog> ReadLogFiles(FileSystem& fs, std::vector<std::string> paths, const LogOptions& options,
                                        SeenBytes* seen = nullptr);

// Logs, each with the path of its folder or file.
using NamedLogs = std::vector<std::pair<std::string, v1::RunLog>>;

// MLflow keeps a file a metric: those of one run are one log, so that a metric that ends early is seen beside the
// others. Empty where one of the files is none of MLflow's.
absl::StatusOr<NamedLogs> ReadMetricFiles(FileSystem& fs, const std::vector<std::string>& paths,
                                          const LogOptions& options);

// The logs below a folder, each with the path of its folder or file: event files of one folder are one log, MLflow's
// metric files of one run are one log, any other file that is recognised is its own. Sorted by path; bounded in files
// and depth.
absl::StatusOr<NamedLogs> ReadLogFolder(FileSystem& fs, const std::string& folder, const LogOptions& options);

// What one part of a rotated log holds, as far as it orders the parts.
struct LogPart {
  std::string path;
  std::string first_time;  // "2024-05-08 10:21:10", from its first line that has one; empty: none
  std::int64_t first_step = -1;
  std::int64_t last_step = -1;
};

// By time where all parts print one, else by first step, else rotation order (log.2.gz, log.1, log).
absl::StatusOr<std::vector<LogPart>> OrderLogParts(FileSystem& fs, const std::vector<std::string>& paths,
                                                   const LogOptions& options);

// Whether the parts tell of the same steps: then they are several logs, not the parts of one.
bool PartsOverlap(const std::vector<LogPart>& parts);

}  // namespace paritect

#endif  // PARITECT_AGENT_COLLECTORS_LOG_FILES_H_
