// Long lists of a report as columns: a report in one HTML file comes from anywhere, to be verified.
#include <nlohmann/json.hpp>

#include "report/json.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paritect;  // NOLINT(google-build-using-namespace)
  const OrderedJson json = OrderedJson::parse(FuzzInput(data, size), nullptr, false);
  if (json.is_discarded()) return 0;
  const auto read = UnpackAll(json, {.values = 100'000, .bytes = 1 << 20});
  if (!read.ok()) return 0;
  FuzzCheck(read->dump().size() < (16 << 20), "what is read is bounded");
  if (!read->is_array()) return 0;
  const auto again = UnpackAll(PackRows(*read));
  FuzzCheck(again.ok(), "what was packed is read");
  // Names in another order are the same object.
  FuzzCheck(nlohmann::json::parse(again->dump()) == nlohmann::json::parse(read->dump()), "nothing is lost");
  return 0;
}
