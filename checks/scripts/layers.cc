#include "checks/scripts/layers.h"

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace paritect {
namespace {

struct Wanted {
  absl::string_view key;
  absl::string_view layer;
  absl::string_view arguments[3];  // the first that is there counts
};
constexpr Wanted kWanted[] = {{"batchnorm_momentum", "batchnorm", {"momentum"}},
                              {"batchnorm_eps", "batchnorm", {"eps", "epsilon"}},
                              {"dropout_p", "dropout", {"p", "rate", "keep_prob"}},
                              {"layernorm_eps", "layernorm", {"eps", "epsilon"}}};

const v1::ScriptArgument* FirstOf(const v1::ScriptFact& fact, const Wanted& wanted) {
  for (absl::string_view name : wanted.arguments) {
    const v1::ScriptArgument* argument = name.empty() ? nullptr : FindScriptArgument(fact, name);
    // MindSpore's Dropout(keep_prob=0.5, p=None): None is not stated.
    if (argument != nullptr && !(argument->has_value() && argument->value().null())) return argument;
  }
  return nullptr;
}

ScriptLayer LayerOf(const v1::ScriptFact& fact, const v1::ScriptArgument& argument) {
  ScriptLayer layer;
  layer.argument = argument.name();
  layer.written = ShowScriptValue(argument);
  layer.origin = absl::StrCat(ScriptPlace(fact), argument.is_default() ? absl::StrCat(", default of ", fact.name()) : "");
  const v1::Value& value = argument.value();
  const bool number = value.kind_case() == v1::Value::kNumber || value.kind_case() == v1::Value::kInteger;
  layer.known = number && argument.option().empty();
  layer.value = value.kind_case() == v1::Value::kInteger ? static_cast<double>(value.integer()) : value.number();
  if (layer.argument == "keep_prob") layer.value = 1 - layer.value;
  return layer;
}

}  // namespace

std::vector<ScriptLayer> ScriptLayersOf(const ScriptFlow& flow, absl::string_view key) {
  std::vector<ScriptLayer> layers;
  if (!flow.read()) return layers;
  for (const Wanted& wanted : kWanted) {
    if (wanted.key != key) continue;
    for (const v1::ScriptFact* fact : flow.facts()) {
      const bool layer = fact->kind() == "layer" || fact->kind() == "functional_dropout";
      if (!layer || fact->layer() != wanted.layer) continue;
      if (const v1::ScriptArgument* argument = FirstOf(*fact, wanted)) {
        layers.push_back(LayerOf(*fact, *argument));
      } else if (wanted.layer == "dropout") {
        // Every framework's own: a half.
        layers.push_back({0.5, "0.5", "p", absl::StrCat(ScriptPlace(*fact), ", default of ", fact->name()), true});
      }
    }
  }
  return layers;
}

}  // namespace paritect
