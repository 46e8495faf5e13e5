// Texts as rules files write them.
#ifndef PARITECT_RULES_READ_TEXT_H_
#define PARITECT_RULES_READ_TEXT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/document.h"
#include "paritect/v1/common.pb.h"

namespace paritect {

// A text in both languages, {en: …, zh: …}. InvalidArgument "LINE:COLUMN: ..." where a language is missing or something
// else stands there.
absl::Status ReadBothLanguages(const DocumentNode& node, v1::Text& text);

// A list of texts in lower case; InvalidArgument for anything else.
absl::StatusOr<std::vector<std::string>> ReadLowerTexts(const DocumentNode& node);

}  // namespace paritect

#endif  // PARITECT_RULES_READ_TEXT_H_
