// The list, expanded twice: declarations, then the table. A name without its file does not link; a
// file without its line is found by tests/tidy_test.cc. No static registrars: they vanish from static
// libraries.
#include "checks/check.h"

namespace paritect {

#define PARITECT_CHECK(name) extern const Check k##name;
#include "checks/all_checks.inc"
#undef PARITECT_CHECK

absl::Span<const Check* const> AllChecks() {
  static constexpr const Check* kAll[] = {
#define PARITECT_CHECK(name) &k##name,
#include "checks/all_checks.inc"
#undef PARITECT_CHECK
  };
  return kAll;
}

}  // namespace paritect
