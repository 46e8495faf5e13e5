// The files that recorders of a training leave (opens of files, what the observer saw), in the folders that `paritect
// run` makes.
#ifndef PARITECT_AGENT_COLLECTORS_RECORD_FILES_H_
#define PARITECT_AGENT_COLLECTORS_RECORD_FILES_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/file_system.h"

namespace paritect {

struct RecordFiles {
  std::set<std::string> files;
  std::map<std::string, std::uint32_t> foreign;  // what another user put there, and who: no evidence
};

// Files at or below a path whose names end so. A path that is a file is taken whatever its name. In a folder that
// others may write to, the files of its owner (and root's) are records; anybody could have put the others there.
absl::Status FindRecordFiles(FileSystem& fs, const std::string& path, absl::Span<const absl::string_view> endings,
                             RecordFiles& found);

}  // namespace paritect

#endif  // PARITECT_AGENT_COLLECTORS_RECORD_FILES_H_
