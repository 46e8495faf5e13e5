// Which variables of its environment tell a process its place in the job, and which of them count where they disagree.
// Data, rule of precedence and reasons: rules/data/launchers.yaml.
#ifndef PARITECT_RULES_LAUNCHERS_H_
#define PARITECT_RULES_LAUNCHERS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/document.h"

namespace paritect {

// What a variable tells.
enum class LauncherField {
  kRank,
  kWorldSize,
  kLocalRank,
  kLocalSize,
  kNodeRank,
  kNodeIndex,
  kRestarts,
  kTasks,   // as a batch script has it: of nodes or of processes
  kBeside,  // recorded, and read by nobody
};

struct Launcher {
  std::string name;
  std::vector<std::string> when;  // one of these is set; empty: always
  std::map<LauncherField, std::vector<std::string>> variables;
  bool needs_size = false;
  bool counts_processes = false;  // else its ranks may be nodes'
  std::string source;
};

// Where the processes of one training meet; or `job`, the number of the job that they are of.
struct JobVariables {
  std::string host, port, job;
};

// A process's place, by its environment.
struct LaunchPlace {
  std::optional<std::int32_t> rank, world_size, local_rank, local_size, node_rank;
  std::int32_t restarts = 0;
  // The rank is a process's: the launcher gives each one its own, or started several on the node. Else a launcher of
  // nodes may have given one rank to a whole node.
  bool of_process = false;
  std::string launcher;  // whose rank it is; "" where no variable tells it
  // "RANK_ID=0 (ascend)" beside "OMPI_COMM_WORLD_RANK=3 (openmpi)": others that give another rank, and the one that
  // counts. Both empty where nothing disagrees.
  std::string counted, disagreeing;
};

// The value of a variable; "" where it is not set.
using VariableLookup = absl::FunctionRef<absl::string_view(absl::string_view name)>;

class LauncherTable {
 public:
  LaunchPlace PlaceOf(VariableLookup lookup) const;
  // The same of "NAME=VALUE" texts, as an environment is kept; of a name that stands twice the first counts.
  LaunchPlace PlaceOf(const std::vector<std::string>& environment) const;
  // "host:port", "job 17"; "" where nothing tells.
  std::string JobOf(VariableLookup lookup) const;

  // Whether the variable tells a process its place: what is recorded of its environment.
  bool Tells(absl::string_view variable) const { return place_.contains(variable); }
  bool IsField(LauncherField field, absl::string_view variable) const;
  // Whether it is a world size where a launcher gives each process a rank of its own.
  bool IsProcessCount(absl::string_view variable) const;
  // Whether it is a world size that may be of nodes. Several lines may have one name: both may hold.
  bool MayCountNodes(absl::string_view variable) const;
  // Whether it is the number of a job (of Slurm).
  bool IsJobNumber(absl::string_view variable) const;

  const std::vector<Launcher>& launchers() const { return launchers_; }
  const std::set<std::string, std::less<>>& place_variables() const { return place_; }
  // These, and those that processes of one training share.
  const std::set<std::string, std::less<>>& variables() const { return all_; }

 private:
  friend absl::StatusOr<LauncherTable> ReadLaunchers(const DocumentNode& root);

  std::vector<Launcher> launchers_;
  std::vector<JobVariables> jobs_;
  std::set<std::string, std::less<>> place_, all_;
};

// InvalidArgument "LINE:COLUMN: ...".
absl::StatusOr<LauncherTable> ReadLaunchers(const DocumentNode& root);

// The embedded table, loaded once.
const LauncherTable& BuiltInLaunchers();

}  // namespace paritect

#endif  // PARITECT_RULES_LAUNCHERS_H_
