#include "checks/settings/derived.h"

#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/numbers.h"
#include "common/recorded_formats.h"
#include "rules/launchers.h"

namespace paritect {
namespace {

using absl::StrCat;

// One factor of a product: a number, its origin, or the key that lacks.
struct Factors {
  double product = 1;
  std::vector<std::string> figures;
  std::vector<std::string> evidence;
  std::vector<std::string> lacking;
  std::vector<PartConflict> conflicts;

  void Take(const SettingsView& view, absl::string_view key, std::optional<double> fallback = std::nullopt) {
    const EffectiveValue* found = view.Find(key);
    // What a source sets to something that it does not tell is not what counts where nobody sets it.
    if (view.Untold(key) != nullptr) fallback.reset();
    const std::optional<double> number = found != nullptr ? view.Number(key) : fallback;
    if (!number) {
      lacking.emplace_back(key);
      return;
    }
    product *= *number;
    figures.push_back(FormatDouble(*number));
    if (found == nullptr) return;
    evidence.push_back(StrCat(found->value.shown_key(), " ", found->value.text, " (", found->value.origin, ")"));
    for (const SourcedValue& other : found->disagreeing) conflicts.push_back({std::string(key), found->value, other});
  }

  Derived Result() const {
    Derived derived;
    derived.lacking = lacking;
    derived.evidence = evidence;
    derived.part_conflicts = conflicts;
    if (lacking.empty()) {
      derived.value = product;
      derived.text = figures.size() > 1 ? StrCat(absl::StrJoin(figures, " x "), " = ", FormatDouble(product))
                                        : FormatDouble(product);
    }
    return derived;
  }
};

SourcedValue AsSourced(const Derived& derived, absl::string_view name) {
  SourcedValue value;
  value.value.set_number(*derived.value);
  value.text = derived.text;
  value.raw_key = std::string(name);
  value.origin = absl::StrJoin(derived.evidence, "; ");
  value.source = SettingSource::kDerived;
  return value;
}

Derived Stated(const EffectiveValue& found, double number) {
  Derived derived;
  derived.value = number;
  derived.text = FormatDouble(number);
  derived.evidence = {StrCat(found.value.shown_key(), " ", found.value.text, " (", found.value.origin, ")")};
  return derived;
}

double NumberIn(const SourcedValue& value) {
  return value.value.kind_case() == v1::Value::kInteger ? static_cast<double>(value.value.integer())
                                                        : value.value.number();
}

// nodes x processes per node, where both are stated.
Derived LaunchedProcesses(const SettingsView& view) {
  Factors product;
  product.Take(view, "nodes");
  product.Take(view, "devices_per_node");
  return product.Result();
}

// World size from what launches the processes, where nobody states it.
Derived WorldSize(const SettingsView& view) {
  const std::vector<SourcedValue> sizes = StatedWorldSizes(view);
  if (sizes.empty()) {
    Derived unknown;
    unknown.lacking = {"world_size"};
    return unknown;
  }
  const SourcedValue* best = &sizes[0];
  for (const SourcedValue& size : sizes) {
    if (size.source > best->source && size.source != SettingSource::kDerived) best = &size;
  }
  Derived derived;
  derived.value = NumberIn(*best);
  derived.text = best->source == SettingSource::kDerived ? best->text : FormatDouble(*derived.value);
  derived.evidence = {StrCat(best->shown_key(), " ", best->text, " (", best->origin, ")")};
  for (const SourcedValue& size : sizes) {
    if (NumberIn(size) != *derived.value) derived.part_conflicts.push_back({"world_size", *best, size});
  }
  return derived;
}

// Whether the parts of a pipeline are what makes the batch: with stages, micro-batches count and accumulation does not;
// without, it is the other way round. Source: MindFormers, trainer/base_trainer.py
// (_check_global_batch_size_for_auto_parallel, _check_grad_accumulation_steps).
void TakeMindFormers(const SettingsView& view, Factors& factors) {
  const std::string mode = view.Text("parallel_mode").value_or("semi_auto_parallel");
  const bool automatic = mode == "semi_auto_parallel" || mode == "auto_parallel";
  const bool pipeline = automatic && view.Number("pipeline_parallel_size").value_or(1) > 1;
  if (pipeline) factors.Take(view, "micro_batch_num", 1);
  if (automatic) factors.Take(view, "micro_batch_interleave_num", 1);
  if (!pipeline && mode == "semi_auto_parallel") factors.Take(view, "gradient_accumulation_steps", 1);
  // Other modes put the accumulation back to 1, by version.
  if (!pipeline && mode != "semi_auto_parallel" && view.Number("gradient_accumulation_steps").value_or(1) > 1) {
    factors.lacking.emplace_back("parallel_mode");
  }
}

// The number of ranks that a batch is multiplied with. MindFormers without full_batch reads on every device.
Derived ReadingRanks(const SettingsView& view) {
  if (!view.HasFormat("mindformers-yaml")) return DataParallelSize(view);
  const std::string mode = view.Text("parallel_mode").value_or("semi_auto_parallel");
  const bool automatic = mode == "semi_auto_parallel" || mode == "auto_parallel";
  if (automatic && view.Boolean("full_batch").value_or(true)) return DataParallelSize(view);
  return WorldSize(view);
}

// The product that makes the global batch in the way of the side's library.
Derived ComputedBatch(const SettingsView& view) {
  Factors factors;
  // A batch whose meaning only its program knows is the same in either with one rank.
  const bool one_rank = view.Find("micro_batch_size") == nullptr && view.FindStated("batch_size") != nullptr &&
                        DataParallelSize(view).value == 1.0;
  factors.Take(view, one_rank ? "batch_size" : "micro_batch_size");
  if (one_rank) {
    factors.Take(view, "gradient_accumulation_steps", 1);
  } else if (view.HasFormat("mindformers-yaml")) {
    TakeMindFormers(view, factors);
  } else {
    factors.Take(view, "gradient_accumulation_steps");
  }
  Derived parallel = ReadingRanks(view);
  if (!parallel.value) {
    factors.lacking.insert(factors.lacking.end(), parallel.lacking.begin(), parallel.lacking.end());
  } else {
    factors.product *= *parallel.value;
    factors.figures.push_back(FormatDouble(*parallel.value));
    factors.evidence.insert(factors.evidence.end(), parallel.evidence.begin(), parallel.evidence.end());
  }
  factors.conflicts.insert(factors.conflicts.end(), parallel.part_conflicts.begin(), parallel.part_conflicts.end());
  return factors.Result();
}

// DeepSpeed and Megatron work the accumulation out from the global batch where nobody states it; its default
// then says nothing against a batch that is a whole number of micro-batches over all ranks.
bool AccumulationFollows(const SettingsView& view, double stated_batch, double computed_batch) {
  if (view.FindStated("gradient_accumulation_steps") != nullptr) return false;
  const std::optional<double> by_default = view.Number("gradient_accumulation_steps");
  if (!by_default || *by_default <= 0) return false;
  const double accumulation = stated_batch / (computed_batch / *by_default);
  return accumulation >= 1 && std::fabs(accumulation - std::round(accumulation)) < 1e-9 * accumulation;
}

bool SameNumber(double a, double b) {
  return std::fabs(a - b) <= 1e-9 * std::max(std::fabs(a), std::fabs(b));
}

}  // namespace

std::vector<SourcedValue> StatedWorldSizes(const SettingsView& view) {
  const LauncherTable& launchers = BuiltInLaunchers();
  std::vector<SourcedValue> sizes;
  const Derived launched = LaunchedProcesses(view);
  const double nodes = view.Number("nodes").value_or(0);
  const bool per_node_known = launched.value && nodes > 0 && *launched.value > nodes;
  bool several = false;
  for (const SourcedValue* one : view.All("world_size")) several = several || NumberIn(*one) != nodes;
  for (const SourcedValue* one : view.All("world_size")) {
    const std::string name = absl::AsciiStrToUpper(one->raw_key);
    const absl::string_view variable = absl::string_view(name).substr(name.find_last_of(".-") + 1);
    const bool tasks = launchers.IsField(LauncherField::kTasks, variable);
    const bool counts_nodes = tasks || launchers.MayCountNodes(variable);
    if (one->replaceable || NumberIn(*one) <= 0) continue;
    if (one->source == SettingSource::kLaunch && counts_nodes && nodes > 0 && NumberIn(*one) == nodes &&
        (per_node_known || (several && tasks))) {
      continue;
    }
    sizes.push_back(*one);
  }
  if (launched.value && launched.part_conflicts.empty()) {
    bool replaceable = false;
    for (absl::string_view key : {"nodes", "devices_per_node"}) {
      const EffectiveValue* part = view.FindStated(key);
      replaceable = replaceable || part == nullptr || part->value.replaceable;
    }
    // What a script gives for the case that nothing else is set says nothing against a stated size.
    if (replaceable && !sizes.empty()) return sizes;
    sizes.push_back(AsSourced(launched, "nodes x processes per node"));
    sizes.back().replaceable = replaceable;
  }
  return sizes;
}

Derived DataParallelSize(const SettingsView& view) {
  if (const EffectiveValue* stated = view.FindStated("data_parallel_size")) {
    if (auto number = view.Number("data_parallel_size")) return Stated(*stated, *number);
  }
  Derived world = WorldSize(view);
  if (!world.value) return world;
  double divisor = 1;
  for (absl::string_view key : {"tensor_parallel_size", "pipeline_parallel_size", "context_parallel_size"}) {
    if (view.Untold(key) != nullptr) {
      Derived unknown;
      unknown.lacking = {std::string(key)};
      return unknown;
    }
    const EffectiveValue* stated = view.FindStated(key);
    auto number = view.Number(key);
    if (stated == nullptr || !number || *number <= 1) continue;
    divisor *= *number;
    world.evidence.push_back(
        StrCat(stated->value.shown_key(), " ", stated->value.text, " (", stated->value.origin, ")"));
  }
  if (divisor > 1) {
    world.text =
        StrCat(FormatDouble(*world.value), " / ", FormatDouble(divisor), " = ", FormatDouble(*world.value / divisor));
    world.value = *world.value / divisor;
  }
  return world;
}

Derived GlobalBatch(const SettingsView& view) {
  const EffectiveValue* stated = view.FindStated("global_batch_size");
  const std::optional<double> stated_number = stated != nullptr ? view.Number("global_batch_size") : std::nullopt;
  Derived computed = ComputedBatch(view);
  if (!stated_number) return computed;
  // What the code says of a loader is no contradiction of what was stated.
  const EffectiveValue* micro = view.FindStated("micro_batch_size");
  if (micro != nullptr && micro->value.source == SettingSource::kScript) computed.value.reset();
  // What a person states yields to what the settings make; both are shown.
  const bool fact = stated->value.source == SettingSource::kFact;
  Derived derived = fact && computed.value ? computed : Stated(*stated, *stated_number);
  derived.part_conflicts = computed.part_conflicts;
  for (const SourcedValue& other : stated->disagreeing) derived.disagreeing.push_back(other);
  if (computed.value && !SameNumber(*computed.value, *stated_number) &&
      (fact || !AccumulationFollows(view, *stated_number, *computed.value))) {
    derived.disagreeing.push_back(fact ? stated->value : AsSourced(computed, "global_batch_size"));
  }
  return derived;
}

Derived TotalSteps(const SettingsView& view) {
  if (const EffectiveValue* stated = view.FindStated("train_steps")) {
    if (auto number = view.Number("train_steps")) {
      Derived derived = Stated(*stated, *number);
      for (const SourcedValue& other : stated->disagreeing) {
        derived.part_conflicts.push_back({"train_steps", stated->value, other});
      }
      return derived;
    }
  }
  // Megatron's --train-samples is the whole training, the banner's Num examples one epoch: a fact of the format.
  const EffectiveValue* samples = view.FindStated("train_samples");
  const Derived batch = GlobalBatch(view);
  if (samples != nullptr && batch.value && *batch.value > 0 && view.Number("train_samples")) {
    const bool one_epoch = !FactsOfSettingsFormat(samples->value.format).samples_of_all_epochs;
    const double epochs = one_epoch ? view.Number("train_epochs").value_or(0) : 1;
    if (epochs > 0) return Stated(*samples, std::ceil(*view.Number("train_samples") / *batch.value) * epochs);
  }
  const EffectiveValue* epochs = view.FindStated("train_epochs");
  const EffectiveValue* epoch = view.FindStated("steps_per_epoch");
  if (epochs != nullptr && epoch != nullptr && view.Number("train_epochs") && view.Number("steps_per_epoch")) {
    Derived derived = Stated(*epoch, std::round(*view.Number("train_epochs") * *view.Number("steps_per_epoch")));
    derived.evidence.push_back(
        StrCat(epochs->value.shown_key(), " ", epochs->value.text, " (", epochs->value.origin, ")"));
    return derived;
  }
  Derived unknown;
  unknown.lacking = {"train_steps"};
  return unknown;
}

Derived StepsPerEpoch(const SettingsView& view) {
  const EffectiveValue* stated = view.FindStated("steps_per_epoch");
  if (stated != nullptr && view.Number("steps_per_epoch").value_or(0) > 0) {
    return Stated(*stated, *view.Number("steps_per_epoch"));
  }
  const double epochs = view.Number("train_epochs").value_or(0);
  const EffectiveValue* stated_epochs = view.FindStated("train_epochs");
  const EffectiveValue* samples = view.FindStated("train_samples");
  const Derived batch = GlobalBatch(view);
  if (samples != nullptr && !FactsOfSettingsFormat(samples->value.format).samples_of_all_epochs &&
      view.Number("train_samples") && batch.value && *batch.value > 0) {
    return Stated(*samples, std::ceil(*view.Number("train_samples") / *batch.value));
  }
  // MindFormers' lr_schedule.total_steps is the whole training; others may let a rate fall for a part of it.
  const EffectiveValue* steps = view.FindStated("train_steps");
  const char* whole = "train_steps";
  if (steps == nullptr) {
    steps = view.FindStated("lr_decay_steps");
    whole = "lr_decay_steps";
    if (steps != nullptr && steps->value.format != "mindformers-yaml") steps = nullptr;
  }
  Derived unknown;
  unknown.lacking = {"steps_per_epoch"};
  if (steps == nullptr || stated_epochs == nullptr || !view.Number(whole) || epochs <= 0) return unknown;
  Derived derived = Stated(*steps, *view.Number(whole) / epochs);
  derived.evidence.push_back(
      StrCat(stated_epochs->value.shown_key(), " ", stated_epochs->value.text, " (", stated_epochs->value.origin, ")"));
  return derived;
}

Derived WarmupSteps(const SettingsView& view) {
  const EffectiveValue* steps = view.FindStated("warmup_steps");
  const auto number = view.Number("warmup_steps");
  const EffectiveValue* ratio = view.FindStated("warmup_ratio");
  // MindFormers takes the ratio where both are given (core/lr/lr_schedule.py), the others the steps.
  const bool ratio_first = ratio != nullptr && ratio->value.format == "mindformers-yaml";
  if (steps != nullptr && number && *number > 0 && !ratio_first) return Stated(*steps, *number);
  if (ratio != nullptr && view.Number("warmup_ratio")) {
    // Its total_steps is the length of the schedule.
    const EffectiveValue* length = ratio_first ? view.FindStated("lr_decay_steps") : nullptr;
    Derived total = length != nullptr && view.Number("lr_decay_steps") ? Stated(*length, *view.Number("lr_decay_steps"))
                                                                       : TotalSteps(view);
    if (*view.Number("warmup_ratio") == 0) return Stated(*ratio, 0);
    if (total.value) {
      Derived derived = Stated(*ratio, std::ceil(*view.Number("warmup_ratio") * *total.value - 1e-9));
      derived.evidence.insert(derived.evidence.end(), total.evidence.begin(), total.evidence.end());
      return derived;
    }
    return total;
  }
  if (const EffectiveValue* samples = view.FindStated("warmup_samples");
      samples != nullptr && view.Number("warmup_samples")) {
    const Derived batch = GlobalBatch(view);
    if (batch.value && *batch.value > 0 && *view.Number("warmup_samples") > 0) {
      return Stated(*samples, *view.Number("warmup_samples") / *batch.value);
    }
  }
  if (const EffectiveValue* epochs = view.FindStated("warmup_epochs");
      epochs != nullptr && view.Number("warmup_epochs")) {
    if (*view.Number("warmup_epochs") == 0) return Stated(*epochs, 0);
    const Derived epoch = StepsPerEpoch(view);
    if (epoch.value) {
      Derived derived = Stated(*epochs, std::round(*view.Number("warmup_epochs") * *epoch.value));
      derived.evidence.insert(derived.evidence.end(), epoch.evidence.begin(), epoch.evidence.end());
      return derived;
    }
    if (steps == nullptr || !number) return epoch;
  }
  if (steps != nullptr && number) return Stated(*steps, *number);
  Derived unknown;
  unknown.lacking = {"warmup_steps"};
  return unknown;
}

Derived DecaySteps(const SettingsView& view) {
  const EffectiveValue* steps = view.FindStated("lr_decay_steps");
  if (steps != nullptr && view.Number("lr_decay_steps")) return Stated(*steps, *view.Number("lr_decay_steps"));
  const EffectiveValue* samples = view.FindStated("lr_decay_samples");
  if (samples != nullptr && view.Number("lr_decay_samples")) {
    Derived batch = GlobalBatch(view);
    if (!batch.value || *batch.value <= 0) return batch;
    return Stated(*samples, std::ceil(*view.Number("lr_decay_samples") / *batch.value));
  }
  return TotalSteps(view);
}

bool StatesDecay(const SettingsView& view) {
  return view.FindStated("lr_decay_steps") != nullptr || view.FindStated("lr_decay_samples") != nullptr;
}

const EffectiveValue* BaseRate(const SettingsView& view) {
  const EffectiveValue* peak = view.FindStated("warmup_max_lr");
  return peak != nullptr ? peak : view.Find("lr_base");
}

namespace {

// The type that the run itself printed, where the options are no more than asked for; "" where it printed none.
std::string PrintedType(const SettingsView& view) {
  const EffectiveValue* printed = view.FindStated("compute_dtype");
  if (printed == nullptr || printed->value.source != SettingSource::kLog) return "";
  for (absl::string_view option : {"bf16", "fp16"}) {
    const EffectiveValue* asked = view.FindStated(option);
    // An option that is printed beside it may be what counts; what was observed is what ran.
    const bool observed = printed->value.format == kObservedFormat;
    if (!observed && asked != nullptr && asked->value.source == SettingSource::kLog) return "";
  }
  const std::string dtype = view.Text("compute_dtype").value_or("");
  return dtype == "float16" || dtype == "bfloat16" || dtype == "float32" ? dtype : "";
}

ComputeType StatedType(const SettingsView& view) {
  auto evidence = [&](absl::string_view key) {
    const EffectiveValue* found = view.FindStated(key);
    return found == nullptr ? ""
                            : StrCat(found->value.shown_key(), "=", found->value.text, " (", found->value.origin, ")");
  };
  if (view.Boolean("pure_bf16").value_or(false)) return {"bfloat16", evidence("pure_bf16")};
  if (auto dtype = PrintedType(view); !dtype.empty()) return {dtype, evidence("compute_dtype")};
  const bool bf16 = view.Boolean("bf16").value_or(false);
  const bool fp16 = view.Boolean("fp16").value_or(false);
  // Of two options that are both on the one counts that was given last: on the command line over the file.
  const bool fp16_over = bf16 && fp16 && view.Find("fp16")->value.source > view.Find("bf16")->value.source;
  if (bf16 && !fp16_over) return {"bfloat16", evidence("bf16")};
  if (fp16) return {"float16", evidence("fp16")};
  const EffectiveValue* apex = view.FindStated("amp_opt_level");
  const bool apex_off =
      apex != nullptr && apex->value.raw_key == "amp.opt_level" && view.Boolean("amp_enabled") == false;
  if (auto level = view.Text("amp_opt_level"); level && apex != nullptr && !apex_off) {
    if (*level == "o1" || *level == "o2" || *level == "o3") return {"float16", evidence("amp_opt_level")};
    if (*level == "o0") return {"float32", evidence("amp_opt_level")};
  }
  if (const EffectiveValue* own = view.FindStated("amp_enabled");  // of DeepSpeed: apex at its default, O1
      own != nullptr && own->value.raw_key == "amp.enabled" && view.Boolean("amp_enabled").value_or(false)) {
    return {"float16", evidence("amp_enabled")};
  }
  if (auto dtype = view.Text("amp_dtype"); dtype && view.Boolean("amp_enabled").value_or(false)) {
    return {*dtype, evidence("amp_dtype")};
  }
  if (auto dtype = view.Text("compute_dtype"); dtype && view.FindStated("compute_dtype") != nullptr) {
    if (*dtype == "float16" || *dtype == "bfloat16" || *dtype == "float32") return {*dtype, evidence("compute_dtype")};
  }
  if (auto wrapper = view.Text("amp_wrapper"); wrapper && view.Untold("compute_dtype") == nullptr) {
    return {*wrapper == "amp" || *wrapper == "apex" ? "float16" : "float32", evidence("amp_wrapper")};
  }
  for (absl::string_view key : {"precision_mode", "precision_mode_v2"}) {
    const EffectiveValue* mode = view.FindStated(key);
    if (mode == nullptr) continue;
    const std::string& value = mode->value.text;
    if (absl::StrContains(value, "mix") && absl::StrContains(value, "bf")) return {"bfloat16", evidence(key)};
    if (absl::StrContains(value, "mix")) return {"float16", evidence(key)};
  }
  // The type of the tensors is no more than that where an automatic mode is on.
  if (auto dtype = view.Text("stated_dtype"); dtype && view.FindStated("stated_dtype") != nullptr) {
    const bool automatic =
        view.Boolean("amp_enabled").value_or(false) || view.Boolean("tf_amp_graph_rewrite").value_or(false);
    const bool shortened = *dtype == "float16" || *dtype == "bfloat16";
    if (shortened || (*dtype == "float32" && !automatic)) {
      ComputeType type = {*dtype, evidence("stated_dtype")};
      type.of_tensors = shortened && !automatic;
      return type;
    }
  }
  // TensorFlow documents no other type of its rewrite (graph_rewrite, TF_ENABLE_AUTO_MIXED_PRECISION).
  if (view.Boolean("tf_amp_graph_rewrite").value_or(false)) return {"float16", evidence("tf_amp_graph_rewrite")};
  if (view.Boolean("manual_casts").value_or(false)) {
    const bool brain = absl::StrContains(view.FindStated("manual_casts")->value.raw_key, "bf16");
    return {brain ? "bfloat16" : "float16", evidence("manual_casts")};
  }
  // Only where a library states both options as off is nothing left that could turn them on.
  const bool both_off = view.FindStated("fp16") != nullptr && view.FindStated("bf16") != nullptr;
  if (both_off) return {"float32", StrCat(evidence("fp16"), ", ", evidence("bf16"))};
  return {};
}

}  // namespace

ComputeType ComputeTypeOf(const SettingsView& view) {
  ComputeType type = StatedType(view);
  for (absl::string_view key : {"bf16", "fp16"}) {
    const EffectiveValue* found = view.FindStated(key);
    type.contradicted = type.contradicted || (found != nullptr && !found->disagreeing.empty());
  }
  return type;
}

}  // namespace paritect
