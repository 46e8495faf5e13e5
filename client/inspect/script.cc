// inspect of a Python source that is no configuration (or --as script): the facts of training scripts, in the order in
// which they would run.
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/collectors/script_files.h"
#include "checks/scripts/detail.h"
#include "client/inspector.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

// The reader of settings was asked before.
bool Recognises(absl::string_view path, bool is_folder, absl::string_view) {
  return !is_folder && absl::EndsWith(path, ".py");
}

OrderedJson FactToJson(const v1::ScriptFact& fact) {
  OrderedJson json;
  json["kind"] = fact.kind();
  json["file"] = fact.file();
  json["line"] = fact.line();
  json["detail"] = ScriptDetail(fact);
  json["name"] = fact.name();
  if (!fact.function().empty()) json["function"] = fact.function();
  if (!fact.use().empty()) json["use"] = fact.use();
  if (fact.conditional()) json["conditional"] = true;
  if (!fact.called()) json["called"] = false;
  for (const v1::ScriptArgument& argument : fact.arguments()) {
    OrderedJson one;
    one["name"] = argument.name();
    one["value"] = argument.has_value() ? OrderedJson(ShowScriptValue(argument)) : OrderedJson(nullptr);
    one["text"] = argument.text();
    one["resolved"] = argument.has_value() || !absl::StrContains(argument.symbol(), '?');
    if (argument.is_default()) one["default"] = true;
    if (!argument.option().empty()) one["option"] = argument.option();
    if (argument.follows_host()) one["follows_host"] = true;
    json["arguments"].push_back(std::move(one));
  }
  return json;
}

absl::StatusOr<OrderedJson> Inspect(CommandEnv& env, const InspectRequest& request) {
  std::vector<ScriptSourceFile> files;
  ScriptOptions options;
  PARITECT_RETURN_IF_ERROR(AddScriptFiles(env.fs, request.files[0], "", files, options.entry));
  const v1::ScriptTree tree = ReadScripts(std::move(files), options, env.rules.scripts);
  OrderedJson json;
  json["format"] = tree.files().empty() ? "unknown" : "python";
  json["notes"] = OrderedJson::array();
  for (const v1::Note& note : tree.notes()) json["notes"].push_back(NoteToJson(note));
  json["entries"] = std::vector<std::string>(tree.entries().begin(), tree.entries().end());
  json["whole"] = tree.whole();
  if (request.summary) {
    std::map<std::string, int> counts;
    for (const v1::ScriptFact& fact : tree.facts()) ++counts[fact.kind()];
    json["facts"] = counts;
    return json;
  }
  json["facts"] = OrderedJson::array();
  for (const v1::ScriptFact& fact : tree.facts()) json["facts"].push_back(FactToJson(fact));
  return json;
}

}  // namespace

extern const Inspector kScriptInspector;
const Inspector kScriptInspector = {"script", &Recognises, &Inspect};

}  // namespace paritect
