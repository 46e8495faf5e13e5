// The rules files as the build put them into this program: views of constants, nothing is copied or parsed at start.
#ifndef PARITECT_RULES_EMBEDDED_FILES_H_
#define PARITECT_RULES_EMBEDDED_FILES_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace paritect {

struct EmbeddedFile {
  absl::string_view name;   // path below rules/data
  absl::string_view bytes;  // in prepared form (rules/prepared_document.h)
};

// By name. Written at build by rules/prepare/main.cc.
absl::Span<const EmbeddedFile> EmbeddedFiles();

}  // namespace paritect

#endif  // PARITECT_RULES_EMBEDDED_FILES_H_
