// A work folder holds more than one run left: earlier logs, copies set aside, launch scripts of other trainings, runs
// of a recorder. Which of several files of one kind are of the run that the folder is of is told by evidence, in this
// order:
//   logs      of one format, from the same first step, with other values: of other runs. The run's own is the one that
//             a launch script names with its folder; that does not lie in a further run's folder; that a launch script
//             of this folder names; that a log of another format agrees with; that alone reaches its announced end
//   launches  none whose entry is named for other work ("evaluate.py") and that names no log that is here; the one that
//             names the log; that agrees with what the log prints of its arguments
//   documents of one folder and form: those that the launch script names, where it names any
// What is of another run is left out with its reason, and so is what lies beside it in a folder of its own. Where
// nothing tells, no launch script is taken; logs stay, and are several runs.
#ifndef PARITECT_AGENT_DRAFTING_ONE_OF_SEVERAL_H_
#define PARITECT_AGENT_DRAFTING_ONE_OF_SEVERAL_H_

#include <string>
#include <vector>

#include "agent/drafting/drafted_data.h"
#include "agent/drafting/taken.h"

namespace paritect {

// "run.sh.bak", "run - Copy.sh" beside "run.sh": a copy that somebody set aside. Words: rules/data/file_names.yaml.
void LeaveOutCopies(RecognisedFiles& files, std::vector<NotTaken>& not_taken);

// Files of nodes' folders are not compared. Returns logs of several runs of which nothing tells the one that counts.
std::vector<std::string> LeaveOutOtherRuns(RecognisedFiles& files, std::vector<NotTaken>& not_taken);

void LeaveOutOtherSettings(RecognisedFiles& files, std::vector<NotTaken>& not_taken);

}  // namespace paritect

#endif  // PARITECT_AGENT_DRAFTING_ONE_OF_SEVERAL_H_
