#include "rules/rules_files.h"

namespace paritect {
namespace {

std::vector<RulesFile>& Overrides() {
  static std::vector<RulesFile>* const files = new std::vector<RulesFile>();
  return *files;
}

}  // namespace

void SetRulesOverrides(std::vector<RulesFile> files) { Overrides() = std::move(files); }

absl::Span<const RulesFile> RulesOverrides() { return Overrides(); }

std::string BytesOfRules(absl::string_view name) {
  for (const RulesFile& file : Overrides()) {
    if (file.name == name) return file.bytes;
  }
  for (RulesFile& file : EmbeddedRules()) {
    if (file.name == name) return std::move(file.bytes);
  }
  return "";
}

}  // namespace paritect
