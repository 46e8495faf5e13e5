#include "rules/launch_scripts.h"

#include <algorithm>

#include "common/document_fields.h"
#include "common/status_macros.h"
#include "rules/built_in.h"
#include "rules/read_text.h"

namespace paritect {
namespace {

absl::Status ReadForm(const DocumentNode& node, LaunchScript& script) {
  LaunchForm form;
  for (const DocumentNode& one : node.items) {
    if (!one.is_scalar() || one.text.empty()) return ErrorAt(one, "an option must be NAME or NAME=VALUE");
    const std::size_t equals = one.text.find('=');
    if (equals == std::string::npos) {
      form.given.push_back(one.text);
    } else {
      form.added.emplace_back(one.text.substr(0, equals), one.text.substr(equals + 1));
    }
  }
  const bool known = std::any_of(script.forms.begin(), script.forms.end(),
                                 [&form](const LaunchForm& other) { return other.given.size() == form.given.size(); });
  if (!node.is_list() || known) return ErrorAt(node, "a form must be a list, and no other of as many words");
  script.forms.push_back(std::move(form));
  return absl::OkStatus();
}

absl::Status ReadScript(const DocumentNode& node, std::vector<LaunchScript>& scripts) {
  LaunchScript one;
  const auto form = [&one](const DocumentNode& v) { return ReadForm(v, one); };
  PARITECT_RETURN_IF_ERROR(
      ReadMap(node, "a launch script",
              {{{"name", [&](const DocumentNode& v) { return ReadText(v, "name", one.name); }},
                {"launcher", [&](const DocumentNode& v) { return ReadText(v, "launcher", one.launcher); }},
                {"forms", [&](const DocumentNode& v) { return ReadList(v, "forms", form); }}}}));
  if (one.name.empty() || one.launcher.empty() || one.forms.empty()) {
    return ErrorAt(node, "a launch script needs `name`, `launcher` and `forms`");
  }
  scripts.push_back(std::move(one));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<LaunchScript>> ReadLaunchScripts(const DocumentNode& root) {
  std::vector<LaunchScript> scripts;
  const auto script = [&scripts](const DocumentNode& one) { return ReadScript(one, scripts); };
  PARITECT_RETURN_IF_ERROR(
      ReadMap(root, "the file",
              {{{"launch_scripts", [&](const DocumentNode& v) { return ReadList(v, "launch_scripts", script); }}}}));
  return scripts;
}

const LaunchScript* FindLaunchScript(absl::string_view name) {
  for (const LaunchScript& one : BuiltInTable<&ReadLaunchScripts>("launch_scripts.yaml")) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

}  // namespace paritect
