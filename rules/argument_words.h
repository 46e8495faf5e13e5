// Words by which an argument that no canonical key claims speaks of numbers. Data: rules/data/argument_words.yaml.
#ifndef PARITECT_RULES_ARGUMENT_WORDS_H_
#define PARITECT_RULES_ARGUMENT_WORDS_H_

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/document.h"

namespace paritect {

// InvalidArgument "LINE:COLUMN: ..." for what is not one list of words.
absl::StatusOr<std::set<std::string>> ReadArgumentWords(const DocumentNode& root);

// Whether one of the name's words ('_', '.', '-' apart) is in the embedded list: "our_dropout", "moe.router_lr". A
// difference in such an argument cannot be passed over.
bool SpeaksOfNumbers(absl::string_view argument);

}  // namespace paritect

#endif  // PARITECT_RULES_ARGUMENT_WORDS_H_
