#include "rules/rules_files.h"

#include "rules/embedded_files.h"

namespace paritect {
namespace {

std::vector<RulesFile>& Overrides() {
  static std::vector<RulesFile>* const files = new std::vector<RulesFile>();
  return *files;
}

}  // namespace

std::vector<RulesFile> EmbeddedRules() {
  std::vector<RulesFile> files;
  files.reserve(EmbeddedFiles().size());
  for (const EmbeddedFile& file : EmbeddedFiles()) files.push_back({std::string(file.name), std::string(file.bytes)});
  return files;
}

void SetRulesOverrides(std::vector<RulesFile> files) { Overrides() = std::move(files); }

absl::Span<const RulesFile> RulesOverrides() { return Overrides(); }

std::string BytesOfRules(absl::string_view name) {
  for (const RulesFile& file : Overrides()) {
    if (file.name == name) return file.bytes;
  }
  for (const EmbeddedFile& file : EmbeddedFiles()) {
    if (file.name == name) return std::string(file.bytes);
  }
  return "";
}

}  // namespace paritect
