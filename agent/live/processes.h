// The training processes of a node, by what /proc shows: loaded libraries, open devices, command lines. Nothing is
// attached to, stopped or asked.
#ifndef PARITECT_AGENT_LIVE_PROCESSES_H_
#define PARITECT_AGENT_LIVE_PROCESSES_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/file_system.h"

namespace paritect {

struct TrainingProcess {
  int pid = 0;
  int parent = 0;
  int user = 0;
  std::vector<std::string> words;  // command line
  std::string environment_text;    // NUL-separated, as at exec
  std::map<std::string, std::string> environment;
  std::set<std::string> libraries;          // mapped *.so files, as the process sees them; "(deleted)" stripped
  std::set<std::string> deleted_libraries;  // those that were exchanged or removed on disk since
  std::vector<std::string> devices;         // "davinci0", "nvidia3"
  std::string executable, folder;           // /proc/PID/exe, cwd
  std::string cpus_allowed;                 // "0-31,64-95"
  std::optional<int> rank;
  std::string rank_disagreement;  // "RANK=3 (torchrun) counts, not RANK_ID=0 (ascend)"; "" where nothing disagrees
  bool other_mounts = false;      // other mounts than this program's (which may be confined itself)
  std::string container;          // "yes", "no" by the mounts of process 1; "" where these are not to be seen

  std::string Variable(const std::string& name) const;  // "" where unset
};

// The files as the process sees them: its own root where it has other mounts.
std::unique_ptr<FileSystem> FilesOf(FileSystem& fs, const TrainingProcess& process);

struct UnreadProcess {
  int pid = 0;
  int user = 0;
  std::string command;  // first words, secrets masked
  std::string why;
};

struct ProcessSurvey {
  // One training: its ranks (or its only process), by rank, then by process number. Data-loader workers and
  // launchers are not among them.
  std::vector<TrainingProcess> ranks;
  // The command that started them, where /proc shows it: torchrun, msrun, ...
  std::optional<TrainingProcess> launcher;
  int workers = 0;
  // Other trainings on the node, as text. `ambiguous`: none of them stands out, and `ranks` is empty.
  std::vector<std::string> others;
  bool ambiguous = false;
  // Processes that look like training by their command line, or that the driver names, and may not be looked at.
  std::vector<UnreadProcess> unread;
  bool hidden = false;  // /proc is mounted so that other users' processes are not seen
};

// `device_processes`: those that the driver says use a device. `wanted`: a process of the training meant, where
// a person says so. Processes that end meanwhile are left out in silence.
ProcessSurvey SurveyProcesses(FileSystem& fs, const std::set<int>& device_processes, std::optional<int> wanted);

}  // namespace paritect

#endif  // PARITECT_AGENT_LIVE_PROCESSES_H_
