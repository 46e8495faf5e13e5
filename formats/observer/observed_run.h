// What the observer recorded in the processes of one node, as the evidence that checks know: settings and facts
// (format "observed"), parameter groups, the printed model, steps, sample lists, weights, gradients, operators.
//
// Which processes count: those that trained (steps, or a forward with gradients). A data-loader worker tells its random
// state to the process that it was forked from; others have nothing to tell.
//
// Several incarnations: a process that replaced itself (exec) goes on in its file with a second `begin`; a restarted
// one has a file of its own. Of those that trained under one rank the last is the run; the others are noted, so that a
// crashed start is not mixed into it.
//
// Rank: of the process group, else of the launcher's variables; a process alone is rank 0 of 1.
#ifndef PARITECT_FORMATS_OBSERVER_OBSERVED_RUN_H_
#define PARITECT_FORMATS_OBSERVER_OBSERVED_RUN_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/observer/record.h"
#include "paritect/v1/evidence.pb.h"

namespace paritect {

struct ObservedProcess;

// One record file, read.
struct ObservedFile {
  std::string name;  // as origins of values name it
  RecordCounts counts;
  std::vector<std::shared_ptr<const ObservedProcess>> processes;  // incarnations, in order
};

// DataLoss: no record of the observer stands in it. A file that is cut, or damaged in places, is read as far as it
// goes.
absl::StatusOr<ObservedFile> ReadObservedFile(absl::string_view bytes, absl::string_view name);

// `file` of the evidence's sources: the record file's name. Sorted by rank.
std::vector<v1::Evidence> AssembleObserved(const std::vector<ObservedFile>& files);

// What a file holds, for people: its process, what of it trained, records by kind, what is not known or unread.
struct ObservedSummary {
  std::string process;  // "host-123-4567"
  std::string main;
  int incarnations = 0;
  bool trained = false;
  bool ended = false;
  std::vector<std::string> gaps;
};
ObservedSummary Summarise(const ObservedFile& file);

}  // namespace paritect

#endif  // PARITECT_FORMATS_OBSERVER_OBSERVED_RUN_H_
