// What all sources of a run say of its world size: plans, environment, launcher, logs, rank table, shard lists.
#ifndef PARITECT_CHECKS_SETTINGS_WORLD_SIZE_H_
#define PARITECT_CHECKS_SETTINGS_WORLD_SIZE_H_

#include <map>
#include <string>
#include <vector>

#include "checks/check.h"

namespace paritect {

struct WorldSizes {
  // Size -> who states it: "WORLD_SIZE=16 (env.txt:3)". After a resume with another size the lists of each segment
  // state their own: then what agrees with one of them stands under the last.
  std::map<int, std::vector<std::string>> told;

  int largest() const { return told.empty() ? 0 : told.rbegin()->first; }
  bool conflict() const { return told.size() > 1; }
  // "8: plan.yaml; 16: WORLD_SIZE=16 (env.txt:3)".
  std::string Text() const;
};

WorldSizes WorldSizesOf(const CheckContext& context, Side side, const RunView& run);

// Whether every run of both sides is one process by its evidence, so that what is asked of several does not arise; said
// in the result. Never where somebody recorded evidence of that kind (the beginnings of passes that the observer keeps
// are none): then it is looked at.
bool IsOneProcess(const CheckContext& context, v1::EvidenceKind recorded, v1::CheckResult& result);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SETTINGS_WORLD_SIZE_H_
