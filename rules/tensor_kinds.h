// What tensors are for, by their names in the common form (rules/tensor_names.h), and what formats of checkpoints may
// hold. Data: rules/data/tensor_kinds.yaml.
#ifndef PARITECT_RULES_TENSOR_KINDS_H_
#define PARITECT_RULES_TENSOR_KINDS_H_

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/document.h"
#include "re2/re2.h"

namespace paritect {

enum class TensorKind {
  kCopied,      // every tensor-parallel rank holds the whole, and not a part
  kVocabulary,  // a row a word
  kRotary,      // rows of a head in one of two orders
  kFlatMaster,  // fp32 copies that an optimizer keeps without their parameters' names
  kExpert,      // ranks of an expert-parallel group hold other experts under one name
};

enum class CheckpointKind {
  kAnyAxes,  // models of frameworks with another order of axes, under names of any kind
  kSplit,    // parts of a model: two ranks need not be replicas
};

class TensorKinds {
 public:
  // InvalidArgument "LINE:COLUMN: ..." for an entry without source, of no kind, or with a pattern that RE2 does not
  // take.
  static absl::StatusOr<TensorKinds> Read(const DocumentNode& root);

  bool Is(TensorKind kind, absl::string_view canonical) const;
  // Of a format by its word ("megatron").
  bool Is(CheckpointKind kind, absl::string_view format) const;

 private:
  absl::Status AddPattern(const DocumentNode& item);
  absl::Status AddFormat(const DocumentNode& item);

  std::array<std::vector<std::unique_ptr<RE2>>, 5> patterns_;  // by kind
  std::map<CheckpointKind, std::set<std::string, std::less<>>> formats_;
};

// The embedded ones, or those that override them, read at the first call.
const TensorKinds& BuiltInTensorKinds();

}  // namespace paritect

#endif  // PARITECT_RULES_TENSOR_KINDS_H_
