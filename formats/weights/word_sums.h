// Finds the one word in which two tensors differ from three sums over each, without their elements.
#ifndef PARITECT_FORMATS_WEIGHTS_WORD_SUMS_H_
#define PARITECT_FORMATS_WEIGHTS_WORD_SUMS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "formats/weights/dtype.h"
#include "paritect/v1/weights.pb.h"

namespace paritect {

// Adds up a tensor's words, in blocks of whole elements.
class WordSummer {
 public:
  explicit WordSummer(DType type);
  void Add(absl::string_view block);
  void Finish(v1::WordSums& result) const;

 private:
  template <typename Word>
  void AddWords(absl::string_view block);

  std::uint32_t word_bytes_;
  std::uint64_t words_ = 0;  // before the next block
  std::uint64_t sum_ = 0;
  std::uint64_t weighted_ = 0;
  std::uint64_t weighted_squared_ = 0;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_WORD_SUMS_H_
