// How the parts of the live collector emit what they saw: documents, and problems as evidence.
#ifndef PARITECT_AGENT_LIVE_LIVE_REPORT_H_
#define PARITECT_AGENT_LIVE_LIVE_REPORT_H_

#include <optional>
#include <string>

#include "agent/collector.h"
#include "agent/live/live_node.h"
#include "paritect/v1/settings.pb.h"

namespace paritect {

// Secrets are masked behind it, as those of every collector are (agent/collect.h).
class LiveReport {
 public:
  LiveReport(const CollectorEnv& env, EvidenceSink sink) : env_(env), sink_(sink) {}

  FileSystem& fs() const { return env_.live->fs; }
  const LiveNode& node() const { return *env_.live; }

  // A document that holds nothing is not evidence and is dropped.
  void Document(v1::SettingsDocument document, absl::string_view source, std::optional<int> rank = std::nullopt);

  // What the node does not have, by message id: evidence of kind LIVE_NODE, absent. No check fails or waits for it
  // that does not ask about it.
  void Absent(absl::string_view message_id, absl::string_view source, absl::string_view why = "");
  // What is there and could not be read: evidence of kind SETTINGS, failed. What compares nodes is then not performed.
  void Failed(absl::string_view message_id, absl::string_view source, absl::string_view why = "");
  // The same by a status; a source that is not there is no problem and says nothing.
  void FailedRead(absl::string_view source, const absl::Status& status);

 private:
  const CollectorEnv& env_;
  EvidenceSink sink_;
};

// The whole text of a small file of the node; /proc files say size 0 and are read to their end.
absl::StatusOr<std::string> ReadNodeText(FileSystem& fs, absl::string_view path, std::size_t bytes_max = 4 << 20);
// Its first line without blanks around; "" where it cannot be read.
std::string FirstLine(FileSystem& fs, absl::string_view path);
// Names in a folder, sorted by bytes; none where it cannot be listed.
std::vector<std::string> SortedNames(FileSystem& fs, absl::string_view folder);
// The path with all links followed within `fs`; as given where that fails.
std::string RealPathOn(FileSystem& fs, absl::string_view path);

}  // namespace paritect

#endif  // PARITECT_AGENT_LIVE_LIVE_REPORT_H_
