// Fingerprints of tensors while their elements stream by: digests, hashes that layout does not change, statistics that
// are the same to the last bit on every CPU, a histogram.
#ifndef PARITECT_FORMATS_WEIGHTS_FINGERPRINT_H_
#define PARITECT_FORMATS_WEIGHTS_FINGERPRINT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/weights/dtype.h"
#include "formats/weights/tensor_source.h"
#include "paritect/v1/weights.pb.h"

namespace paritect {

struct FingerprintOptions {
  bool sha256 = false;
  bool md5 = false;
  bool values = true;  // value hashes, histogram and sketch
};

// Takes one tensor's elements in C order, little-endian. Not thread-safe.
class TensorFingerprinter {
 public:
  virtual ~TensorFingerprinter() = default;
  // Values are kept at these places (ascending), for who holds two states of a tensor against each other. Before Add.
  virtual void KeepValuesAt(std::vector<std::uint64_t> places) = 0;
  virtual std::vector<double> kept_values() const = 0;
  virtual void Add(absl::string_view block) = 0;  // whole elements
  // Digests, hashes, statistics, histogram; once, at the end.
  virtual v1::TensorFingerprint Finish() = 0;
};

// `shape` is what the layout is told by; empty: of one axis.
std::unique_ptr<TensorFingerprinter> NewTensorFingerprinter(DType type, const FingerprintOptions& options,
                                                            const std::vector<std::int64_t>& shape = {});

// Two bits a value, as TensorFingerprint.sampled_signs has them.
std::string SignsOf(const std::vector<double>& values);

// What a caller wants to know while a checkpoint is read, all on its own thread; each may be empty.
struct FingerprintWatch {
  std::function<std::vector<std::uint64_t>(const TensorInfo&)> keep_places;  // see KeepValuesAt
  std::function<void(const TensorInfo&, std::vector<double>)> kept;
  std::function<void(std::size_t bytes)> read;
};

// Several tensors at the same time. Each thread has a source of its own.
struct FingerprintThreads {
  int count = 1;
  std::function<absl::StatusOr<std::unique_ptr<TensorSource>>()> open;  // the same checkpoint; from any thread
};

// Everything that `source` holds, in its order. A tensor that cannot be read carries its problem. Fails only where the
// file does (DataLoss). However many threads there are, the result is the same.
absl::StatusOr<v1::Weights> FingerprintWeights(TensorSource& source, const FingerprintOptions& options,
                                               const FingerprintWatch& watch = {},
                                               const FingerprintThreads& threads = {});

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_FINGERPRINT_H_
