// The format of evidence that the observer recorded (formats/observer/observed_run.h): settings, steps, lists, weights.
#ifndef PARITECT_CHECKS_OBSERVED_FORMAT_H_
#define PARITECT_CHECKS_OBSERVED_FORMAT_H_

namespace paritect {

inline constexpr char kObservedFormat[] = "observed";

}  // namespace paritect

#endif  // PARITECT_CHECKS_OBSERVED_FORMAT_H_
