// TensorFlow bundles: the index and its data.
#include "tests/fuzz/weights_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paritect::FuzzWeightsFolder("tf-bundle", paritect::FuzzInput(data, size));
  return 0;
}
