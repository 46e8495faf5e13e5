// Dumps of msprobe: `dump.json` with statistics of what each module and operator took and gave in one step, and
// `construct.json` with the module around each.
//
// { "task", "level", "framework"?, "dump_data_dir", "data": {
//     "Functional.softmax.0.forward": { "input_args": [LEAF...], "input_kwargs": {NAME: LEAF}, "output": [LEAF...] },
//     "Functional.softmax.0.backward": { "input": [...], "output": [...] },
//     "Module.PATH.CLASS.forward.0": { ..., "parameters": {NAME: LEAF} },
//     "Module.PATH.CLASS.parameters_grad": { NAME: [LEAF] } } }
// LEAF: {"type": "torch.Tensor", "dtype", "shape", "Max", "Min", "Mean", "Norm", "md5"?}, {"type": "int", "value"}, a
// list of such, or null. Entries stand in order of execution. Source: Ascend/msprobe, data_collect of PyTorch and
// MindSpore.
#ifndef PARITECT_FORMATS_TENSORS_MSPROBE_DUMP_H_
#define PARITECT_FORMATS_TENSORS_MSPROBE_DUMP_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "paritect/v1/tensors.pb.h"

namespace paritect {

inline constexpr std::uint64_t kTensorDumpBytesMax = 512ull << 20;

// Whether the beginning of a file is that of a dump.
bool LooksLikeMsprobeDump(absl::string_view head);

// `construct`: the other file's text, or empty. InvalidArgument, DataLoss: damaged, with the place; ResourceExhausted.
absl::StatusOr<v1::TensorDump> ReadMsprobeDump(absl::string_view dump, absl::string_view construct);

// A call's name in its parts: "Functional.softmax.0.forward".
struct DumpedName {
  std::string call;       // without the direction: "Functional.softmax.0"
  std::string operator_;  // "softmax"; of a module its class
  bool is_module = false;
  v1::DumpedCall::Direction direction = v1::DumpedCall::DIRECTION_UNSPECIFIED;
};
DumpedName SplitDumpedName(absl::string_view name);

}  // namespace paritect

#endif  // PARITECT_FORMATS_TENSORS_MSPROBE_DUMP_H_
