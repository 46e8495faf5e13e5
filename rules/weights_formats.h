// What the format of a checkpoint says beyond its tensors. Data: rules/data/weights_formats.yaml, where each fact is
// explained.
#ifndef PARITECT_RULES_WEIGHTS_FORMATS_H_
#define PARITECT_RULES_WEIGHTS_FORMATS_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/document.h"

namespace paritect {

struct WeightsFormatFacts {
  bool holds_any_axes = false;
  bool may_be_split = false;
};

using WeightsFormatTable = std::map<std::string, WeightsFormatFacts, std::less<>>;

// InvalidArgument "LINE:COLUMN: ..." for an unknown key or fact, or a format that stands twice.
absl::StatusOr<WeightsFormatTable> ReadWeightsFormats(const DocumentNode& root);

// Of a format by its name; none of them for a format without a row. Lives for ever.
const WeightsFormatFacts& FactsOfWeightsFormat(absl::string_view format);

}  // namespace paritect

#endif  // PARITECT_RULES_WEIGHTS_FORMATS_H_
