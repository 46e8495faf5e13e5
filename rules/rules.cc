#include "rules/rules.h"

#include <algorithm>
#include <cstdlib>

#include "absl/base/internal/raw_logging.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/document.h"
#include "common/status_macros.h"
#include "rules/argument_words.h"
#include "rules/causes.h"
#include "rules/contradictions.h"
#include "rules/evaluation_words.h"
#include "rules/file_names.h"
#include "rules/folder_words.h"
#include "rules/launch_scripts.h"
#include "rules/launchers.h"
#include "rules/list_words.h"
#include "rules/log_formats.h"
#include "rules/metrics.h"
#include "rules/one_process.h"
#include "rules/openings.h"
#include "rules/phrases.h"
#include "rules/prepared_document.h"
#include "rules/script_words.h"
#include "rules/secrets.h"
#include "rules/settings_formats.h"
#include "rules/tensor_kinds.h"
#include "rules/walk.h"

namespace paritect {
namespace {

// Files that are read by themselves where they are needed, without the rules at hand. An override replaces them whole.
struct LoneFile {
  absl::string_view name;
  absl::Status (*read)(const DocumentNode& root);  // whether it is of its form
};
constexpr LoneFile kLoneFiles[] = {
    {"walk.yaml", [](const DocumentNode& root) { return ReadWalk(root).status(); }},
    {"causes.yaml", [](const DocumentNode& root) { return ReadCauses(root).status(); }},
    {"openings.yaml", [](const DocumentNode& root) { return ReadOpenings(root).status(); }},
    {"contradictions.yaml", [](const DocumentNode& root) { return ReadContradictions(root).status(); }},
    {"phrases.yaml", [](const DocumentNode& root) { return Phrases::Read(root).status(); }},
    {"value_phrases.yaml", [](const DocumentNode& root) { return Phrases::Read(root).status(); }},
    {"evaluation_words.yaml", [](const DocumentNode& root) { return ReadEvaluationWords(root).status(); }},
    {"folder_words.yaml", [](const DocumentNode& root) { return ReadFolderWords(root).status(); }},
    {"argument_words.yaml", [](const DocumentNode& root) { return ReadArgumentWords(root).status(); }},
    {"file_names.yaml", [](const DocumentNode& root) { return ReadFileNames(root).status(); }},
    {"launch_scripts.yaml", [](const DocumentNode& root) { return ReadLaunchScripts(root).status(); }},
    {"list_words.yaml", [](const DocumentNode& root) { return ReadListWords(root).status(); }},
    {"log_formats.yaml", [](const DocumentNode& root) { return ReadLogFormats(root).status(); }},
    {"settings_formats.yaml", [](const DocumentNode& root) { return ReadSettingsFormats(root).status(); }},
    {"one_process.yaml", [](const DocumentNode& root) { return ReadOneProcessRules(root).status(); }},
    {"script_words.yaml", [](const DocumentNode& root) { return ReadScriptWords(root).status(); }},
    {"metrics.yaml", [](const DocumentNode& root) { return ReadMetrics(root).status(); }},
    {"tensor_kinds.yaml", [](const DocumentNode& root) { return TensorKinds::Read(root).status(); }},
    {"secrets.yaml", [](const DocumentNode& root) { return ReadSecrets(root).status(); }},
};

const LoneFile* ReaderOf(absl::string_view name) {
  for (const LoneFile& file : kLoneFiles) {
    if (file.name == name) return &file;
  }
  return nullptr;
}

// The embedded files that make the rules. A test proves the form of the lone ones (LoadRules reads all it is given);
// reading them here would cost each start their patterns.
std::vector<RulesFile> EmbeddedRulesProper() {
  std::vector<RulesFile> files = EmbeddedRules();
  files.erase(std::remove_if(files.begin(), files.end(), [](const RulesFile& file) { return ReaderOf(file.name); }),
              files.end());
  return files;
}

absl::Status LoadFile(const RulesFile& file, bool overriding, Rules& rules) {
  if (!overriding && absl::StartsWith(file.name, "messages/") && IsPrepared(file.bytes)) {
    return rules.messages.AddPrepared(file.bytes);
  }
  PARITECT_ASSIGN_OR_RETURN(const DocumentNode root, ReadRulesDocument(file.bytes));
  if (absl::StartsWith(file.name, "messages/")) return rules.messages.Add(root, overriding);
  if (absl::StartsWith(file.name, "scripts/")) return rules.scripts.Add(root);
  if (file.name == "catalogue.yaml") {
    PARITECT_ASSIGN_OR_RETURN(rules.catalogue, ReadCatalogue(root));
    return absl::OkStatus();
  }
  if (file.name == "profiles/pre-tuning-1.yaml") {
    PARITECT_ASSIGN_OR_RETURN(rules.profile, ReadBuiltInProfile(root));
    return absl::OkStatus();
  }
  if (file.name == "settings.yaml") return rules.settings.Add(root, overriding);
  if (file.name == "products.yaml") return rules.products.Add(root, overriding);
  if (file.name == "defaults.yaml") return rules.defaults.Add(root, overriding);
  if (file.name == "differences.yaml") return rules.differences.Add(root, overriding);
  if (file.name == "tensor_names.yaml") return rules.tensor_names.Add(root);
  if (file.name == "operators.yaml") return rules.operators.Add(root);
  if (const auto* reader = ReaderOf(file.name)) return reader->read(root);
  if (file.name == "launchers.yaml") {
    PARITECT_ASSIGN_OR_RETURN(const LauncherTable launchers, ReadLaunchers(root));
    rules.settings.AddByNature(launchers.variables());
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("1:1: no such rules file is known");
}

}  // namespace

absl::StatusOr<Rules> LoadRules(absl::Span<const RulesFile> files, absl::Span<const RulesFile> overrides) {
  Rules rules;
  for (const RulesFile& file : files) {
    const absl::Status status = LoadFile(file, false, rules);
    if (!status.ok()) return absl::InvalidArgumentError(absl::StrCat(file.name, ":", status.message()));
  }
  for (const RulesFile& file : overrides) {
    rules.overridden.push_back(file.name);
    const absl::Status status = LoadFile(file, true, rules);
    if (!status.ok()) return absl::InvalidArgumentError(absl::StrCat(file.name, ":", status.message()));
  }
  return rules;
}

const Rules& BuiltInRules() {
  static const Rules* const rules = [] {
    auto loaded = LoadRules(EmbeddedRulesProper(), RulesOverrides());
    if (!loaded.ok()) {
      ABSL_RAW_LOG(FATAL, "built-in rules do not load: %s", std::string(loaded.status().message()).c_str());
    }
    return new Rules(*std::move(loaded));
  }();
  return *rules;
}

absl::Status CheckOverrides(absl::Span<const RulesFile> overrides) {
  for (const RulesFile& file : overrides) {
    if (file.name == "catalogue.yaml" || absl::StartsWith(file.name, "profiles/")) {
      return absl::InvalidArgumentError(
          absl::StrCat(file.name,
                       ":1:1: the catalogue of checks and the built-in profile cannot be overridden (a profile of your "
                       "own: --profile FILE)"));
    }
  }
  return LoadRules(EmbeddedRulesProper(), overrides).status();
}

}  // namespace paritect
