// Folders of DeepSpeed.
#include "tests/fuzz/weights_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paritect::FuzzWeightsFolder("deepspeed-zero", paritect::FuzzInput(data, size));
  return 0;
}
