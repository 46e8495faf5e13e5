// Names of tensors across frameworks, brought to one form. Data and its shape: rules/data/tensor_names.yaml.
#ifndef PARITECT_RULES_TENSOR_NAMES_H_
#define PARITECT_RULES_TENSOR_NAMES_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/document.h"
#include "paritect/v1/weights.pb.h"

namespace re2 {
class RE2;
}

namespace paritect {

class TensorNames {
 public:
  struct Fused {
    std::string whole;  // part of a name in the common form
    std::vector<std::string> parts;
  };

  // InvalidArgument "LINE:COLUMN: ..." for an entry without source or with a pattern that RE2 does not take. Entries of
  // a later call (an override) stand before those of earlier ones.
  absl::Status Add(const DocumentNode& root);

  // Without what the model is wrapped in.
  absl::string_view Unwrapped(absl::string_view name) const;
  // In the common form: equal for the same tensor of two frameworks.
  std::string Canonical(absl::string_view name) const;
  // What the name tells; PARAMETER where it tells nothing else.
  v1::TensorRole RoleOf(absl::string_view name) const;
  // Whether settings decide its values, or a counter that only some frameworks keep: it may lack on a side.
  bool IsDerived(absl::string_view name) const;
  // Whether its matrix stands input by output, where the others stand output by input.
  bool IsTurned(absl::string_view name) const;
  // Whether its rows are those of several matrices in turn, group by group, and not one matrix after the other.
  bool IsInterleaved(absl::string_view name) const;
  // The names of the parts where `canonical` is a fused tensor's; empty: it is none.
  std::vector<std::vector<std::string>> PartsOf(absl::string_view canonical) const;

 private:
  struct Pattern {
    std::shared_ptr<re2::RE2> pattern;
    std::string with;     // of a rename
    v1::TensorRole role;  // of a role
  };
  static bool AnyMatches(const std::vector<Pattern>& patterns, absl::string_view name);
  absl::Status AddOne(absl::string_view list, const DocumentNode& node, TensorNames& added) const;

  std::vector<std::string> wrappers_;  // with their dot
  std::vector<Pattern> roles_;
  std::vector<Pattern> derived_;
  std::vector<Pattern> turned_;
  std::vector<Pattern> interleaved_;
  std::vector<Pattern> renames_;
  std::vector<Fused> fused_;
};

}  // namespace paritect

#endif  // PARITECT_RULES_TENSOR_NAMES_H_
