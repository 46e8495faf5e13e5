#include "checks/causes.h"

#include <string>

#include "common/utf8.h"

namespace paritect {

void AddCause(v1::Finding& finding, absl::string_view check, absl::string_view kind, absl::string_view subject) {
  auto& causes = *(*finding.mutable_facts()->mutable_fields())["caused_by"].mutable_list_value();
  auto& fields = *causes.add_values()->mutable_struct_value()->mutable_fields();
  fields["check"].set_string_value(std::string(check));
  fields["kind"].set_string_value(std::string(kind));
  fields["subject"].set_string_value(DisplayBytes(subject));
}

}  // namespace paritect
