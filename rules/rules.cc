#include "rules/rules.h"

#include <cstdlib>

#include "absl/base/internal/raw_logging.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/document.h"
#include "common/status_macros.h"
#include "rules/argument_words.h"
#include "rules/causes.h"
#include "rules/file_names.h"
#include "rules/launchers.h"
#include "rules/list_words.h"
#include "rules/log_formats.h"
#include "rules/metrics.h"
#include "rules/openings.h"
#include "rules/secrets.h"
#include "rules/walk.h"

namespace paritect {
namespace {

absl::Status LoadFile(const RulesFile& file, bool overriding, Rules& rules) {
  PARITECT_ASSIGN_OR_RETURN(DocumentNode root, ParseDocument(file.bytes));
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
  // Read by themselves where they are needed, without the rules at hand; here their form is proved. An override
  // replaces them whole.
  if (file.name == "walk.yaml") return ReadWalk(root).status();
  if (file.name == "causes.yaml") return ReadCauses(root).status();
  if (file.name == "openings.yaml") return ReadOpenings(root).status();
  if (file.name == "argument_words.yaml") return ReadArgumentWords(root).status();
  if (file.name == "file_names.yaml") return ReadFileNames(root).status();
  if (file.name == "list_words.yaml") return ReadListWords(root).status();
  if (file.name == "log_formats.yaml") return ReadLogFormats(root).status();
  if (file.name == "metrics.yaml") return ReadMetrics(root).status();
  if (file.name == "secrets.yaml") return ReadSecrets(root).status();
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
    auto loaded = LoadRules(EmbeddedRules(), RulesOverrides());
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
      return absl::InvalidArgumentError(absl::StrCat(
          file.name, ":1:1: the catalogue of checks and the built-in profile cannot be overridden (a profile of your "
                     "own: --profile FILE)"));
    }
  }
  return LoadRules(EmbeddedRules(), overrides).status();
}

}  // namespace paritect
