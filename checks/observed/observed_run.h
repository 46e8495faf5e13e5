// What the observer saw in the processes of one run, rank by rank: facts by name and scope (docs/observer.md,
// formats/observer/). Settings among them stand in the view of settings; here is what no setting says.
//
// A record may lack something (the observer came late, gave up at a place, its file was full): then what it shows
// counts, and what it does not show proves nothing.
#ifndef PARITECT_CHECKS_OBSERVED_OBSERVED_RUN_H_
#define PARITECT_CHECKS_OBSERVED_OBSERVED_RUN_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checks/check.h"
#include "checks/evidence_set.h"

namespace paritect {

struct ObservedFact {
  std::string key;  // without "observed."
  std::string value;
  std::string scope;
  std::string origin;  // "observe/host-1-2.jsonl:17"
};

struct ObservedRank {
  std::int32_t rank = -1;
  std::string where;                // "rank 3 of npu-01"
  std::vector<ObservedFact> facts;  // in the order of the record
  std::vector<ObservedFact> gaps;   // scope: what kind; value: where

  const ObservedFact* Find(absl::string_view key, absl::string_view scope = "") const;
  std::optional<std::int64_t> Count(absl::string_view key, absl::string_view scope = "") const;
  bool Is(absl::string_view key, absl::string_view scope = "") const;  // "true"
  // Scopes that have the key, each once, in order.
  std::vector<std::string> ScopesOf(absl::string_view key) const;
};

class ObservedRun {
 public:
  // Made once an audit. `run` points into the context's evidence.
  static const ObservedRun& Of(const CheckContext& context, const RunView& run);

  bool seen() const { return !ranks_.empty(); }
  bool whole() const;
  // By rank; those without one last.
  const std::vector<ObservedRank>& ranks() const { return ranks_; }
  const ObservedRank& first() const { return ranks_.front(); }
  // Stated by the process groups; 0: not known.
  int world_size() const { return world_size_; }

 private:
  std::vector<ObservedRank> ranks_;
  int world_size_ = 0;
};

// Says under `missing` what the records of a run lack.
void AddObservedGaps(const CheckContext& context, v1::CheckResult& result, const ObservedRun& observed);

// The baseline's first run that was observed with every migrated one that was.
struct ObservedPair {
  RunView baseline;
  RunView migrated;
};
std::vector<ObservedPair> ObservedPairs(const CheckContext& context);

}  // namespace paritect

#endif  // PARITECT_CHECKS_OBSERVED_OBSERVED_RUN_H_
