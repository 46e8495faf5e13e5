// The folder of one recorded run: what `paritect run` writes beside the training, in forms that a plan names.
//
//   plan.yaml        names the rest, and the data sets of --plan; the folder can be given to `paritect check`
//   command.sh       the command line, secrets masked
//   environment.txt  variables of the allow-list; of the others the name alone
//   code.json        revision of the working folder, whether it is changed, and the tree that it makes
//                    (agent/code_state.h)
//   trace/           which process opened which file (libparitect-trace.so)
//   observe/         what happened inside the training processes (docs/observer.md)
//   output.log       what the command printed
#ifndef PARITECT_CLIENT_RUN_RUN_FOLDER_H_
#define PARITECT_CLIENT_RUN_RUN_FOLDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/command.h"
#include "paritect/v1/plan.pb.h"

namespace paritect {

struct RunRequest {
  std::string run;
  std::string folder;                    // under which the run's own folder is made
  v1::Plan plan;                         // of --plan; empty where there is none
  bool traced = true;                    // whether the recorder is there
  bool observed = false;                 // whether the observer is
  std::vector<std::string> words;        // the command; none: a job that is attached to
  std::vector<std::string> environment;  // "NAME=VALUE"
  std::int64_t began_unix_ms = 0;        // when the command is started
};

struct RunFolder {
  std::string path;
  // For the recorder: PATH/trace. Of root, whose programs may become other users and go on to record: a folder in it
  // that all may write to, with a name that only they are told (in their environment), so that nobody else finds it.
  std::string trace;
  std::string observe;  // likewise
};

// `path`, and what is above it. InvalidArgument: it cannot be made.
absl::Status MakeFolders(const std::string& path);

// Makes the folder FOLDER/RUN/NODE[-rankN][.2 …] and the files that stand before the command runs. InvalidArgument,
// PermissionDenied: it cannot be made.
absl::StatusOr<RunFolder> MakeRunFolder(CommandEnv& env, const RunRequest& request);

// "3" where the environment of a process that is wrapped by itself (srun paritect run …) tells its rank; "" else.
std::string RankOfEnvironment(const std::vector<std::string>& environment);
// "RANK=3 (torchrun) counts, not RANK_ID=0 (ascend)" where variables disagree on it; "" else.
std::string RankDisagreement(const std::vector<std::string>& environment);
// Whether it is the first process of its node: the one that speaks for what the node holds.
bool IsFirstOfNode(const std::vector<std::string>& environment);

// Where the plan's data sets stand, absolute, as written and with all links followed: what the recorder looks for.
std::vector<std::string> DataRoots(CommandEnv& env, const v1::Plan& plan, const std::vector<std::string>& more);

}  // namespace paritect

#endif  // PARITECT_CLIENT_RUN_RUN_FOLDER_H_
