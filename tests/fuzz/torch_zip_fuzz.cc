// Files of torch.save in the ZIP layout: the list of tensors and the elements of each.
#include "tests/fuzz/weights_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paritect::FuzzWeightsFile("torch-zip", paritect::FuzzInput(data, size));
  return 0;
}
