// The contract of a collector: reads one kind of source that a plan names and emits evidence.
//
// Failure is evidence, never silence. How a status becomes an outcome (one table for all):
//   NotFound, Unimplemented                                   absent   the source or its format is not here
//   PermissionDenied, Unavailable, DeadlineExceeded,
//   ResourceExhausted, Internal, DataLoss, FailedPrecondition  failed   could not look, or damaged
// Collectors read only; they run in the order of the list; what they emit comes from one thread.
#ifndef PARITECT_AGENT_COLLECTOR_H_
#define PARITECT_AGENT_COLLECTOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/file_system.h"
#include "formats/evidence_parts.h"
#include "paritect/v1/evidence.pb.h"
#include "paritect/v1/plan.pb.h"
#include "rules/rules.h"

namespace paritect {

// Where evidence goes: a function of one, and where its owner writes bytes, one for lists that need not become
// messages. Refers to both functions.
class EvidenceSink {
 public:
  using One = absl::FunctionRef<void(v1::Evidence)>;
  using List = absl::FunctionRef<void(v1::Evidence, FilesOfList)>;

  template <typename F, typename = std::enable_if_t<std::is_invocable_v<const F&, v1::Evidence>>>
  EvidenceSink(const F& one) : one_(one) {}  // NOLINT(google-explicit-constructor)
  EvidenceSink(One one, List list) : one_(one), list_(list) {}

  void operator()(v1::Evidence evidence) const { one_(std::move(evidence)); }
  // `evidence` has its list without files, whose texts may be in any encoding.
  void AddList(v1::Evidence evidence, FilesOfList files) const;

 private:
  One one_;
  std::optional<List> list_;
};

struct LiveNode;  // agent/live/live_node.h

// How far a collection is.
struct CollectProgress {
  absl::string_view stage;  // the collector's name
  std::int64_t files_done = 0;
  std::int64_t files_total = 0;  // 0: not known
  std::int64_t bytes_done = 0;
  std::int64_t bytes_total = 0;
};

struct CollectorEnv {
  FileSystem& fs;
  const Rules& rules;
  // The evidence leaves this machine in a bundle: nobody can ask the files again later.
  bool for_bundle = false;
  // Withheld values are hashed with it (agent/redaction.h); empty: they leave no trace but their name.
  std::string redaction_key;
  // Names of settings (globs) whose values may leave in clear though they look like secrets; only what a person of this
  // node says: the plan of a local command, an agent's configuration.
  std::vector<std::string> in_clear;
  // The node that `live: true` reads; nullptr: this program reads none.
  const LiveNode* live = nullptr;
  // Whether the node's running training belongs to the plan. An agent's default is to read the node too, but a plan
  // that names logs or settings tells of a run of its own, which another job on the node must not be mixed into.
  bool live_processes = true;
  // Folder of the digest cache (agent/datasets/digest_cache.h), so that unchanged files are not read again; empty: all
  // are read.
  std::string digest_cache;
  bool read_all = false;       // ... also those that the cache knows; what is read is kept there all the same
  bool past_cache = false;     // data sets are read from the medium, not from what memory holds of it; implies read_all
  int dataset_jobs = 0;        // files hashed at the same time; 0: few, a training host has better things to do
  int log_jobs = 1;            // logs, tensors read at the same time: `fs` is then asked from several threads
  std::set<std::string> only;  // collectors that are run, by name; empty: all
  // What collectors gave before, by name: they are not run again.
  std::map<std::string, std::vector<v1::Evidence>> given;
  // Told a few times a second how far the work is, on the collection's thread; empty: nobody asks.
  std::function<void(const CollectProgress&)> progress;
};

struct Collector {
  absl::string_view name;  // the plan key it serves
  absl::string_view description;
  void (*collect)(const CollectorEnv& env, const v1::Plan& plan, EvidenceSink sink);
  // Its reading takes long: it is left out where nothing that was asked looks at what it gives.
  bool costly = false;
};

absl::Span<const Collector* const> AllCollectors();

// Evidence that something is absent or failed, by the table above. `source` is the path as the plan names it.
v1::Evidence ProblemEvidence(v1::EvidenceKind kind, absl::string_view source, const absl::Status& status);

// The same with a message id of the catalogue.
v1::Evidence ProblemEvidence(v1::EvidenceKind kind, absl::string_view source, v1::Outcome outcome,
                             absl::string_view message_id, absl::string_view why = "");

// What was read of `source`; what it holds is for the caller to set.
v1::Evidence CollectedEvidence(v1::EvidenceKind kind, absl::string_view source);

// Where a path of the plan stands on disk.
std::string ResolvePath(const v1::Plan& plan, absl::string_view path);

}  // namespace paritect

#endif  // PARITECT_AGENT_COLLECTOR_H_
