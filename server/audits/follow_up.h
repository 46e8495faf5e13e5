// The second round of an audit: which of the files that differ is cut off, which is only written with other line ends?
// Two file lists cannot tell; the nodes that hold the files can, for the few that differ. Asked once; without answers
// the report says less, never something else.
#ifndef PARITECT_SERVER_AUDITS_FOLLOW_UP_H_
#define PARITECT_SERVER_AUDITS_FOLLOW_UP_H_

#include <vector>

#include "checks/evidence_set.h"
#include "paritect/v1/fleet.pb.h"
#include "server/audits/gathering.h"

namespace paritect {

// The tasks of the second round, one a task that listed files; empty: nothing to ask. `evidence` was made of the
// bundles of `gathered`, in their order.
std::vector<v1::NodeTask> FileQuestionTasks(const EvidenceSet& evidence, const Gathered& gathered,
                                            const v1::AuditRun& run);

// Writes what the nodes answered into the file lists that were asked about.
void TakeFileAnswers(const v1::AuditRun& run, const GatheringPorts& ports, Gathered& gathered);

}  // namespace paritect

#endif  // PARITECT_SERVER_AUDITS_FOLLOW_UP_H_
