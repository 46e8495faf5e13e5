// A text in both languages, as rules files write it: {en: …, zh: …}.
#ifndef PARITECT_RULES_READ_TEXT_H_
#define PARITECT_RULES_READ_TEXT_H_

#include "absl/status/status.h"
#include "common/document.h"
#include "paritect/v1/common.pb.h"

namespace paritect {

// InvalidArgument "LINE:COLUMN: ..." where a language is missing or something else stands there.
absl::Status ReadBothLanguages(const DocumentNode& node, v1::Text& text);

}  // namespace paritect

#endif  // PARITECT_RULES_READ_TEXT_H_
