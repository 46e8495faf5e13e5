#include "checks/coverage.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace paritect {

std::vector<int> RankCoverage::Silent() const {
  std::vector<int> silent;
  for (int rank = 0; rank < world_size; ++rank) {
    if (!reported.contains(rank)) silent.push_back(rank);
  }
  return silent;
}

RankCoverage CoverRanks(const RunView& run, int stated_elsewhere) {
  RankCoverage coverage;
  bool anything = false;
  int stated_by_evidence = 0;
  for (const v1::Bundle* bundle : run.nodes) {
    coverage.world_size = std::max(coverage.world_size, bundle->plan().world_size());
    for (const v1::Evidence& evidence : bundle->evidence()) {
      const bool silent = evidence.problem().id() == "log_without_records";  // it is there and was read
      if (evidence.outcome() != v1::OUTCOME_COLLECTED && !silent) continue;
      anything = true;
      if (evidence.has_rank()) coverage.reported.insert(evidence.rank());
      if (evidence.has_shards()) {
        stated_by_evidence = std::max(stated_by_evidence, evidence.shards().world_size());
        if (evidence.shards().has_rank()) coverage.reported.insert(evidence.shards().rank());
      }
    }
  }
  if (coverage.world_size == 0) coverage.world_size = stated_by_evidence;
  if (coverage.world_size == 0) coverage.world_size = stated_elsewhere;
  if (coverage.world_size == 1 && anything) coverage.reported.insert(0);
  return coverage;
}

std::string FormatRanks(const std::vector<int>& ranks, std::size_t ranges_max) {
  std::string out;
  std::size_t ranges = 0;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i;
    while (end + 1 < ranks.size() && ranks[end + 1] == ranks[end] + 1) ++end;
    if (ranges++ == ranges_max) return absl::StrCat(out, ",...");
    absl::StrAppend(&out, out.empty() ? "" : ",", ranks[i]);
    if (end > i) absl::StrAppend(&out, "-", ranks[end]);
    i = end + 1;
  }
  return out;
}

}  // namespace paritect
