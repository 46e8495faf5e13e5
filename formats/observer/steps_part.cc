#include "formats/observer/steps_part.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/numbers.h"
#include "common/recorded_formats.h"
#include "formats/observer/tensor.h"
#include "formats/observer/value_text.h"

namespace paritect {
namespace {

constexpr std::size_t kOptimizersMax = 64;
constexpr std::size_t kStepsMax = 1'000'000;
constexpr std::size_t kScalesMax = 1'000'000;
constexpr std::size_t kGroupsMax = 10'000;
constexpr std::size_t kParametersMax = 1'000'000;
constexpr std::size_t kChangesMax = 64;
constexpr int kTensorsMax = 1'000'000;

std::optional<double> FirstOf(const ObservedRecord& record, absl::string_view field) {
  const std::vector<DocumentNode>& list = record.List(field);
  return list.empty() ? std::nullopt : NumberIn(list.front());
}

// By what the recorded gradients are still multiplied: the scale of the loss, and what clipping took. 1 where it is not
// told.
double FactorOf(const ObservedRecord& record) {
  const double factor = record.Number("scale").value_or(1) * record.Number("clip_factor").value_or(1);
  return std::isfinite(factor) && factor > 0 ? factor : 1;
}

// The gradient as backward made it; its bytes are then another's.
void Unscale(double factor, v1::TensorFingerprint& tensor) {
  if (factor == 1) return;
  tensor.clear_xxh3();
  tensor.clear_values();
  tensor.clear_histogram();
  v1::TensorStatistics& statistics = *tensor.mutable_statistics();
  if (statistics.has_min()) statistics.set_min(statistics.min() / factor);
  if (statistics.has_max()) statistics.set_max(statistics.max() / factor);
  if (statistics.has_sum()) statistics.set_sum(statistics.sum() / factor);
  if (statistics.has_sum_of_squares()) statistics.set_sum_of_squares(statistics.sum_of_squares() / factor / factor);
  statistics.clear_sum_of_fourths();
  for (double& one : *tensor.mutable_sketch()) one /= factor;
}

const char* OptimizerKey(absl::string_view option) {
  static const std::map<absl::string_view, const char*> kKeys = {{"weight_decay", "weight_decay"},
                                                                 {"betas", "betas"},
                                                                 {"eps", "adam_eps"},
                                                                 {"momentum", "momentum"},
                                                                 {"nesterov", "nesterov"}};
  const auto found = kKeys.find(option);
  return found == kKeys.end() ? nullptr : found->second;
}

}  // namespace

bool StepsPart::Take(const ObservedRecord& record) {
  const std::string kind = record.kind();
  if (kind == "step") return TakeStep(record), true;
  if (kind == "scale") return TakeScale(record), true;
  if (kind == "group") return TakeGroup(record), true;
  if (kind == "grads") return TakeChange(record, true), true;
  if (kind == "update") return TakeChange(record, false), true;
  const std::int64_t id = record.Integer("id").value_or(-1);
  if (kind == "optimizer") {
    if (optimizers_.size() < kOptimizersMax) {
      optimizers_[id].line = record.line();
      optimizers_[id].class_name = ShortClass(record.Text("class"));
      optimizers_[id].of_framework = absl::StartsWith(record.Text("class"), "torch.optim.");
    }
    return true;
  }
  if (kind == "scheduler") {
    if (schedules_.size() < kOptimizersMax) {
      schedules_[id] = {record.line(), record.Integer("optimizer").value_or(0), ShortClass(record.Text("class"))};
    }
    return true;
  }
  if (kind != "kept") return false;
  if (kept_.size() < kStepsMax) {
    kept_.push_back({record.line(), record.Integer("n").value_or(0), record.Integer("looked").value_or(0),
                     record.Integer("kept").value_or(0)});
  }
  return true;
}

void StepsPart::TakeStep(const ObservedRecord& record) {
  const auto optimizer = record.Integer("optimizer"), n = record.Integer("n");
  if (!optimizer || !n || (steps_.size() >= kOptimizersMax && !steps_.contains(*optimizer))) return;
  if (steps_[*optimizer].size() >= kStepsMax) return;
  Step& step = steps_[*optimizer][*n];
  step.line = record.line();
  step.lr = FirstOf(record, "lr");
  // The sum over the micro-batches: each is a share of the loss where the script divides it, as it should.
  step.loss = record.Number("loss_sum");
  if (!step.loss.has_value()) step.loss = record.Number("loss");
  step.scale = record.Number("scale");
  step.grad_norm = record.Number("grad_norm");
  step.backwards = record.Integer("backwards");
  step.forwards = record.Integer("forwards");
  step.collectives = record.Integer("collectives");
  if (const DocumentNode* clip = record.Find("clip"); clip != nullptr && clip->is_map()) {
    if (const DocumentNode* by = clip->Find("by")) step.clip_by = by->text;
    if (const DocumentNode* limit = clip->Find("limit")) step.clip_limit = NumberIn(*limit);
    // Before clipping: what logs print as the norm.
    if (const DocumentNode* norm = clip->Find("norm"); norm != nullptr && NumberIn(*norm)) {
      step.grad_norm = NumberIn(*norm);
    }
  }
  for (const DocumentNode& one : record.List("schedulers")) {
    if (one.items.size() < 3) continue;
    const auto id = IntegerIn(one.items[0]), count = IntegerIn(one.items[2]);
    if (id && count) step.schedules[*id] = *count;
  }
}

void StepsPart::TakeScale(const ObservedRecord& record) {
  if (scales_.size() >= kScalesMax) return;
  const auto before = record.Number("before"), after = record.Number("after");
  if (!before || !after) return;
  scales_.push_back({record.line(), *after, *before, record.Boolean("applied"), record.Integer("at").value_or(0)});
}

void StepsPart::TakeGroup(const ObservedRecord& record) {
  const auto found = optimizers_.find(record.Integer("optimizer").value_or(-1));
  if (found == optimizers_.end() || found->second.groups.size() >= kGroupsMax) return;
  Group& group = found->second.groups[record.Integer("group").value_or(0)];
  if (group.line == 0) {
    group.line = record.line();
    const DocumentNode* options = record.Find("options");
    for (const auto& [name, value] : options == nullptr ? decltype(DocumentNode::fields)() : options->fields) {
      if (!value.is_null()) group.options.emplace_back(name.text, ValueText(value));
    }
  }
  group.list.came += static_cast<std::int64_t>(record.List("params").size());
  group.list.total = std::max(group.list.total, record.Integer("total").value_or(0));
  for (const DocumentNode& one : record.List("params")) {
    if (one.items.size() < 4 || group.names.size() >= kParametersMax) continue;
    if (one.items[3].text == "false") continue;
    group.names.push_back(one.items[0].is_null() ? "?" : one.items[0].text);
    group.elements[one.items[2].text] += std::max<std::int64_t>(0, IntegerIn(one.items[1]).value_or(0));
  }
}

void StepsPart::TakeChange(const ObservedRecord& record, bool gradient) {
  const auto optimizer = record.Integer("optimizer"), n = record.Integer("n");
  if (!optimizer || !n || *n < 1 || changes_.size() >= kChangesMax) return;
  Change& change = changes_[{*optimizer, *n}];
  (gradient ? change.grads : change.update).Add(record);
  for (const DocumentNode& one : record.List("of")) {
    if (change.weights.tensors_size() >= kTensorsMax) return;
    if (const DocumentNode* none = one.Find("none"); none != nullptr && none->text == "true") continue;
    v1::TensorFingerprint& tensor = *change.weights.add_tensors();
    tensor = ObservedTensor(one);
    tensor.set_role(gradient ? v1::TENSOR_ROLE_GRADIENT : v1::TENSOR_ROLE_UPDATE);
    if (gradient) Unscale(FactorOf(record), tensor);
  }
}

std::int64_t StepsPart::Main() const {
  std::int64_t best = -1;
  for (const auto& [id, steps] : steps_) {
    if (best < 0 || steps.rbegin()->first > steps_.at(best).rbegin()->first) best = id;
  }
  return best;
}

std::string StepsPart::TrainedType() const {
  const auto found = optimizers_.find(Main());
  if (found == optimizers_.end()) return "";
  std::map<std::string, std::int64_t> elements;
  for (const auto& [number, group] : found->second.groups) {
    for (const auto& [dtype, count] : group.elements) elements[dtype] += count;
  }
  std::string best;
  for (const auto& [dtype, count] : elements) {
    if (best.empty() || count > elements[best]) best = dtype;
  }
  return best;
}

void StepsPart::AddFacts(bool whole, SettingsBuilder& facts) const {
  AddOptimizer(facts);
  AddStepFacts(whole, facts);
  AddSchedules(facts);
  AddKept(facts);
}

void StepsPart::AddOptimizer(SettingsBuilder& facts) const {
  const auto found = optimizers_.find(Main());
  if (found == optimizers_.end()) return;
  facts.AddText("optimizer", found->second.class_name, found->second.line);
  if (found->second.groups.empty()) return;
  const Group& group = found->second.groups.begin()->second;
  std::string rate;
  // The largest decay: groups of norms and biases are left without one.
  std::optional<double> decay;
  for (const auto& [number, one] : found->second.groups) {
    for (const auto& [name, value] : one.options) {
      if (name == "weight_decay") decay = std::max(decay.value_or(0), ParseDouble(value).value_or(0));
    }
  }
  for (const auto& [name, value] : group.options) {
    // The rate that a schedule starts from; without one, that which all steps have. A cycle begins below its own.
    const bool starts = name == "initial_lr" && !Cycles(found->first);
    if (starts || (name == "lr" && rate.empty() && ConstantRate(found->first))) rate = value;
    const char* key = OptimizerKey(name);
    if (key != nullptr && name != "weight_decay") facts.Add(key, value, group.line);
  }
  if (decay.has_value()) facts.Add("weight_decay", FormatDouble(*decay), group.line);
  if (!rate.empty()) facts.Add("lr_base", rate, group.line);
}

bool StepsPart::Cycles(std::int64_t optimizer) const {
  return std::any_of(schedules_.begin(), schedules_.end(), [&](const auto& one) {
    return one.second.optimizer == optimizer && absl::StrContains(one.second.class_name, "Cycl");
  });
}

bool StepsPart::ConstantRate(std::int64_t optimizer) const {
  const auto found = steps_.find(optimizer);
  if (found == steps_.end() || found->second.empty()) return false;
  const std::optional<double> first = found->second.begin()->second.lr;
  return std::all_of(found->second.begin(), found->second.end(),
                     [&](const auto& one) { return one.second.lr == first; });
}

void StepsPart::AddStepFacts(bool whole, SettingsBuilder& facts) const {
  const auto found = steps_.find(Main());
  if (found == steps_.end()) return;
  std::map<std::int64_t, int> backwards;
  int counted = 0, clipped = 0, steps = 0;
  std::int64_t fewest = -1;
  const Step& first = found->second.begin()->second;
  std::optional<double> limit;
  for (const auto& [n, step] : found->second) {
    ++steps;
    // As many forwards as backwards: micro-batches. Several losses of one batch are none.
    if (step.backwards) ++backwards[step.forwards == step.backwards ? *step.backwards : 0];
    clipped += step.clip_by.empty() ? 0 : 1;
    if (step.clip_by == "norm" && step.clip_limit) limit = step.clip_limit;
    // What was exchanged before the first step may be of the start.
    if (n > 1 && step.collectives) {
      ++counted;
      fewest = fewest < 0 ? *step.collectives : std::min(fewest, *step.collectives);
    }
  }
  facts.AddText("observed.steps", absl::StrCat(found->second.rbegin()->first), found->second.rbegin()->second.line);
  if (backwards.size() == 1 && backwards.begin()->first > 0) {
    facts.Add("gradient_accumulation_steps", absl::StrCat(backwards.begin()->first), first.line);
  }
  if (counted > 0) {
    facts.AddText("observed.collectives", absl::StrCat(fewest), first.line);
    facts.AddText("observed.collectives.steps", absl::StrCat(counted), first.line);
  }
  if (clipped == 0) {
    const auto optimizer = optimizers_.find(found->first);
    if (whole && optimizer != optimizers_.end() && optimizer->second.of_framework)
      facts.Add("clip_grad", "0", first.line);
  } else if (limit.has_value() && 2 * clipped >= steps) {
    facts.Add("clip_grad", FormatDouble(*limit), first.line);
  }
}

void StepsPart::AddSchedules(SettingsBuilder& facts) const {
  const auto found = steps_.find(Main());
  if (found == steps_.end()) return;
  for (const auto& [id, schedule] : schedules_) {
    if (schedule.optimizer != found->first) continue;
    facts.AddText("observed.schedule", schedule.class_name, schedule.line);
    // A schedule by a function of the program may be anything.
    static const std::set<std::string> kNamed = {"CosineAnnealingLR", "StepLR", "MultiStepLR", "ExponentialLR",
                                                 "PolynomialLR"};
    if (kNamed.contains(schedule.class_name) && schedules_.size() == 1) {
      facts.AddText("lr_style", schedule.class_name, schedule.line);
    }
    // Of neighbouring steps: how often the schedule went on between them.
    std::map<std::int64_t, int> differences;
    const Step* before = nullptr;
    std::int64_t number = -1;
    for (const auto& [n, step] : found->second) {
      const auto count = step.schedules.find(id);
      if (count != step.schedules.end() && before != nullptr && n == number + 1 && before->schedules.contains(id)) {
        ++differences[count->second - before->schedules.at(id)];
      }
      before = &step;
      number = n;
    }
    if (differences.size() != 1 || differences.begin()->first < 2) continue;
    v1::Setting* one =
        facts.AddText("observed.schedule.steps", absl::StrCat(differences.begin()->first), schedule.line);
    if (one != nullptr) one->set_scope(schedule.class_name);
  }
}

void StepsPart::AddKept(SettingsBuilder& facts) const {
  int looked = 0, kept = 0;
  std::int64_t line = 0;
  for (const Kept& one : kept_) {
    if (one.looked == 0) continue;
    ++looked;
    if (2 * one.kept <= one.looked) continue;
    ++kept;
    if (line == 0) line = one.line;
  }
  if (looked == 0) return;
  facts.AddText("observed.kept.looked", absl::StrCat(looked), kept_.front().line);
  facts.AddText("observed.kept.steps", absl::StrCat(kept), line == 0 ? kept_.front().line : line);
}

v1::SettingsDocument StepsPart::Groups(absl::string_view label) const {
  SettingsBuilder builder("parameter-groups", "parameter-groups", label);
  const auto found = optimizers_.find(Main());
  if (found == optimizers_.end()) return builder.Finish();
  for (const auto& [number, group] : found->second.groups) {
    const std::string scope = absl::StrCat("group ", number);
    const auto set = [&](v1::Setting* one) {
      if (one != nullptr) one->set_scope(scope);
    };
    for (const auto& [name, value] : group.options) set(builder.Add(absl::StrCat("group.", name), value, group.line));
    if (!group.list.whole()) continue;
    set(builder.Add("group.params", absl::StrCat(group.names.size()), group.line));
    if (!group.names.empty()) set(builder.AddText("group.names", absl::StrJoin(group.names, " "), group.line));
  }
  return builder.Finish();
}

// Updates that the scaler left out: each belongs to the step that would have come.
void StepsPart::AddScales(v1::RunLog& log) const {
  std::map<std::int64_t, v1::StepRecord*> by_step;
  for (v1::StepRecord& record : *log.mutable_records()) by_step.emplace(record.step(), &record);
  std::vector<v1::StepRecord> more;
  std::int64_t skipped = 0;
  for (const Scale& scale : scales_) {
    log.set_overflow_seen(true);
    const bool skip = scale.applied == false || (!scale.applied.has_value() && scale.after < scale.before);
    skipped += skip ? 1 : 0;
    v1::StepRecord record;
    record.set_step(scale.at + (skip ? 1 : 0));
    record.set_line(scale.line);
    record.set_loss_scale(scale.before);
    if (skip) record.set_overflow(true);
    const auto same = by_step.find(record.step());
    if (!skip && same != by_step.end()) {
      same->second->set_loss_scale(scale.before);
    } else {
      more.push_back(std::move(record));
    }
  }
  for (v1::StepRecord& record : more) *log.add_records() = std::move(record);
  std::stable_sort(log.mutable_records()->begin(), log.mutable_records()->end(),
                   [](const auto& a, const auto& b) { return a.step() < b.step(); });
}

v1::RunLog StepsPart::Log() const {
  v1::RunLog log;
  log.set_format(kObservedFormat);
  const auto found = steps_.find(Main());
  if (found == steps_.end()) return log;
  for (const auto& [n, step] : found->second) {
    v1::StepRecord& record = *log.add_records();
    record.set_step(n);
    record.set_line(step.line);
    if (step.loss) record.set_loss(*step.loss);
    if (step.lr) record.set_lr(*step.lr);
    if (step.grad_norm) record.set_grad_norm(*step.grad_norm);
  }
  AddScales(log);
  return log;
}

std::vector<v1::Weights> StepsPart::Changes() const {
  std::vector<v1::Weights> all;
  const std::int64_t main = Main();
  for (const auto& [key, change] : changes_) {
    if (key.first != main) continue;
    v1::Weights weights = change.weights;
    weights.set_format(kObservedFormat);
    weights.set_recorder("observer");
    weights.set_step(key.second);
    for (const ListProgress* list : {&change.grads, &change.update}) {
      if (list->whole() && !list->sampled) continue;
      v1::Problem& problem = *weights.add_incomplete();
      problem.set_id(list->whole() ? "observed_sampled" : "observed_list_cut");
      (*problem.mutable_args())["kept"] = absl::StrCat(list->came);
      (*problem.mutable_args())["total"] = absl::StrCat(list->total);
    }
    all.push_back(std::move(weights));
  }
  return all;
}

}  // namespace paritect
