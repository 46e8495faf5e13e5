// Dumps of both sides' first step, call by call in order of execution.
// Source: MindSpore precision checklist, checks 1 and 2: bisect to the first operator that is wrong; its limits:
// docs/thresholds.md.
#ifndef PARITECT_CHECKS_WEIGHTS_DUMPS_H_
#define PARITECT_CHECKS_WEIGHTS_DUMPS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checks/check.h"

namespace paritect {

struct DumpSource {
  const v1::Bundle* bundle = nullptr;
  const v1::Evidence* evidence = nullptr;
  const v1::TensorDump& dump() const { return evidence->tensor_dump(); }
  std::int32_t rank() const { return dump().has_rank() ? dump().rank() : -1; }
};

// The dumps of one step and rank on both sides.
struct DumpPair {
  DumpSource a;
  DumpSource b;
};
// What cannot be paired is said under `missing`.
std::vector<DumpPair> PairDumps(const CheckContext& context, v1::CheckResult& result);

// Calls of the same operation: by name, across frameworks by operation and how often it was called before.
struct CallPair {
  const v1::DumpedCall* a = nullptr;
  const v1::DumpedCall* b = nullptr;
};
std::vector<CallPair> PairCalls(const CheckContext& context, const DumpPair& dumps,
                                v1::DumpedCall::Direction direction);

// How far the second side's tensors are from the first's, of their size; infinite where one has no number or another
// number of elements.
struct CallDistance {
  double inputs = 0;
  double outputs = 0;
  double limit = 0;    // of the types that take part
  std::string output;  // place of the worst one
  bool known = false;  // both have statistics of an output
  bool other_arguments = false;
};
CallDistance DistanceOf(const CheckContext& context, const CallPair& pair);

// What stands at the end of the walk.
struct Divergence {
  enum class Kind {
    kNone,      // all that was paired agrees
    kOperator,  // inputs agree, the output does not
    kInputs,    // an input differs before any output did: another batch, other weights, or a call that was not dumped
    kRandom,    // the first to differ draws random numbers
    kDrift,     // differences grow over several operators: none is to blame alone
  } kind = Kind::kNone;
  CallPair at;
  CallDistance distance;
  bool first_call = false;  // of kInputs: nothing stands before it
  int compared = 0;
  int unpaired = 0;  // calls of the baseline without partner
};
Divergence FindDivergence(const CheckContext& context, const DumpPair& dumps, v1::DumpedCall::Direction direction);

}  // namespace paritect

#endif  // PARITECT_CHECKS_WEIGHTS_DUMPS_H_
