#include "checks/weights/counters.h"

#include "common/training_counters.h"

namespace paritect {

std::map<std::string, double> CountersOf(const Checkpoint& checkpoint) {
  std::map<std::string, double> counters;
  for (const v1::Weights* piece : checkpoint.pieces) {
    for (const v1::CheckpointFact& fact : piece->facts()) {
      if (!IsTrainingCounter(fact.name())) continue;
      if (fact.value().has_integer()) counters[fact.name()] = static_cast<double>(fact.value().integer());
      if (fact.value().has_number()) counters[fact.name()] = fact.value().number();
    }
  }
  for (const v1::TensorFingerprint* tensor : checkpoint.tensors) {
    const bool scalar = ElementsOf(*tensor) == 1 && tensor->statistics().finite() == 1;
    if (scalar && IsTrainingCounter(tensor->name())) counters[tensor->name()] = tensor->statistics().min();
  }
  return counters;
}

std::optional<std::pair<std::string, double>> BeyondItsStep(const Checkpoint& checkpoint) {
  for (const auto& [name, value] : CountersOf(checkpoint)) {
    if (IsUpdateCounter(name) && value > static_cast<double>(checkpoint.step) + 1) return std::pair(name, value);
  }
  return std::nullopt;
}

}  // namespace paritect
