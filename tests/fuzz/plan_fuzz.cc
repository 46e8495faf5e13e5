// Collection plans and the rank ranges in them.
#include "common/utf8.h"
#include "formats/plan.h"
#include "re2/re2.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paritect;  // NOLINT(google-build-using-namespace)
  static const re2::RE2 kPlace("^[0-9]+:[0-9]+: ");
  const absl::string_view text = FuzzInput(data, size);
  const auto plan = ParsePlan(text);
  if (!plan.ok()) {
    FuzzCheck(re2::RE2::PartialMatch(std::string(plan.status().message()), kPlace), "an error says LINE:COLUMN");
  }
  if (text.size() < 4096) {
    const auto ranks = ParseRankRanges(text);
    FuzzCheck(!ranks.ok() || ranks->size() <= 1'000'000, "at most a million ranks");
  }
  return 0;
}
