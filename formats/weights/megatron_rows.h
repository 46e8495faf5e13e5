// Rows of several matrices that Megatron-LM keeps in one tensor: query, key and value group by group, gate and up of
// each tensor-parallel rank, all experts of a rank. Told apart they are the same in every parallel layout, and what
// other frameworks name.
#ifndef PARITECT_FORMATS_WEIGHTS_MEGATRON_ROWS_H_
#define PARITECT_FORMATS_WEIGHTS_MEGATRON_ROWS_H_

#include <cstddef>

#include "formats/weights/stored_tensors.h"

namespace paritect {

// Of all ranks together: files may name one part of themselves as often as they like.
inline constexpr std::size_t kRowRunsMax = 1 << 20;

// linear_qkv.weight becomes linear_qkv.q.weight, .k.weight and .v.weight, linear_fc1.weight becomes .gate.weight and
// .up.weight; so do biases, and the names from before core. experts.weight1 and weight2 become
// experts.local_experts.N.linear_fc1.weight and linear_fc2.weight, each turned as it stands. What the file does not
// tell apart for sure stays whole, as does what would be made of more than `runs_left` runs of rows.
absl::Status SplitMegatronRows(StoredTensors& rank, std::size_t& runs_left);

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_MEGATRON_ROWS_H_
