// Quantities that follow from several settings of a run: batch, world size, lengths of the schedule, the type in which
// it computes. Each carries the figures that it was made of, or the keys that it lacks; none is a guess.
#ifndef PARITECT_CHECKS_SETTINGS_DERIVED_H_
#define PARITECT_CHECKS_SETTINGS_DERIVED_H_

#include <optional>
#include <string>
#include <vector>

#include "checks/settings/sourced_value.h"
#include "checks/settings/view.h"

namespace paritect {

// Two sources of one side that disagree on a part of a quantity.
struct PartConflict {
  std::string key;
  SourcedValue value;  // the effective one
  SourcedValue other;
};

// A quantity that follows from several settings, with the figures it was made of.
struct Derived {
  std::optional<double> value;
  std::string text;                   // "4 x 8 x 8 = 256"
  std::vector<std::string> evidence;  // origins
  std::vector<std::string> lacking;   // keys without which it cannot be known
  // A stated value and a computed one that disagree, each with its origin; empty where they agree.
  std::vector<SourcedValue> disagreeing;
  std::vector<PartConflict> part_conflicts;
};

// per-device batch x accumulation x data-parallel size, or the stated global batch where one is.
Derived GlobalBatch(const SettingsView& view);
// What the sources of a run say of its world size: stated sizes, and nodes x processes per node where both are. Left
// out is what counts nodes: SLURM_NTASKS with one task a node, WORLD_SIZE as some job managers set it for torchrun.
std::vector<SourcedValue> StatedWorldSizes(const SettingsView& view);
// World size / (tensor x pipeline x context parallel), or the stated data-parallel size.
Derived DataParallelSize(const SettingsView& view);
// Warm-up in optimizer steps, from steps, iterations, samples, ratio or epochs.
Derived WarmupSteps(const SettingsView& view);
// Optimizer steps of the whole training.
Derived TotalSteps(const SettingsView& view);
// Optimizer steps over which the learning rate falls: as stated, else the whole training.
Derived DecaySteps(const SettingsView& view);
// Whether a source states that length.
bool StatesDecay(const SettingsView& view);
// Optimizer steps of one epoch: as stated, from the samples, or the whole training over its epochs.
Derived StepsPerEpoch(const SettingsView& view);
// The highest learning rate: lr_base, or what the warm-up of a DeepSpeed scheduler leads to, which replaces it.
const EffectiveValue* BaseRate(const SettingsView& view);
// "float16", "bfloat16", "float32" or "" where not known: the type in which the run computes, with its origin.
struct ComputeType {
  std::string dtype;
  std::string evidence;
  // Only the type of tensors is stated (dtype): mixed precision or the short type alone.
  bool of_tensors = false;
  // fp16 or bf16 as two sources of the run state it otherwise: which of them counts is not known.
  bool contradicted = false;
};
ComputeType ComputeTypeOf(const SettingsView& view);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SETTINGS_DERIVED_H_
