#include "checks/scripts/pipeline_meanings.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "checks/scripts/detail.h"
#include "rules/script_words.h"

namespace paritect {
namespace {

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

const PipelineStep* StepOf(const v1::ScriptFact& fact) {
  return BuiltInScriptWords().StepOf(absl::string_view(fact.name()).substr(fact.name().rfind('.') + 1));
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
    const PipelineStep* name = StepOf(*item.fact);
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
    for (const PipelineStep& step : BuiltInScriptWords().steps) {
      if (step.meaning.empty()) continue;
      const auto of_a = a.by_meaning.find(step.meaning);
      const auto of_b = b.by_meaning.find(step.meaning);
      const bool in_a = of_a != a.by_meaning.end();
      const bool in_b = of_b != b.by_meaning.end();
      if (in_a && in_b && of_a->second.size() == 1 && of_b->second.size() == 1) {
        Arguments(step, *of_a->second[0], *of_b->second[0]);
      } else if (in_a && !in_b && b.whole) {
        found_.push_back({step.meaning, ScriptDetail(*of_a->second[0]), "-", of_a->second[0], nullptr});
      } else if (in_b && !in_a && a.whole) {
        found_.push_back({step.meaning, "-", ScriptDetail(*of_b->second[0]), nullptr, of_b->second[0]});
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
  void Arguments(const PipelineStep& step, const v1::ScriptFact& a, const v1::ScriptFact& b) {
    for (const StepArgument& one : step.arguments) {
      const Numbers x = Of(one, a);
      const Numbers y = Of(one, b);
      // A side alone is the shorter one, a pair is both: another thing, but not for certain another result.
      if (x.empty() || y.empty() || x.size() != y.size()) continue;
      const bool scaled =
          step.meaning == "normalisation" && (SameNumbers(x, y, kPixelMax) || SameNumbers(y, x, kPixelMax));
      if (SameNumbers(x, y, 1) || scaled) continue;
      found_.push_back({absl::StrCat(step.meaning, " ", one.meaning), Shown(x), Shown(y), &a, &b});
    }
  }

  static Numbers Of(const StepArgument& name, const v1::ScriptFact& fact) {
    for (const std::string& one : name.names) {
      const v1::ScriptArgument* argument = FindScriptArgument(fact, one);
      if (argument != nullptr) return argument->option().empty() ? NumbersOf(*argument) : Numbers();
    }
    return name.fallback ? Numbers{*name.fallback} : Numbers();
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
