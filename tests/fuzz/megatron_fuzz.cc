// Folders of Megatron.
#include "tests/fuzz/weights_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paritect::FuzzWeightsFolder("megatron", paritect::FuzzInput(data, size));
  return 0;
}
