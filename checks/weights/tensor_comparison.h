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
  kTransposed,  // the same values, axes in another order
  kReshaped,    // the same values in the same order (beside zeros that pad), another shape
  kParts,       // the same values, in one tensor or in several
  kRounded,     // one is the other rounded to its type
  kTruncated,   // ... rounded in another way than to nearest even
  // The same values at wrong places:
  kReordered,       // no layout explains it
  kMisread,         // reshaped where it had to be transposed
  kTurned,          // transposed, and others of its kind are not
  kNotTurned,       // not transposed, and others of its kind are
  kPartsExchanged,  // parts of a fused tensor in another order
  kUnplaced,        // the same values; whether at the right places is not known
  kMoreRows,        // a vocabulary with rows of no word on one side: those of words have no hash of their own
  kDiffers,
  kUnknown,  // digests are missing
};

bool IsSame(Sameness sameness);
// All the same values, wherever they stand: no other draw.
bool HoldsSameValues(Sameness sameness);
bool IsMisplaced(Sameness sameness);
// "same_bytes", "transposed", ...: for JSON and tables.
std::string SamenessWord(Sameness sameness);

// By the evidence of the pair alone: a square matrix that is transposed may have to be or not.
Sameness Compare(const TensorPair& pair);

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
