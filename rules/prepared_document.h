// A document of the rules as it is embedded: parsed once, when the program is built, so that no start pays for YAML
// (reading the prepared form takes a thirtieth of the time). The YAML under rules/data stays the source; places are
// kept, so that whoever finds something wrong names the line of the source.
#ifndef PARITECT_RULES_PREPARED_DOCUMENT_H_
#define PARITECT_RULES_PREPARED_DOCUMENT_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/document.h"

namespace paritect {

// The prepared form: a mark that begins with a NUL, which no YAML text holds, then the nodes depth first. The same
// on every machine.
std::string PrepareDocument(const DocumentNode& root);

// The document of a rules file: prepared (embedded files) or YAML (those of a person's folder). InvalidArgument
// "LINE:COLUMN: ..." for YAML that is none and for a prepared form that is cut or no such form.
absl::StatusOr<DocumentNode> ReadRulesDocument(absl::string_view bytes);

bool IsPrepared(absl::string_view bytes);

// Of a prepared map: each key with the bytes of its value, which ReadPreparedNode reads when it is wanted. Stops at the
// first status that is not ok; else as above.
absl::Status ForEachPreparedField(absl::string_view bytes,
                                  absl::FunctionRef<absl::Status(absl::string_view key, absl::string_view node)> take);
absl::StatusOr<DocumentNode> ReadPreparedNode(absl::string_view node);

}  // namespace paritect

#endif  // PARITECT_RULES_PREPARED_DOCUMENT_H_
