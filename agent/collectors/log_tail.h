// A log that still grows: what it tells that was not told before, each time it is asked.
//
// The file stays open and is read on from where the last look ended, so that nothing is read twice. A file that took
// its place (rotation) is read from its beginning once the old one is read to its end; a file that was cut short is
// read from its beginning. What is known of the run goes on (formats/logs/live_log.h): steps that stand twice come
// again, the later ones count. Forms that only make sense as a whole (JSON documents, compressed files,
// folders) are read again when they changed, at most a hundredth of the time.
#ifndef PARITECT_AGENT_COLLECTORS_LOG_TAIL_H_
#define PARITECT_AGENT_COLLECTORS_LOG_TAIL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/file_system.h"
#include "formats/logs/live_log.h"

namespace paritect {

struct LogTailUpdate {
  std::string source;
  std::vector<v1::StepRecord> steps;  // new, or with other values than before
  std::optional<v1::RunLog> about;    // without records, segments and places; where it changed
  std::string change;                 // rotated, truncated, unreadable; empty: nothing
};

// Thread-compatible.
class LogTail {
 public:
  // `parts`: the older parts of a rotated log, oldest first, read once; `path`: the one that grows, or a folder.
  LogTail(std::vector<std::string> parts, std::string path, LogOptions options);

  // Looks at the files; at most `bytes_max` of them are read, and `more()` tells that there are others. `steady_ms`
  // never goes back. What cannot be read is an update (`unreadable`), told once.
  std::vector<LogTailUpdate> Poll(FileSystem& fs, std::int64_t steady_ms, std::uint64_t bytes_max);
  bool more() const { return more_; }

  const std::string& path() const { return path_; }
  // Files that this log has read, for whoever lists the folder: a rotated one is no new log.
  bool Knows(const FileInfo& info) const { return files_.count({info.device, info.inode}) > 0; }
  // When a byte was last added, by the steady clock; 0: none was seen yet.
  std::int64_t grew_ms() const { return grew_ms_; }
  v1::RunEnd::State end() const { return end_; }
  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  // What was told of one source.
  struct Told {
    std::vector<std::uint64_t> records;  // a digest each, of a log that is read whole
    std::uint64_t about = 0;
    bool counted = false;
  };

  absl::Status ReadParts(FileSystem& fs);
  absl::Status ReadOn(FileSystem& fs, std::uint64_t bytes_max, std::string& change);
  absl::Status ReadOpen(std::uint64_t& left);
  absl::Status OpenNext(FileSystem& fs);
  // Whether another file or a shorter one stands at the path now.
  bool Replaced(FileSystem& fs, std::string& change);
  absl::Status Take(absl::string_view bytes);
  void TellRecords(std::vector<LogTailUpdate>& updates);
  void TellWhole(FileSystem& fs, std::int64_t steady_ms, std::vector<LogTailUpdate>& updates);
  void TellLog(const std::string& source, v1::RunLog log, std::vector<LogTailUpdate>& updates);
  void Tell(const std::string& source, std::vector<v1::StepRecord> steps, v1::RunLog about,
            std::vector<LogTailUpdate>& updates);

  std::vector<std::string> parts_;
  const std::string path_;
  const LogOptions options_;
  LiveLog log_;

  std::unique_ptr<File> file_;
  FileInfo info_;
  std::uint64_t offset_ = 0;
  std::set<std::pair<std::uint64_t, std::uint64_t>> files_;
  bool folder_ = false;
  bool whole_ = false;  // read whole whenever it changed
  bool streams_ = false;  // records come line by line
  std::string folder_stamp_;

  std::map<std::string, Told> told_;
  bool dirty_ = false;
  bool more_ = false;
  std::int64_t next_tell_ms_ = 0;
  std::int64_t grew_ms_ = 0;
  std::uint64_t bytes_read_ = 0;
  v1::RunEnd::State end_ = v1::RunEnd::STATE_UNSPECIFIED;
  std::string trouble_;
};

}  // namespace paritect

#endif  // PARITECT_AGENT_COLLECTORS_LOG_TAIL_H_
