// Distributed checkpoints of PyTorch: metadata and chunks.
#include "tests/fuzz/weights_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paritect::FuzzWeightsFolder("torch-dcp", paritect::FuzzInput(data, size));
  return 0;
}
