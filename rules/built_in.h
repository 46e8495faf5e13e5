// A rules file as its table, read when it is first asked for. A built-in file that does not load is a fault of ours,
// and one of the user's was refused before (LoadRules): it ends the program.
#ifndef PARITECT_RULES_BUILT_IN_H_
#define PARITECT_RULES_BUILT_IN_H_

#include <string>
#include <type_traits>
#include <utility>

#include "absl/base/internal/raw_logging.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "rules/prepared_document.h"
#include "rules/rules_files.h"

namespace paritect {

// `Read`: absl::StatusOr<Table>(const DocumentNode&). One table a function.
template <auto Read>
const auto& BuiltInTable(absl::string_view file_name) {
  using Table = typename std::invoke_result_t<decltype(Read), const DocumentNode&>::value_type;
  static const Table* const table = [file_name] {
    const absl::StatusOr<DocumentNode> root = ReadRulesDocument(BytesOfRules(file_name));
    absl::StatusOr<Table> loaded = root.ok() ? Read(*root) : absl::StatusOr<Table>(root.status());
    if (!loaded.ok()) {
      ABSL_RAW_LOG(FATAL, "built-in rules do not load: %s", std::string(loaded.status().message()).c_str());
    }
    return new Table(*std::move(loaded));
  }();
  return *table;
}

}  // namespace paritect

#endif  // PARITECT_RULES_BUILT_IN_H_
