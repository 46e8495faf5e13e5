// What records inside a command: the preload library (agent/trace/) and the observer (agent/observer/), as variables of
// the command's environment.
#ifndef PARITECT_CLIENT_RUN_RECORDERS_H_
#define PARITECT_CLIENT_RUN_RECORDERS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/command.h"

namespace paritect {

inline constexpr absl::string_view kTraceLibrary = "libparitect-trace.so";
inline constexpr absl::string_view kObserveFull = "full";
inline constexpr absl::string_view kObserveLight = "light";

bool IsObserveLevel(absl::string_view level);

struct Recorders {
  std::string library;   // the preload library; empty: it is not here
  std::string observer;  // the folder of the observer's code; empty: not here, or not wanted
  bool traced = false;   // file opens are recorded
  std::string level = std::string(kObserveFull);
};

// Beside this program, as the build has them, or as the package installs them. A path that the loader would take apart
// (blanks, colons) counts as not there.
Recorders FindRecorders(CommandEnv& env);

struct RecordFolders {
  std::string trace;
  std::string observe;
};

// A variable that the observer needs. Lists of paths are put in front of, or behind, what stands there.
struct ObserverVariable {
  enum class Place { kAlone, kFirst, kLast } place = Place::kAlone;
  std::string name;
  std::string value;
};
std::vector<ObserverVariable> ObserverVariables(const Recorders& recorders, const std::string& folder);

// The command's environment: the caller's ("NAME=VALUE"), with the recorders added. `roots`: of the data whose opens
// are recorded; none: everything.
std::vector<std::string> CommandEnvironment(const std::vector<std::string>& environment, const Recorders& recorders,
                                            const RecordFolders& folders, const std::vector<std::string>& roots);

}  // namespace paritect

#endif  // PARITECT_CLIENT_RUN_RECORDERS_H_
