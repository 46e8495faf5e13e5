// Pickles and files of torch.save: walked, never run.
#include "formats/pickle.h"
#include "formats/settings/settings_format.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paritect;  // NOLINT(google-build-using-namespace)
  const absl::string_view bytes = FuzzInput(data, size);
  PickleLimits limits;
  limits.values_max = 10'000;
  const auto pickle = ReadPickle(bytes, limits);
  if (pickle.ok()) {
    const auto count = static_cast<std::int32_t>(pickle->values.size());
    FuzzCheck(pickle->bytes <= bytes.size(), "a pickle ends within its bytes");
    FuzzCheck(pickle->root >= 0 && pickle->root < count, "the root is a value");
    for (const PickleValue& value : pickle->values) {
      for (const std::int32_t item : value.items) FuzzCheck(item >= 0 && item < count, "an item is a value");
    }
  }
  (void)TorchPickleBytes(bytes);
  (void)FindSettingsFormat("hf-training-args")->parse(bytes, "training_args.bin");
  return 0;
}
