// network.definition.defaults: do layers and optimizers agree where the frameworks' own defaults differ? Each row of
// rules/data/differences.yaml is held against the two printed models, or the layers that the scripts make: what a layer
// states counts, else what its framework does by itself. A printed model does not show initialisation and loss, so
// those rows stay open (`not performed`). Source: MindSpore precision checklist, 网络定义.
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/scripts/detail.h"
#include "checks/scripts/flow.h"
#include "checks/settings/compare.h"
#include "common/numbers.h"

namespace paritect {
namespace {

using absl::StrCat;

// One layer or optimizer of a printed model.
struct Layer {
  std::string kind;        // "batchnorm"
  std::string class_name;  // lower case
  std::string place;
  std::map<std::string, v1::Setting> arguments;  // by name
  std::string origin;
  bool of_script = false;
};

std::vector<Layer> PrintedLayers(const RunView& run) {
  std::vector<Layer> layers;
  for (const v1::Bundle* bundle : run.nodes) {
    for (const v1::Evidence& evidence : bundle->evidence()) {
      if (!layers.empty() || !evidence.has_settings() || evidence.settings().format() != "model") continue;
      std::map<std::string, std::size_t> at;  // kind and place
      for (const v1::Setting& setting : evidence.settings().settings()) {
        const std::size_t dot = setting.raw_key().find('.');
        if (dot == std::string::npos || absl::StartsWith(setting.raw_key(), "package.")) continue;
        const std::string kind = setting.raw_key().substr(0, dot);
        const std::string name = setting.raw_key().substr(dot + 1);
        const std::string whole = kind == "optimizer" ? kind : StrCat(kind, "\n", setting.scope());
        auto [it, added] = at.try_emplace(whole, layers.size());
        if (added) layers.push_back({kind, "", setting.scope(), {}, setting.origin()});
        Layer& layer = layers[it->second];
        if (name == "class") {
          layer.class_name = absl::AsciiStrToLower(setting.raw_value());
        } else {
          layer.arguments.try_emplace(name, setting);
        }
      }
    }
  }
  return layers;
}

// As the scripts make them, where no model was printed. What a script does not state is not set.
std::vector<Layer> ScriptLayers(const ScriptFlow& flow) {
  std::vector<Layer> layers;
  for (const v1::ScriptFact* fact : flow.facts()) {
    const bool optimizer = fact->kind() == "optimizer";
    if (!fact->called() || (!optimizer && fact->kind() != "layer") || fact->layer() == "opaque") continue;
    const absl::string_view name = absl::string_view(fact->name()).substr(fact->name().rfind('.') + 1);
    Layer layer = {optimizer ? "optimizer" : fact->layer(), absl::AsciiStrToLower(name), "", {}, ScriptPlace(*fact)};
    layer.of_script = true;
    for (const v1::ScriptArgument& argument : fact->arguments()) {
      if (argument.is_default()) continue;
      v1::Setting& setting = layer.arguments[argument.name() == "epsilon" ? "eps" : argument.name()];
      setting.set_raw_value(ShowScriptValue(argument));
      setting.set_origin(layer.origin);
      // An option of a command line that is not known is not set to its default.
      if (flow.Knows(argument)) *setting.mutable_value() = argument.value();
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

std::vector<Layer> LayersOf(const CheckContext& context, const RunView& run) {
  std::vector<Layer> printed = PrintedLayers(run);
  return printed.empty() ? ScriptLayers(ScriptFlow::Of(context, run)) : printed;
}

// What a row finds on one side.
struct Meaning {
  std::string text;   // "1e-05", "tanh"
  std::string shown;  // "1e-05 (model.txt:3)" or "1e-7 (default of mindspore, ...)"
  bool by_default = false;
  bool of_script = false;
};

std::string MeaningOf(const FrameworkDifference& row, const std::string& text) {
  const std::string lower = absl::AsciiStrToLower(text);
  if (auto word = row.words.find(lower); word != row.words.end()) return word->second;
  if (auto number = ParseDouble(lower)) return FormatDouble(*number);
  return lower;
}

std::optional<Meaning> MeaningIn(const FrameworkDifference& row, const Layer& layer, const SettingsView& view) {
  Meaning out;
  out.of_script = layer.of_script;
  if (auto fixed = row.class_values.find(layer.class_name); fixed != row.class_values.end()) {
    out.text = fixed->second;
    out.shown = StrCat(layer.class_name, ": ", fixed->second, " (", layer.origin, ")");
    return out;
  }
  auto name = row.argument.find(view.framework());
  if (name == row.argument.end()) return std::nullopt;
  if (auto stated = layer.arguments.find(name->second); stated != layer.arguments.end()) {
    if (!stated->second.has_value()) return std::nullopt;
    // The value, not its spelling: a printed text stands in quotes.
    out.text = MeaningOf(row, ValueToText(stated->second.value()));
    out.shown = StrCat(stated->second.raw_value(), " (", stated->second.origin(), ")");
    return out;
  }
  const auto by_default = row.DefaultOf(view.framework(), view.framework_version());
  if (!by_default) return std::nullopt;
  out.text = MeaningOf(row, *by_default);
  out.shown = StrCat(*by_default, " (default of ", view.framework(), ")");
  out.by_default = true;
  return out;
}

// Every meaning of the row on a side, once, in the order of the layers. `unknown`: a layer that has it and does not
// say.
std::vector<Meaning> MeaningsOf(const FrameworkDifference& row, const std::vector<Layer>& layers,
                                const SettingsView& view, bool counterpart, bool& unknown) {
  std::vector<Meaning> out;
  for (const Layer& layer : layers) {
    if (layer.kind != row.layer || layer.class_name.empty()) continue;
    // An RMSNorm is printed as a layer norm, and its eps has rules of its own.
    if (row.layer == "layernorm" && absl::StrContains(layer.class_name, "rms")) continue;
    if (counterpart ? !row.IsCounterpart(layer.class_name) : !row.Has(layer.class_name)) continue;
    const std::optional<Meaning> one = MeaningIn(row, layer, view);
    if (!one) {
      unknown = true;
      continue;
    }
    const bool known =
        std::any_of(out.begin(), out.end(), [&](const Meaning& other) { return other.text == one->text; });
    if (!known) out.push_back(*one);
  }
  return out;
}

class Pair {
 public:
  Pair(const CheckContext& context, v1::CheckResult& result, const SettingsView& baseline, const SettingsView& migrated,
       const std::vector<Layer>& a, const std::vector<Layer>& b)
      : context_(context), result_(result), views_{&baseline, &migrated}, layers_{&a, &b} {}

  void Run() {
    for (const FrameworkDifference& row : context_.rules.differences.all()) {
      if (row.visible()) {
        Visible(row);
      } else if (row.layer.empty() || Uses(0, row.layer) || Uses(1, row.layer)) {
        open_.push_back(row.id);
      }
    }
    if (!compared_.empty()) {
      v1::Finding& note = AddNote(context_, result_, "measured/defaults", views_[1]->run_name(),
                                  {{"rows", absl::StrJoin(compared_, ", ")}});
      SetFact(note, "compared", static_cast<std::int64_t>(compared_.size()));
    }
    if (!open_.empty()) {
      AddMissing(context_, result_, "defaults_in_script", views_[1]->run_name(),
                 {{"rows", absl::StrJoin(open_, ", ")}});
    }
  }

 private:
  bool Uses(int side, absl::string_view layer) const {
    return std::any_of(layers_[side]->begin(), layers_[side]->end(),
                       [&](const Layer& one) { return one.kind == layer; });
  }

  // Without weight decay it does not matter in which form it is applied.
  bool Idle(const FrameworkDifference& row) const {
    if (row.only_with.empty()) return false;
    for (const std::vector<Layer>* layers : layers_) {
      for (const Layer& layer : *layers) {
        auto stated = layer.arguments.find(row.only_with);
        if (layer.kind != row.layer || stated == layer.arguments.end()) continue;
        if (ParseDouble(stated->second.raw_value()).value_or(1) != 0) return false;
      }
    }
    return true;
  }

  void Visible(const FrameworkDifference& row) {
    if (Idle(row)) return;
    bool unknown = false;
    // A row that names counterparts is tried both ways round.
    std::vector<Meaning> a = MeaningsOf(row, *layers_[0], *views_[0], !row.other.empty(), unknown);
    std::vector<Meaning> b = MeaningsOf(row, *layers_[1], *views_[1], false, unknown);
    if (!row.other.empty() && (a.empty() || b.empty())) {
      a = MeaningsOf(row, *layers_[0], *views_[0], false, unknown);
      b = MeaningsOf(row, *layers_[1], *views_[1], true, unknown);
    }
    if (unknown) open_.push_back(row.id);
    if (a.empty() || b.empty()) return;
    compared_.push_back(row.id);
    for (const Meaning& one : b) {
      if (!Has(a, one)) return Differ(row, a[0], one);
    }
    for (const Meaning& one : a) {
      if (!Has(b, one)) return Differ(row, one, b[0]);
    }
  }

  static bool Has(const std::vector<Meaning>& list, const Meaning& one) {
    return std::any_of(list.begin(), list.end(), [&](const Meaning& other) { return other.text == one.text; });
  }

  // PyTorch prints what differs from its defaults, Keras prints everything; MindSpore leaves out arguments (epsilon of
  // nn.LayerNorm, approximate of nn.GELU) whatever their value, so that nothing follows from their absence.
  bool Guessed(int side, const Meaning& meaning) const {
    return meaning.by_default && !meaning.of_script && views_[side]->framework() == "mindspore";
  }

  void Differ(const FrameworkDifference& row, const Meaning& a, const Meaning& b) {
    if (HasFinding(result_, "default_differs", row.id, a.shown, b.shown)) return;
    const bool guessed = Guessed(0, a) || Guessed(1, b);
    if (guessed) open_.push_back(row.id);
    const v1::Severity severity = !row.is_error ? v1::SEVERITY_NOTE
                                  : guessed     ? v1::SEVERITY_WARNING
                                                : v1::SEVERITY_ERROR;
    v1::Finding& finding = AddFinding(context_, result_, severity, "default_differs", row.id,
                                      {{"what", row.id}, {"baseline", a.shown}, {"migrated", b.shown}});
    finding.set_baseline(a.shown);
    finding.set_migrated(b.shown);
    finding.add_evidence(row.source);
    const auto x = ParseDouble(a.text);
    const auto y = ParseDouble(b.text);
    if (x && y) {
      SetFact(finding, "baseline_value", *x);
      SetFact(finding, "migrated_value", *y);
    } else {
      SetFact(finding, "baseline_value", absl::string_view(a.text));
      SetFact(finding, "migrated_value", absl::string_view(b.text));
    }
    SetFact(finding, "by_default", a.by_default || b.by_default);
  }

  const CheckContext& context_;
  v1::CheckResult& result_;
  const SettingsView* views_[2];
  const std::vector<Layer>* layers_[2];
  std::vector<std::string> compared_;
  std::vector<std::string> open_;
};

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  std::map<std::string, std::vector<Layer>> layers[2];
  for (Side side : kBothSides) {
    for (const RunView& run : context.evidence.Runs(side))
      layers[static_cast<int>(side)][run.name] = LayersOf(context, run);
  }
  ComparePairs(
      context, result,
      [&](const SettingsView& baseline, const SettingsView& migrated) {
        const bool known = !baseline.framework().empty() && !migrated.framework().empty();
        if (known && baseline.framework() == migrated.framework()) {
          AddNote(context, result, "not_applicable", migrated.run_name(),
                  {{"why", StrCat(baseline.framework(), " / ", migrated.framework())}});
          return;
        }
        const std::vector<Layer>& a = layers[0][baseline.run_name()];
        const std::vector<Layer>& b = layers[1][migrated.run_name()];
        if (!known || a.empty() || b.empty()) {
          AddMissing(context, result, "model_not_printed", migrated.run_name());
          return;
        }
        Pair(context, result, baseline, migrated, a, b).Run();
        for (const SettingsView* view : {&baseline, &migrated}) {
          const std::vector<Layer>& of_view = view == &baseline ? a : b;
          if (of_view[0].of_script) ReportScriptNotWhole(context, result, view->flow(), view->run_name());
        }
      },
      kReadScripts);
}

}  // namespace

extern const Check kNetworkDefaults;
const Check kNetworkDefaults = {"network.definition.defaults", {}, &Evaluate};

}  // namespace paritect
