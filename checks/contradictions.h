// Evidence that contradicts itself (rules/data/contradictions.yaml). Its reader has left out what rests on the part
// that cannot be true; here is what it says of that: evidence.integrity.records tells it, and no check that rests on
// that part passes, whatever else it finds to compare.
#ifndef PARITECT_CHECKS_CONTRADICTIONS_H_
#define PARITECT_CHECKS_CONTRADICTIONS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "checks/check.h"

namespace paritect {

struct Told {
  std::string kind;
  std::string part;
  std::string told, other;
  std::string where;   // "rank 3 of npu-01"
  std::string origin;  // "observe/npu-01-10-7.jsonl:12"
};

// Of a side's runs, in the order of its bundles. Made once an audit.
const std::vector<Told>& ContradictionsOf(const CheckContext& context, Side side);

// Whether anything was collected that could contradict itself.
bool AnyObserved(const CheckContext& context);

// Under `missing` of a check: the parts that it rests on and that nothing can be taken from.
void RequireAgreement(const CheckContext& context, absl::string_view check, v1::CheckResult& result);

}  // namespace paritect

#endif  // PARITECT_CHECKS_CONTRADICTIONS_H_
