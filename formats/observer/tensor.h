// A tensor of the observer's record as a fingerprint, and as the statistics that a dump holds.
#ifndef PARITECT_FORMATS_OBSERVER_TENSOR_H_
#define PARITECT_FORMATS_OBSERVER_TENSOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/document.h"
#include "formats/observer/record.h"
#include "paritect/v1/tensors.pb.h"
#include "paritect/v1/weights.pb.h"

namespace paritect {

// Fields that are not there, or of another type than the form says, are left unset.
v1::TensorFingerprint ObservedTensor(const DocumentNode& node);

// The digests of the tensors of a batch, or of what a model was given, as one text; "" where one has none.
std::string DigestOfTensors(const ObservedRecord& record);

// Of a shape as a list of extents.
std::uint64_t ElementsOf(const DocumentNode& shape);

// The digests of a record's tensors, the one with the most elements first: what a batch is known by where a model is
// given a part of it (inputs without labels).
std::vector<std::string> DigestsBySize(const ObservedRecord& record);

// What a dump would hold of it: `place` is "input.0", "output.0", ...
v1::DumpedTensor AsDumped(const v1::TensorFingerprint& tensor, absl::string_view place);

}  // namespace paritect

#endif  // PARITECT_FORMATS_OBSERVER_TENSOR_H_
