// The Python files of a source tree, read as training scripts. Shared by the collector, `inspect`, `scan` and `diff`.
#ifndef PARITECT_AGENT_COLLECTORS_SCRIPT_FILES_H_
#define PARITECT_AGENT_COLLECTORS_SCRIPT_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/file_system.h"
#include "formats/python/script_reader.h"
#include "paritect/v1/settings.pb.h"

namespace paritect {

// Adds the Python files below a folder, or a file with those beside and below it, in which it is then the entry (kept
// in `entry` where none is known yet). Paths begin with `label`. What belongs to an environment, a repository's store
// or a build is left out. NotFound, PermissionDenied, ...; ResourceExhausted: more than a source tree holds.
absl::Status AddScriptFiles(FileSystem& fs, const std::string& path, const std::string& label,
                            std::vector<ScriptSourceFile>& files, std::string& entry);

// Whether any of them was read: others are only known to be there.
bool HoldScripts(const std::vector<ScriptSourceFile>& files);

// What a launch script tells of the run: its entry script and the arguments given to it.
void UseLaunch(const v1::SettingsDocument& document, ScriptOptions& options);

}  // namespace paritect

#endif  // PARITECT_AGENT_COLLECTORS_SCRIPT_FILES_H_
