#include "formats/weights/facts_settings.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/numbers.h"
#include "formats/settings/builder.h"

namespace paritect {
namespace {

constexpr absl::string_view kArguments[] = {"args.", "hyper_parameters.", "ds_config."};

struct OptimizerFact {
  absl::string_view fact;
  absl::string_view key;
};
constexpr OptimizerFact kOptimizerFacts[] = {{"initial_lr", "lr"},
                                             {"betas", "betas"},
                                             {"eps", "eps"},
                                             {"weight_decay", "weight_decay"},
                                             {"momentum", "momentum"}};

// The setting's name; nullopt: the fact is none. Of several groups the first counts: others are its exceptions.
std::optional<std::string> KeyOf(absl::string_view name) {
  for (absl::string_view prefix : kArguments) {
    if (absl::ConsumePrefix(&name, prefix)) return std::string(name);
  }
  const std::size_t group = name.find("param_groups.0.");
  if (group == absl::string_view::npos) return std::nullopt;
  name.remove_prefix(group + absl::string_view("param_groups.0.").size());
  for (const OptimizerFact& one : kOptimizerFacts) {
    if (one.fact == name) return std::string(one.key);
  }
  return std::nullopt;
}

// As Python writes it. Texts are handed over as such.
std::string Spelling(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kBoolean: return value.boolean() ? "True" : "False";
    case v1::Value::kInteger: return absl::StrCat(value.integer());
    case v1::Value::kNumber: return FormatDouble(value.number());
    case v1::Value::kText: return absl::StrCat("'", value.text(), "'");
    case v1::Value::kList: {
      std::vector<std::string> items;
      for (const v1::Value& item : value.list().items()) items.push_back(item.has_list() ? "None" : Spelling(item));
      return absl::StrCat("[", absl::StrJoin(items, ", "), "]");
    }
    default: return "None";
  }
}

}  // namespace

v1::SettingsDocument FactsAsSettings(const v1::Weights& weights, absl::string_view label) {
  SettingsBuilder builder("argparse-namespace", "arguments", label);
  for (const v1::CheckpointFact& fact : weights.facts()) {
    const auto key = KeyOf(fact.name());
    if (!key) continue;
    if (fact.value().has_text()) {
      builder.AddText(*key, fact.value().text(), 0);
    } else {
      builder.Add(*key, Spelling(fact.value()), 0);
    }
  }
  return builder.Finish();
}

}  // namespace paritect
