#include "rules/weights_formats.h"

#include "rules/built_in.h"
#include "rules/format_table.h"

namespace paritect {
namespace {

constexpr std::pair<absl::string_view, bool WeightsFormatFacts::*> kFacts[] = {
    {"holds_any_axes", &WeightsFormatFacts::holds_any_axes},
    {"may_be_split", &WeightsFormatFacts::may_be_split},
};

}  // namespace

absl::StatusOr<WeightsFormatTable> ReadWeightsFormats(const DocumentNode& root) {
  return ReadFormatTable<WeightsFormatFacts>(root, "a weights format", kFacts);
}

const WeightsFormatFacts& FactsOfWeightsFormat(absl::string_view format) {
  static constexpr WeightsFormatFacts kNone;
  const WeightsFormatTable& table = BuiltInTable<&ReadWeightsFormats>("weights_formats.yaml");
  const auto found = table.find(format);
  return found == table.end() ? kNone : found->second;
}

}  // namespace paritect
