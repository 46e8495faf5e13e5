#include "rules/one_process.h"

#include "absl/base/internal/raw_logging.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "rules/prepared_document.h"
#include "rules/rules_files.h"

namespace paritect {
namespace {

absl::Status AddNames(const DocumentNode& node, NameSet& names) {
  if (!node.is_list()) return ErrorAt(node, "a list of names is needed");
  for (const DocumentNode& one : node.items) {
    if (!one.is_scalar() || one.text.empty()) return ErrorAt(one, "a name is needed");
    names.insert(one.text);
  }
  return absl::OkStatus();
}

absl::Status AddPairs(const DocumentNode& node, std::map<std::string, std::string, std::less<>>& pairs) {
  if (!node.is_map()) return ErrorAt(node, "members with an argument each are needed");
  for (const auto& [key, value] : node.fields) pairs[key.text] = value.text;
  return absl::OkStatus();
}

absl::StatusOr<HarmlessModule> ReadModule(const DocumentNode& node) {
  HarmlessModule out;
  bool has_members = false;
  for (const auto& [key, value] : node.fields) {
    if (key.text == "module" && value.is_scalar()) {
      out.name = value.text;
    } else if (key.text == "why" && value.is_scalar()) {
      out.why = value.text;
    } else if (key.text == "members") {
      has_members = true;
      out.any = value.is_scalar() && value.text == "any";
      if (!out.any) PARITECT_RETURN_IF_ERROR(AddNames(value, out.members));
    } else if (key.text == "but") {
      PARITECT_RETURN_IF_ERROR(AddNames(value, out.but));
    } else if (key.text == "written") {
      PARITECT_RETURN_IF_ERROR(AddNames(value, out.written));
    } else if (key.text == "call_with") {
      PARITECT_RETURN_IF_ERROR(AddPairs(value, out.call_with));
    } else if (key.text == "call_without") {
      PARITECT_RETURN_IF_ERROR(AddPairs(value, out.call_without));
    } else {
      return ErrorAt(key, absl::StrCat("unknown key '", key.text, "', or not its value"));
    }
  }
  if (out.name.empty() || out.why.empty() || !has_members) {
    return ErrorAt(node, "a module needs its name, `members` and `why`");
  }
  return out;
}

absl::StatusOr<OneProcessRules> ReadEmbedded() {
  PARITECT_ASSIGN_OR_RETURN(const DocumentNode root, ReadRulesDocument(BytesOfRules("one_process.yaml")));
  return ReadOneProcessRules(root);
}

}  // namespace

bool HarmlessModule::Permits(absl::string_view member) const {
  if (members.contains(member)) return true;
  return any && !absl::StartsWith(member, "_") && !but.contains(member);
}

const HarmlessModule* OneProcessRules::Find(absl::string_view module) const {
  const auto found = modules.find(module);
  return found == modules.end() ? nullptr : &found->second;
}

absl::StatusOr<OneProcessRules> ReadOneProcessRules(const DocumentNode& root) {
  if (!root.is_map()) return ErrorAt(root, "`modules` and lists of names are needed");
  OneProcessRules rules;
  for (const auto& [key, value] : root.fields) {
    if (key.text == "source") continue;
    if (key.text == "modules" && value.is_list()) {
      for (const DocumentNode& one : value.items) {
        if (!one.is_map()) return ErrorAt(one, "a module is needed");
        PARITECT_ASSIGN_OR_RETURN(HarmlessModule module, ReadModule(one));
        const std::string name = module.name;
        if (!rules.modules.emplace(name, std::move(module)).second) return ErrorAt(one, "the module stands here twice");
      }
      continue;
    }
    NameSet* names = key.text == "names"       ? &rules.names
                     : key.text == "ranks"     ? &rules.ranks
                     : key.text == "builtins"  ? &rules.builtins
                     : key.text == "dunders"   ? &rules.dunders
                     : key.text == "variables" ? &rules.variables
                                               : nullptr;
    if (names == nullptr) return ErrorAt(key, absl::StrCat("unknown key '", key.text, "'"));
    PARITECT_RETURN_IF_ERROR(AddNames(value, *names));
  }
  return rules;
}

const OneProcessRules& BuiltInOneProcessRules() {
  static const OneProcessRules* const rules = [] {
    auto read = ReadEmbedded();
    if (!read.ok()) ABSL_RAW_LOG(FATAL, "rules/data/one_process.yaml:%s", std::string(read.status().message()).c_str());
    return new OneProcessRules(*std::move(read));
  }();
  return *rules;
}

}  // namespace paritect
