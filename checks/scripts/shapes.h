// Expressions that two scripts build in the same way, but for constants: `0.4 * loss` against `0.5 * loss`. What is
// written in another way may come to the same; this does not.
#ifndef PARITECT_CHECKS_SCRIPTS_SHAPES_H_
#define PARITECT_CHECKS_SCRIPTS_SHAPES_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace paritect {

// The constants in which two expressions differ, in their order; nullopt where they differ in more, or in none.
// Which part of a sample is taken (`x[0]`), and what samples are read from ("each of LOADER(...)"), is no constant.
std::optional<std::vector<std::pair<std::string, std::string>>> OtherConstants(absl::string_view a,
                                                                               absl::string_view b);

// Adds the constants of an expression, and "option NAME" for those whose value the source does not tell.
void AddConstants(absl::string_view symbol, std::multiset<std::string>& constants);

// How often a loop over `range(90)`, `range(1, 91)` turns; nullopt where constants alone do not tell.
std::optional<std::int64_t> TurnsOf(absl::string_view over);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SCRIPTS_SHAPES_H_
