// Archives of NumPy arrays: the list of tensors and the elements of each.
#include "tests/fuzz/weights_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paritect::FuzzWeightsFile("npz", paritect::FuzzInput(data, size));
  return 0;
}
