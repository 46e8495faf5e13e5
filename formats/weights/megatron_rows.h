// Rows of several matrices that Megatron-LM keeps in one tensor: query, key and value group by group, gate and up of each
// tensor-parallel rank. Told apart they are the same in every parallel layout, and what other frameworks name.
#ifndef PARITECT_FORMATS_WEIGHTS_MEGATRON_ROWS_H_
#define PARITECT_FORMATS_WEIGHTS_MEGATRON_ROWS_H_

#include "formats/weights/stored_tensors.h"

namespace paritect {

// linear_qkv.weight becomes linear_qkv.q.weight, .k.weight and .v.weight, linear_fc1.weight becomes .gate.weight and
// .up.weight; so do biases, and the names from before core. What the file does not tell apart for sure stays whole.
absl::Status SplitMegatronRows(StoredTensors& rank);

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_MEGATRON_ROWS_H_
