// Fingerprints of tensors while their elements stream by: digests, hashes that layout does not change, statistics that
// are the same to the last bit on every CPU, a histogram.
#ifndef PARITECT_FORMATS_WEIGHTS_FINGERPRINT_H_
#define PARITECT_FORMATS_WEIGHTS_FINGERPRINT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/weights/dtype.h"
#include "formats/weights/tensor_source.h"
#include "paritect/v1/weights.pb.h"

namespace paritect {

struct FingerprintOptions {
  bool sha256 = false;
  bool md5 = false;
  bool values = true;  // value hashes and histogram
};

// Takes one tensor's elements in C order, little-endian. Not thread-safe.
class TensorFingerprinter {
 public:
  virtual ~TensorFingerprinter() = default;
  virtual void Add(absl::string_view block) = 0;  // whole elements
  // Digests, hashes, statistics, histogram; once, at the end.
  virtual v1::TensorFingerprint Finish() = 0;
};

std::unique_ptr<TensorFingerprinter> NewTensorFingerprinter(DType type, const FingerprintOptions& options);

// Everything that `source` holds, in its order. A tensor that cannot be read carries its problem. Fails only where the
// sink or the file does (DataLoss).
absl::StatusOr<v1::Weights> FingerprintWeights(TensorSource& source, const FingerprintOptions& options);

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_FINGERPRINT_H_
