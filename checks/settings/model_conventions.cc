// model.hyperparameters.conventions and network.definition.*: numbers whose meaning turns round between frameworks.
// PyTorch's BatchNorm momentum weighs the new statistic, MindSpore's and Keras' the old one: one is 1 minus the other.
// Dropout's keep_prob is 1 - p (the canonical value is p). The optimizer's momentum is the same number everywhere.
// Source: MindSpore precision checklist, 网络定义; MindSpore's API mapping documents.
#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "checks/scripts/layers.h"
#include "checks/settings/compare.h"
#include "common/numbers.h"

namespace paritect {
namespace {

struct Printed {
  double meaning = 0;  // in PyTorch's convention
  double turned = 0;   // the same in the other convention, as it is written there: 1 - 0.9 is no exact 0.1
  double written = 0;
  const SourcedValue* source = nullptr;
};

// The layers that the scripts define, as values of the key; kept as long as the audit.
const std::vector<SourcedValue>& ScriptValues(const CheckContext& context, const SettingsView& view,
                                              absl::string_view key) {
  struct Kept {
    std::map<std::string, std::vector<SourcedValue>, std::less<>> by_key;
  };
  const Kept& kept = context.views->Get<Kept>({&view}, [&] {
    Kept made;
    for (const char* one :
         {"batchnorm_momentum", "batchnorm_eps", "dropout_p", "layernorm_eps", "optimizer_momentum"}) {
      for (const ScriptLayer& layer : ScriptLayersOf(view.flow(), one)) {
        if (!layer.known) continue;
        SourcedValue value;
        value.value.set_number(layer.value);
        value.text = layer.written;
        value.raw_key = layer.argument;
        value.origin = layer.origin;
        value.format = "python";
        value.source = SettingSource::kScript;
        value.converted = layer.argument == "keep_prob";
        made.by_key[one].push_back(std::move(value));
      }
    }
    return made;
  });
  static const std::vector<SourcedValue>* const none = new std::vector<SourcedValue>();
  const auto found = kept.by_key.find(key);
  return found == kept.by_key.end() ? *none : found->second;
}

// Layer by layer in the order of the print: of one node, or of all. Where the model is not printed, as the scripts
// define them.
std::vector<Printed> LayersOf(const CheckContext& context, const SettingsView& view, absl::string_view key,
                              bool first_node_only) {
  std::vector<Printed> out;
  std::vector<const SourcedValue*> all = view.All(key);
  if (all.empty()) {
    for (const SourcedValue& value : ScriptValues(context, view, key)) all.push_back(&value);
  }
  for (const SourcedValue* value : all) {
    if (first_node_only && value->node != all[0]->node) continue;
    const v1::Value typed = TypedValue(SettingType::kNumber, value->value);
    const double number =
        typed.kind_case() == v1::Value::kInteger ? static_cast<double>(typed.integer()) : typed.number();
    const bool turned = key == "batchnorm_momentum" && view.framework() != "pytorch";
    const double other = 1 - number;
    out.push_back({turned ? other : number, turned ? number : other, ParseDouble(value->text).value_or(number), value});
  }
  return out;
}

bool SameNumber(double a, double b) {
  v1::Value x;
  v1::Value y;
  x.set_number(a);
  y.set_number(b);
  return SameMeaning(SettingType::kNumber, x, y);
}

bool SameLayer(absl::string_view key, const Printed& a, const Printed& b) {
  const bool turns = key == "batchnorm_momentum" || key == "dropout_p";
  return SameNumber(a.meaning, b.meaning) || (turns && SameNumber(a.turned, b.turned));
}

// Each value once.
std::vector<Printed> DistinctOf(const std::vector<Printed>& layers) {
  std::vector<Printed> out;
  std::set<double> seen;
  for (const Printed& one : layers) {
    if (seen.insert(one.meaning).second) out.push_back(one);
  }
  return out;
}

bool Has(absl::string_view key, const std::vector<Printed>& values, const Printed& wanted) {
  return std::any_of(values.begin(), values.end(), [&](const Printed& one) { return SameLayer(key, one, wanted); });
}

void AddDifference(const CheckContext& context, v1::CheckResult& result, absl::string_view key, const Printed& a,
                   const Printed& b) {
  const std::string baseline = ShowValue(*a.source);
  const std::string migrated = ShowValue(*b.source);
  if (HasFinding(result, "convention_differs", key, baseline, migrated)) return;
  v1::Finding& finding = AddError(context, result, "convention_differs", key,
                                  {{"key", std::string(key)}, {"baseline", baseline}, {"migrated", migrated}});
  finding.set_baseline(baseline);
  finding.set_migrated(migrated);
  SetFact(finding, "baseline_value", a.written);
  SetFact(finding, "migrated_value", b.written);
}

// A layer that drops nothing may as well not be there.
bool Idle(absl::string_view key, const Printed& value) {
  return key == "dropout_p" && value.meaning == 0;
}

using LayersByName = std::map<std::string, std::vector<Printed>>;

LayersByName ByName(absl::string_view key, const std::vector<Printed>& layers) {
  LayersByName named;
  for (const Printed& one : layers) {
    if (!Idle(key, one)) named[one.source->scope].push_back(one);
  }
  return named;
}

bool SameNames(const LayersByName& a, const LayersByName& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.size() == y.second.size();
  });
}

// Both sides have the same values; whether each layer has its own is another question. Layers are paired by name, or
// by the order of the print.
void ComparePlaces(const CheckContext& context, v1::CheckResult& result, const std::string& run, absl::string_view key,
                   std::vector<Printed> a, std::vector<Printed> b) {
  const LayersByName x = ByName(key, a);
  const LayersByName y = ByName(key, b);
  if (SameNames(x, y)) {
    for (const auto& [name, layers] : x) {
      for (std::size_t i = 0; i < layers.size(); ++i) {
        const Printed& other = y.at(name)[i];
        if (!SameLayer(key, layers[i], other)) AddDifference(context, result, key, layers[i], other);
      }
    }
    return;
  }
  for (std::vector<Printed>* side : {&a, &b}) std::erase_if(*side, [&](const Printed& one) { return Idle(key, one); });
  const auto same = [&](const Printed& one, const Printed& other) { return SameLayer(key, one, other); };
  if (DistinctOf(a).size() < 2 || std::equal(a.begin(), a.end(), b.begin(), b.end(), same)) return;
  AddMissing(context, result, "layers_not_paired", run, {{"key", std::string(key)}});
}

// False where a side does not print the key.
bool CompareKey(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline,
                const SettingsView& migrated, absl::string_view key) {
  const std::vector<Printed> a = DistinctOf(LayersOf(context, baseline, key, false));
  const std::vector<Printed> b = DistinctOf(LayersOf(context, migrated, key, false));
  if (a.empty() || b.empty()) return false;
  bool told = false;
  for (const Printed& one : b) {
    if (Has(key, a, one) || Idle(key, one)) continue;
    AddDifference(context, result, key, a[0], one);
    told = true;
  }
  const bool told_of_migrated = told;
  for (const Printed& one : a) {
    if (told_of_migrated || Has(key, b, one) || Idle(key, one)) continue;
    AddDifference(context, result, key, one, b[0]);
    told = true;
  }
  if (told) return true;
  ComparePlaces(context, result, migrated.run_name(), key, LayersOf(context, baseline, key, true),
                LayersOf(context, migrated, key, true));
  return true;
}

// Layers of the scripts whose number is not known, and scripts that do not tell everything.
void ReportOpenLayers(const CheckContext& context, v1::CheckResult& result, const SettingsView& view,
                      absl::string_view key) {
  ReportScriptNotWhole(context, result, view.flow(), view.run_name());
  for (const ScriptLayer& layer : ScriptLayersOf(view.flow(), key)) {
    if (layer.known) continue;
    AddMissing(context, result, "pipeline_unresolved", view.run_name(),
               {{"what", std::string(key)}, {"where", layer.origin}, {"text", layer.written}});
  }
}

// One framework on both sides: the same layers with the same numbers, in the order in which the scripts make them.
void CompareScriptLayers(const CheckContext& context, v1::CheckResult& result, absl::Span<const absl::string_view> keys,
                         const SettingsView& baseline, const SettingsView& migrated) {
  for (absl::string_view key : keys) {
    const std::vector<ScriptLayer> a = ScriptLayersOf(baseline.flow(), key);
    const std::vector<ScriptLayer> b = ScriptLayersOf(migrated.flow(), key);
    if (a.size() != b.size()) continue;  // another network: the graph's matter
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!a[i].known || !b[i].known || SameNumber(a[i].value, b[i].value) ||
          HasFinding(result, "layer_differs", key, a[i].written, b[i].written))
        continue;
      v1::Finding& finding = AddError(context, result, "layer_differs", key,
                                      {{"key", std::string(key)},
                                       {"number", absl::StrCat(i + 1)},
                                       {"baseline", a[i].written},
                                       {"migrated", b[i].written}});
      finding.set_baseline(a[i].written);
      finding.set_migrated(b[i].written);
      finding.add_evidence(a[i].origin);
      finding.add_evidence(b[i].origin);
      SetFact(finding, "baseline_value", a[i].value);
      SetFact(finding, "migrated_value", b[i].value);
    }
  }
}

// One framework on both sides, and both models were recorded or printed: layer by layer by its name.
void ComparePrintedLayers(const CheckContext& context, v1::CheckResult& result,
                          absl::Span<const absl::string_view> keys, const SettingsView& baseline,
                          const SettingsView& migrated) {
  for (absl::string_view key : keys) {
    const LayersByName a = ByName(key, LayersOf(context, baseline, key, true));
    const LayersByName b = ByName(key, LayersOf(context, migrated, key, true));
    for (const auto& [name, layers] : a) {
      // Without names it is not known which layer stands against which: the scripts' order tells, or nothing.
      const auto other = name.empty() ? b.end() : b.find(name);
      if (other == b.end() || SameNumber(layers[0].meaning, other->second[0].meaning)) continue;
      const std::string left = ShowValue(*layers[0].source), right = ShowValue(*other->second[0].source);
      v1::Finding& finding =
          AddError(context, result, "layer_differs/named", name,
                   {{"key", std::string(key)}, {"layer", name}, {"baseline", left}, {"migrated", right}});
      finding.set_baseline(left);
      finding.set_migrated(right);
      SetFact(finding, "baseline_value", layers[0].written);
      SetFact(finding, "migrated_value", other->second[0].written);
      break;  // one layer a key says it
    }
  }
}

void Compare(const CheckContext& context, v1::CheckResult& result, absl::Span<const absl::string_view> keys,
             bool mindspore_only) {
  ComparePairs(
      context, result,
      [&](const SettingsView& baseline, const SettingsView& migrated) {
        const bool known = !baseline.framework().empty() && !migrated.framework().empty();
        const bool mindspore = baseline.framework() == "mindspore" || migrated.framework() == "mindspore";
        if (known && (baseline.framework() == migrated.framework() || (mindspore_only && !mindspore))) {
          if (!mindspore_only) {
            CompareScriptLayers(context, result, keys, baseline, migrated);
            ComparePrintedLayers(context, result, keys, baseline, migrated);
          }
          AddNote(context, result, "not_applicable", migrated.run_name(),
                  {{"why", absl::StrCat(baseline.framework(), " / ", migrated.framework())}});
          return;
        }
        bool any = false;
        for (absl::string_view key : keys) {
          any = CompareKey(context, result, baseline, migrated, key) || any;
          for (const SettingsView* view : {&baseline, &migrated}) {
            if (view->All(key).empty()) ReportOpenLayers(context, result, *view, key);
          }
        }
        if (!any || !known) AddMissing(context, result, "model_not_printed", migrated.run_name());
      },
      kReadScripts);
}

void Conventions(const CheckContext& context, v1::CheckResult& result) {
  static constexpr absl::string_view kKeys[] = {"batchnorm_momentum", "batchnorm_eps", "dropout_p", "layernorm_eps"};
  Compare(context, result, kKeys, false);
}

void BatchNorm(const CheckContext& context, v1::CheckResult& result) {
  static constexpr absl::string_view kKeys[] = {"batchnorm_momentum"};
  Compare(context, result, kKeys, true);
}

void Dropout(const CheckContext& context, v1::CheckResult& result) {
  static constexpr absl::string_view kKeys[] = {"dropout_p"};
  Compare(context, result, kKeys, true);
}

void Optimizer(const CheckContext& context, v1::CheckResult& result) {
  static constexpr absl::string_view kKeys[] = {"optimizer_momentum"};
  Compare(context, result, kKeys, true);
}

}  // namespace

extern const Check kConventions;
const Check kConventions = {"model.hyperparameters.conventions", {}, &Conventions};
extern const Check kNetworkBatchNorm;
const Check kNetworkBatchNorm = {"network.definition.batchnorm-momentum", {}, &BatchNorm};
extern const Check kNetworkDropout;
const Check kNetworkDropout = {"network.definition.dropout", {}, &Dropout};
extern const Check kNetworkOptimizer;
const Check kNetworkOptimizer = {"network.definition.optimizer", {}, &Optimizer};

}  // namespace paritect
