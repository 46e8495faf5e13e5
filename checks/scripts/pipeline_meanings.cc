#include "checks/scripts/pipeline_meanings.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "checks/scripts/detail.h"

namespace paritect {
namespace {

struct StepName {
  absl::string_view name;
  absl::string_view meaning;  // "": only another form of the same sample
};
// Sources: torchvision 0.16, MindSpore 2.3 (mindspore.dataset.vision), TensorFlow 2.15 (tf.image, Keras layers).
constexpr StepName kSteps[] = {
    {"Resize", "resize"},
    {"resize", "resize"},
    {"Resizing", "resize"},
    {"CenterCrop", "centre crop"},
    {"RandomCrop", "random crop"},
    {"random_crop", "random crop"},
    {"RandomHorizontalFlip", "horizontal flip"},
    {"random_flip_left_right", "horizontal flip"},
    {"RandomVerticalFlip", "vertical flip"},
    {"random_flip_up_down", "vertical flip"},
    {"RandomResizedCrop", "random resized crop"},
    {"RandomCropDecodeResize", "random resized crop"},
    {"Normalize", "normalisation"},
    {"ColorJitter", "colour jitter"},
    {"RandomColorAdjust", "colour jitter"},
    {"RandomRotation", "rotation"},
    {"RandomErasing", "erasing"},
    {"ToTensor", ""},
    {"PILToTensor", ""},
    {"ToPILImage", ""},
    {"ToPIL", ""},
    {"Decode", ""},
    {"HWC2CHW", ""},
    {"Rescale", ""},
    {"Rescaling", ""},
    {"TypeCast", ""},
    {"ConvertImageDtype", ""},
    {"convert_image_dtype", ""},
    {"decode_jpeg", ""},
    {"decode_png", ""},
    {"decode_image", ""},
};

struct ArgumentName {
  absl::string_view meaning;   // of the step
  absl::string_view argument;  // what it means
  absl::string_view names[3];
  double fallback;  // where it is not stated, in every framework; NaN: not compared then
};
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr ArgumentName kArguments[] = {
    {"resize", "size", {"size"}, kNone},
    {"centre crop", "size", {"size"}, kNone},
    {"random crop", "size", {"size"}, kNone},
    {"random resized crop", "size", {"size"}, kNone},
    {"random resized crop", "scale", {"scale"}, kNone},
    {"random resized crop", "ratio", {"ratio"}, kNone},
    {"horizontal flip", "probability", {"p", "prob"}, 0.5},
    {"vertical flip", "probability", {"p", "prob"}, 0.5},
    {"normalisation", "mean", {"mean"}, kNone},
    {"normalisation", "std", {"std"}, kNone},
};

constexpr double kPixelMax = 255;  // of the images that MindSpore normalises as they were decoded

using Numbers = std::vector<double>;

std::optional<double> NumberOf(const v1::Value& value) {
  if (value.kind_case() == v1::Value::kInteger) return static_cast<double>(value.integer());
  if (value.kind_case() == v1::Value::kNumber) return value.number();
  return std::nullopt;
}

// A number or a list of numbers; empty where it is not known.
Numbers NumbersOf(const v1::ScriptArgument& argument) {
  Numbers numbers;
  if (const auto one = NumberOf(argument.value())) return {*one};
  for (const v1::Value& item : argument.value().list().items()) {
    const auto one = NumberOf(item);
    if (!one) return {};
    numbers.push_back(*one);
  }
  return numbers;
}

bool SameNumbers(const Numbers& a, const Numbers& b, double factor) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](double x, double y) {
    return std::fabs(x * factor - y) <= 1e-3 * std::max(std::fabs(y), 1e-6);
  });
}

const StepName* NameOf(const v1::ScriptFact& fact) {
  const absl::string_view name = absl::string_view(fact.name()).substr(fact.name().rfind('.') + 1);
  const auto found =
      std::find_if(std::begin(kSteps), std::end(kSteps), [&](const StepName& one) { return one.name == name; });
  return found == std::end(kSteps) ? nullptr : found;
}

// The steps of a side, by what they mean. `whole`: each is known.
struct Steps {
  std::map<absl::string_view, std::vector<const v1::ScriptFact*>> by_meaning;
  bool whole = true;
};

Steps StepsOf(const PipelineSide& side) {
  Steps steps;
  steps.whole = !side.own_data_set;
  const v1::ScriptFact* last = nullptr;
  for (const PipelineItem& item : side.items) {
    if (item.fact == last) continue;
    last = item.fact;
    // A map over known functions is told by them; one over the project's own code is not.
    if (item.fact->kind() != "transform") {
      steps.whole = steps.whole && !item.code && item.known;
      continue;
    }
    const StepName* name = NameOf(*item.fact);
    steps.whole = steps.whole && name != nullptr && !item.fact->conditional();
    if (name != nullptr && !name->meaning.empty()) steps.by_meaning[name->meaning].push_back(item.fact);
  }
  return steps;
}

class MeaningComparison {
 public:
  std::vector<MeaningDifference> OfTransforms(const PipelineSide& x, const PipelineSide& y) {
    const Steps a = StepsOf(x);
    const Steps b = StepsOf(y);
    for (const StepName& step : kSteps) {
      if (step.meaning.empty() || !told_.insert(step.meaning).second) continue;
      const auto of_a = a.by_meaning.find(step.meaning);
      const auto of_b = b.by_meaning.find(step.meaning);
      const bool in_a = of_a != a.by_meaning.end();
      const bool in_b = of_b != b.by_meaning.end();
      if (in_a && in_b && of_a->second.size() == 1 && of_b->second.size() == 1) {
        Arguments(step.meaning, *of_a->second[0], *of_b->second[0]);
      } else if (in_a && !in_b && b.whole) {
        found_.push_back({std::string(step.meaning), ScriptDetail(*of_a->second[0]), "-", of_a->second[0], nullptr});
      } else if (in_b && !in_a && a.whole) {
        found_.push_back({std::string(step.meaning), "-", ScriptDetail(*of_b->second[0]), nullptr, of_b->second[0]});
      }
    }
    return std::move(found_);
  }

  // One number that both sides state once: a buffer, a seed.
  void OfNumber(absl::string_view name, const std::vector<PipelineItem>& x, const std::vector<PipelineItem>& y) {
    const PipelineItem* a = Only(name, x);
    const PipelineItem* b = Only(name, y);
    if (a != nullptr && b != nullptr && a->shown != b->shown)
      found_.push_back({std::string(name), a->shown, b->shown, a->fact, b->fact});
  }

  // Whether samples are shuffled, whether the rest of a batch is dropped.
  void OfSwitch(absl::string_view what, std::initializer_list<absl::string_view> names,
                const std::vector<PipelineItem>& x, const std::vector<PipelineItem>& y) {
    const PipelineItem* a = Switch(names, x);
    const PipelineItem* b = Switch(names, y);
    if (a != nullptr && b != nullptr && a->shown != b->shown)
      found_.push_back({std::string(what), a->shown, b->shown, a->fact, b->fact});
  }

  std::vector<MeaningDifference> Take() { return std::move(found_); }

 private:
  void Arguments(absl::string_view meaning, const v1::ScriptFact& a, const v1::ScriptFact& b) {
    for (const ArgumentName& one : kArguments) {
      if (one.meaning != meaning) continue;
      const Numbers x = Of(one, a);
      const Numbers y = Of(one, b);
      // A side alone is the shorter one, a pair is both: another thing, but not for certain another result.
      if (x.empty() || y.empty() || x.size() != y.size()) continue;
      const bool scaled = meaning == "normalisation" && (SameNumbers(x, y, kPixelMax) || SameNumbers(y, x, kPixelMax));
      if (SameNumbers(x, y, 1) || scaled) continue;
      found_.push_back({absl::StrCat(meaning, " ", one.argument), Shown(x), Shown(y), &a, &b});
    }
  }

  static Numbers Of(const ArgumentName& name, const v1::ScriptFact& fact) {
    for (absl::string_view one : name.names) {
      const v1::ScriptArgument* argument = one.empty() ? nullptr : FindScriptArgument(fact, one);
      if (argument != nullptr) return argument->option().empty() ? NumbersOf(*argument) : Numbers();
    }
    return std::isnan(name.fallback) ? Numbers() : Numbers{name.fallback};
  }

  static std::string Shown(const Numbers& numbers) {
    std::string out;
    for (double one : numbers) absl::StrAppend(&out, out.empty() ? "" : ", ", one);
    return out;
  }

  static const PipelineItem* Only(absl::string_view name, const std::vector<PipelineItem>& items) {
    const PipelineItem* only = nullptr;
    for (const PipelineItem& one : items) {
      if (one.name != name || one.shown == "None") continue;
      if (!one.known || one.by_option || one.fact->conditional() || (only != nullptr && only->shown != one.shown))
        return nullptr;
      only = &one;
    }
    return only;
  }

  static const PipelineItem* Switch(std::initializer_list<absl::string_view> names,
                                    const std::vector<PipelineItem>& items) {
    const PipelineItem* only = nullptr;
    for (const PipelineItem& one : items) {
      // A step that shuffles, or a sampler, decides by itself; which rest a sampler drops is another one.
      const bool sampler = one.fact->kind() == "sampler";
      if (one.fact->kind() == "shuffle" || (sampler && one.name != "drop_last")) return nullptr;
      if (sampler) continue;
      const bool asked = std::find(names.begin(), names.end(), one.name) != names.end();
      if (!asked || !one.known || one.by_option || (one.shown != "True" && one.shown != "False")) continue;
      if (only != nullptr && only->shown != one.shown) return nullptr;
      only = &one;
    }
    return only;
  }

  std::set<absl::string_view> told_;
  std::vector<MeaningDifference> found_;
};

}  // namespace

std::vector<MeaningDifference> DifferencesOfMeaning(absl::string_view part, const PipelineSide& baseline,
                                                    const PipelineSide& migrated) {
  MeaningComparison comparison;
  if (part == "transform") return comparison.OfTransforms(baseline, migrated);
  if (part == "shuffle") {
    comparison.OfSwitch("shuffle", {"shuffle"}, baseline.items, migrated.items);
    comparison.OfNumber("buffer_size", baseline.items, migrated.items);
    comparison.OfNumber("seed", baseline.items, migrated.items);
  }
  if (part == "padding")
    comparison.OfSwitch("drop_remainder", {"drop_last", "drop_remainder"}, baseline.items, migrated.items);
  return comparison.Take();
}

}  // namespace paritect
