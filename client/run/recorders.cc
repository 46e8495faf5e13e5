#include "client/run/recorders.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/file_system.h"

namespace paritect {
namespace {

constexpr std::size_t kRootsMax = 32;         // of agent/trace/trace_settings.c
constexpr std::size_t kRootBytesMax = 16384;  // likewise
constexpr absl::string_view kPreload = "LD_PRELOAD";

// The loader and Python take blanks and colons for separators.
bool IsPlain(const std::string& path) {
  return path.find_first_of(" :'\\\n") == std::string::npos;
}

std::string FindBeside(CommandEnv& env, absl::string_view stated, absl::string_view name, absl::string_view probe) {
  std::vector<std::string> places;
  if (std::string place = env.getenv(std::string(stated)); !place.empty()) places.push_back(place);
  if (auto self = env.fs.ReadLink("/proc/self/exe"); self.ok()) {
    const std::string folder(DirName(*self));
    places.push_back(absl::StrCat(folder, "/", name));
    places.push_back(absl::StrCat(folder, "/../lib/paritect/", name));
  }
  for (const std::string& place : places) {
    if (env.fs.Stat(absl::StrCat(place, probe)).ok()) return IsPlain(place) ? place : "";
  }
  return "";
}

std::string Joined(const ObserverVariable& variable, const std::string& old) {
  using Place = ObserverVariable::Place;
  if (variable.place == Place::kAlone || old.empty()) return variable.value;
  return variable.place == Place::kFirst ? absl::StrCat(variable.value, ":", old)
                                         : absl::StrCat(old, ":", variable.value);
}

// Sets or extends one variable of an environment.
void Put(std::vector<std::string>& environment, const ObserverVariable& variable) {
  const std::string prefix = absl::StrCat(variable.name, "=");
  std::string old;
  const auto end = std::remove_if(environment.begin(), environment.end(), [&](const std::string& one) {
    if (!absl::StartsWith(one, prefix)) return false;
    old = one.substr(prefix.size());
    return true;
  });
  environment.erase(end, environment.end());
  environment.push_back(prefix + Joined(variable, old));
}

// A library that the user preloads stays the first.
ObserverVariable Preload(const Recorders& recorders) {
  return {ObserverVariable::Place::kLast, std::string(kPreload), recorders.library};
}

void AddTrace(const Recorders& recorders, const std::string& trace, const std::vector<std::string>& roots,
              std::vector<std::string>& out) {
  Put(out, Preload(recorders));
  out.push_back(absl::StrCat("PARITECT_TRACE_DIR=", trace));
  // More than the recorder holds, or names that it would take apart: then it records everything.
  const std::string joined = absl::StrJoin(roots, ":");
  const bool writable =
      !roots.empty() && roots.size() <= kRootsMax && joined.size() < kRootBytesMax &&
      std::none_of(roots.begin(), roots.end(), [](const std::string& root) { return absl::StrContains(root, ':'); });
  if (writable) out.push_back(absl::StrCat("PARITECT_TRACE_ROOTS=", joined));
}

}  // namespace

bool IsObserveLevel(absl::string_view level) {
  return level == kObserveFull || level == kObserveLight;
}

Recorders FindRecorders(CommandEnv& env) {
  Recorders found;
  found.library = FindBeside(env, "PARITECT_TRACE_LIBRARY", kTraceLibrary, "");
  found.observer = FindBeside(env, "PARITECT_OBSERVER", "observer", "/start.py");
  return found;
}

// Named PYTHON... so that launchers which hand on nothing else (DeepSpeed's) hand them on.
std::vector<ObserverVariable> ObserverVariables(const Recorders& recorders, const std::string& folder) {
  using Place = ObserverVariable::Place;
  std::vector<ObserverVariable> variables = {
      {Place::kAlone, "PYTHON_PARITECT_OBSERVE", folder},
      {Place::kAlone, "PYTHON_PARITECT_OBSERVER", recorders.observer},
      {Place::kAlone, "PYTHON_PARITECT_LEVEL", recorders.level},
      {Place::kFirst, "PYTHONPATH", absl::StrCat(recorders.observer, "/site")},
  };
  if (!recorders.library.empty()) variables.push_back(Preload(recorders));
  return variables;
}

std::vector<std::string> CommandEnvironment(const std::vector<std::string>& environment, const Recorders& recorders,
                                            const RecordFolders& folders, const std::vector<std::string>& roots) {
  std::vector<std::string> out;
  for (const std::string& one : environment) {
    // Of a recording around this one.
    if (absl::StartsWith(one, "PARITECT_TRACE_") || absl::StartsWith(one, "PYTHON_PARITECT_")) continue;
    out.push_back(one);
  }
  if (recorders.traced) AddTrace(recorders, folders.trace, roots, out);
  if (recorders.observer.empty()) return out;
  for (const ObserverVariable& variable : ObserverVariables(recorders, folders.observe)) {
    if (variable.name == kPreload && recorders.traced) continue;  // it is there
    Put(out, variable);
  }
  return out;
}

}  // namespace paritect
