// Models of several files by their index.
#include "tests/fuzz/weights_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paritect::FuzzWeightsFolder("safetensors", paritect::FuzzInput(data, size));
  return 0;
}
