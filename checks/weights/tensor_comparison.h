// Whether two tensors hold the same values: bytes, values in another layout or type, or something else, and where.
#ifndef PARITECT_CHECKS_WEIGHTS_TENSOR_COMPARISON_H_
#define PARITECT_CHECKS_WEIGHTS_TENSOR_COMPARISON_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checks/weights/matching.h"

namespace paritect {

enum class Sameness {
  kSameBytes,
  kSameValues,  // in another type that holds them
  kTransposed,  // the same values, the shape's sizes in another order
  kReshaped,    // the same values (beside zeros that pad), another shape
  kParts,       // the same values, in one tensor or in several
  kRounded,     // one is the other rounded to its type
  kTruncated,   // ... rounded in another way than to nearest even
  kReordered,   // the same values at other places of one shape: no layout explains it
  kDiffers,
  kUnknown,  // digests are missing
};

bool IsSame(Sameness sameness);
// "same_bytes", "transposed", ...: for JSON and tables.
std::string SamenessWord(Sameness sameness);

struct PlaneOfPairs {
  bool transposes = false;  // other tensors of the pair of models are transposed: a square one may be too
};

Sameness Compare(const TensorPair& pair, const PlaneOfPairs& plane = {});

// What fingerprints tell of a difference. Of pairs one to one.
struct DifferenceFigures {
  std::optional<double> relative_l2;  // |a - b| / |a|, estimated
  std::optional<double> cosine;
  double a_l2 = 0, b_l2 = 0, a_mean = 0, b_mean = 0, a_deviation = 0, b_deviation = 0;
};
DifferenceFigures FiguresOf(const v1::TensorFingerprint& a, const v1::TensorFingerprint& b);

double L2Of(const v1::TensorFingerprint& tensor);
double MeanOf(const v1::TensorFingerprint& tensor);
double DeviationOf(const v1::TensorFingerprint& tensor);

// Which bytes differ, of two tensors of one shape and type.
struct DifferencePlace {
  std::vector<int> chunks;            // of 4 MiB, 0-based; empty: the tensor is smaller
  std::optional<std::uint64_t> word;  // the only one that differs
  std::uint32_t word_bytes = 0;
  std::int64_t change = 0;  // of that word as a number, b minus a
  bool one_bit = false;
};
DifferencePlace PlaceOf(const v1::TensorFingerprint& a, const v1::TensorFingerprint& b);

// The element's place, "[3, 0, 17]", for a word of it.
std::string ElementText(const v1::TensorFingerprint& tensor, std::uint64_t word, std::uint32_t word_bytes);

// Scalar products of sketches; nullopt: no sketches that can be held against each other.
struct SketchProducts {
  double aa = 0, ab = 0, bb = 0;
  std::size_t places = 0;
};
std::optional<SketchProducts> ProductsOf(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace paritect

#endif  // PARITECT_CHECKS_WEIGHTS_TENSOR_COMPARISON_H_
