// Profiles and answers that users write.
#include "common/document.h"
#include "rules/rules.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paritect;  // NOLINT(google-build-using-namespace)
  const auto root = ParseDocument(FuzzInput(data, size));
  if (!root.ok()) return 0;
  const auto profile = ReadProfile(*root, BuiltInRules().profile);
  if (profile.ok()) {
    FuzzCheck(profile->thresholds.size() == BuiltInRules().profile.thresholds.size(), "the thresholds are closed");
  }
  Profile answered = BuiltInRules().profile;
  (void)ReadAnswers(*root, answered);
  return 0;
}
