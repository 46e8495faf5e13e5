// Dumps of operators: read, never trusted.
#include "formats/tensors/msprobe_dump.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paritect;  // NOLINT(google-build-using-namespace)
  const absl::string_view bytes = FuzzInput(data, size);
  (void)LooksLikeMsprobeDump(bytes);
  const auto dump = ReadMsprobeDump(bytes, bytes.substr(bytes.size() / 2));
  const auto alone = ReadMsprobeDump(bytes, "");
  for (const auto* one : {&dump, &alone}) {
    if (!one->ok()) continue;
    for (int i = 0; i < (*one)->calls_size(); ++i) {
      const v1::DumpedCall& call = (*one)->calls(i);
      FuzzCheck(call.order() == i, "calls stand in order");
      for (const v1::DumpedTensor& tensor : call.outputs()) {
        for (const std::int64_t extent : tensor.shape()) FuzzCheck(extent >= 0, "no size is below 0");
      }
    }
  }
  return 0;
}
