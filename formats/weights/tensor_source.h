// What a reader of checkpoints gives: the list of tensors, and the elements of each as a stream. A reader never runs or
// resolves what a file names, and takes memory in proportion to the list, not to the tensors.
#ifndef PARITECT_FORMATS_WEIGHTS_TENSOR_SOURCE_H_
#define PARITECT_FORMATS_WEIGHTS_TENSOR_SOURCE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "formats/weights/dtype.h"
#include "paritect/v1/weights.pb.h"

namespace paritect {

// A block holds whole elements, at most this much.
inline constexpr std::size_t kTensorBlockBytesMax = 256 << 10;

struct TensorInfo {
  std::string name;  // UTF-8; keys of nested dictionaries joined by '.'
  DType dtype = DType::kF32;
  std::string dtype_word;           // as shown; differs from the type's own word only where that has none
  std::vector<std::int64_t> shape;  // outermost first
  std::uint64_t elements = 0;       // product of the shape, checked
  std::uint64_t bytes = 0;          // of the elements, without gaps
  v1::TensorRole role = v1::TENSOR_ROLE_UNSPECIFIED;
  std::string alias_of;  // name of the tensor before it that shares its storage and view
  std::string device;
  std::string file;      // of a folder or index
  std::optional<bool> requires_grad;  // where the file says whether it is trained
  std::string unreadable;  // why its elements cannot be given (a type that has no plain form, a part that is missing)
};

// Not thread-safe: one source a thread.
class TensorSource {
 public:
  virtual ~TensorSource() = default;

  // In the file's order.
  virtual const std::vector<TensorInfo>& tensors() const = 0;
  // Gives the elements of tensors()[index] in C order, little-endian, in blocks. Stops with the sink's error. DataLoss:
  // the file ends before; FailedPrecondition: it cannot be read (TensorInfo::unreadable).
  virtual absl::Status Read(std::size_t index, absl::FunctionRef<absl::Status(absl::string_view block)> sink) = 0;
  // Everything else: format, facts, place, notes, what is missing. Its `tensors` are those that come as fingerprints
  // and have no elements to read (a table of tensors).
  virtual const v1::Weights& about() const = 0;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_TENSOR_SOURCE_H_
