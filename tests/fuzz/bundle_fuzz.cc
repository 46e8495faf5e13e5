// Evidence bundles carried from another machine.
#include "formats/bundle.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paritect;  // NOLINT(google-build-using-namespace)
  const absl::string_view bytes = FuzzInput(data, size);
  const auto bundle = ParseBundle(bytes);
  if (bundle.ok()) {
    const auto again = SerializeBundle(*bundle);
    FuzzCheck(again.ok(), "what was read can be written");
    FuzzCheck(ParseBundle(*again).ok(), "what was written can be read");
  }
  return 0;
}
