#include "formats/observer/model_part.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/recorded_formats.h"
#include "formats/observer/tensor.h"
#include "formats/observer/value_text.h"

namespace paritect {
namespace {

constexpr std::size_t kRootsMax = 64;
constexpr std::size_t kNamesMax = 1'000'000;  // modules or parameters of a root
constexpr std::size_t kStatesMax = 64;
constexpr int kTensorsMax = 1'000'000;
constexpr int kCallsMax = 200'000;
constexpr std::size_t kLoadsMax = 1000;
constexpr std::size_t kPhasesMax = 10'000;
constexpr std::size_t kFedMax = 256;
constexpr std::size_t kShownMax = 5;

bool IsDropout(absl::string_view class_name) {
  return absl::StrContains(class_name, "Dropout") || absl::StrContains(class_name, "DropPath");
}
bool IsBatchNorm(absl::string_view class_name) {
  return absl::StrContains(class_name, "BatchNorm");
}

std::string ItemText(const DocumentNode& item, std::size_t place) {
  return place < item.items.size() && item.items[place].is_scalar() ? item.items[place].text : "";
}

// "(layer.0): Dropout(p=0.1)" as a printed model has it.
std::string PrintedLayer(const DocumentNode& module) {
  std::vector<std::string> arguments;
  if (module.items.size() > 3) {
    for (const auto& [name, value] : module.items[3].fields) {
      if (value.is_scalar()) arguments.push_back(absl::StrCat(name.text, "=", value.text));
    }
  }
  const std::string class_name = ShortClass(ItemText(module, 1));
  return absl::StrCat("(", ItemText(module, 0), "): ", class_name, "(", absl::StrJoin(arguments, ", "), ")");
}

double AttributeOf(const DocumentNode& module, absl::string_view name, double missing) {
  if (module.items.size() <= 3) return missing;
  const DocumentNode* found = module.items[3].Find(name);
  return found == nullptr ? missing : NumberIn(*found).value_or(missing);
}

void AddProblem(absl::string_view id, const ListProgress& list, v1::Weights& weights) {
  v1::Problem& problem = *weights.add_incomplete();
  problem.set_id(std::string(id));
  (*problem.mutable_args())["kept"] = absl::StrCat(list.came);
  (*problem.mutable_args())["total"] = absl::StrCat(list.total);
}

void AddTensors(const DocumentNode* list, absl::string_view place,
                google::protobuf::RepeatedPtrField<v1::DumpedTensor>& out) {
  if (list == nullptr) return;
  int number = 0;
  for (const DocumentNode& one : list->items) {
    const v1::TensorFingerprint tensor = ObservedTensor(one);
    const std::string where = tensor.name().empty() ? absl::StrCat(number) : tensor.name();
    *out.Add() = AsDumped(tensor, absl::StrCat(place, ".", where));
    ++number;
  }
}

}  // namespace

bool ModelPart::Take(const ObservedRecord& record) {
  const std::string kind = record.kind();
  if (kind == "root") return TakeRoot(record), true;
  if (kind == "modules") return TakeModules(record), true;
  if (kind == "parameters") return TakeParameters(record), true;
  if (kind == "weights") return TakeWeights(record), true;
  if (kind == "operators" || kind == "backward") return TakeOperators(record), true;
  if (kind == "load_state_dict") return TakeLoad(record), true;
  if (kind == "phase") return TakePhase(record), true;
  if (kind == "fed") return TakeFed(record), true;
  return false;
}

void ModelPart::TakeRoot(const ObservedRecord& record) {
  const auto id = record.Integer("id");
  if (!id || (roots_.size() >= kRootsMax && !roots_.contains(*id))) return;
  ObservedRoot& root = roots_[*id];
  root.line = record.line();
  root.class_name = ShortClass(record.Text("class"));
  root.inner_class = ShortClass(record.Text("module"));
  root.trainable = record.Integer("trainable").value_or(0);
}

void ModelPart::TakeModules(const ObservedRecord& record) {
  const auto found = roots_.find(record.Integer("root").value_or(-1));
  if (found == roots_.end()) return;
  ObservedRoot& root = found->second;
  root.module_list.Add(record);
  for (const DocumentNode& module : record.List("of")) {
    if (root.layers.size() >= kNamesMax) return;
    const std::string class_name = ItemText(module, 1);
    root.layers.emplace_back(PrintedLayer(module), record.line());
    if (IsDropout(class_name) && AttributeOf(module, "p", AttributeOf(module, "drop_prob", 1)) > 0) ++root.dropouts;
    root.batch_norms += IsBatchNorm(class_name) ? 1 : 0;
  }
}

void ModelPart::TakeParameters(const ObservedRecord& record) {
  const auto found = roots_.find(record.Integer("root").value_or(-1));
  if (found == roots_.end()) return;
  found->second.parameter_list.Add(record);
  for (const DocumentNode& one : record.List("of")) {
    if (found->second.parameters.size() >= kNamesMax || one.items.size() < 4) return;
    found->second.parameters[ItemText(one, 0)] = {ItemText(one, 2), ElementsOf(one.items[1]),
                                                  ItemText(one, 3) != "false"};
  }
}

void ModelPart::TakeWeights(const ObservedRecord& record) {
  const auto at = record.Integer("at");
  const std::int64_t root = record.Integer("root").value_or(0);
  if (!at || *at < 0 || (states_.size() >= kStatesMax && !states_.contains({*at, root}))) return;
  if (*at == 0 && roots_.contains(root)) roots_[root].trains = true;
  State& state = states_[{*at, root}];
  const std::string role = record.Text("role");
  state.lists[role].Add(record);
  if (state.weights.stage().empty()) state.weights.set_stage(record.Text("stage"));
  for (const DocumentNode& one : record.List("of")) {
    if (state.weights.tensors_size() >= kTensorsMax) return;
    v1::TensorFingerprint& tensor = *state.weights.add_tensors();
    tensor = ObservedTensor(one);
    tensor.set_role(role == "buffer" ? v1::TENSOR_ROLE_BUFFER : v1::TENSOR_ROLE_PARAMETER);
  }
}

void ModelPart::TakeOperators(const ObservedRecord& record) {
  const bool backward = record.kind() == "backward";
  (backward ? backward_list_ : operator_list_).Add(record);
  for (const DocumentNode& one : record.List("of")) {
    if (operators_.calls_size() >= kCallsMax) return;
    const auto text = [&](absl::string_view field) {
      const DocumentNode* found = one.Find(field);
      return found == nullptr ? std::string() : found->text;
    };
    v1::DumpedCall& call = *operators_.add_calls();
    call.set_order(operators_.calls_size() - 1);
    const std::string times = text("call");
    call.set_name(times.empty() || times == "0" ? text("name") : absl::StrCat(text("name"), "#", times));
    call.set_operator_(absl::AsciiStrToLower(ShortClass(text("class"))));
    call.set_module(text("name"));
    call.set_is_module(true);
    call.set_direction(backward ? v1::DumpedCall::DIRECTION_BACKWARD : v1::DumpedCall::DIRECTION_FORWARD);
    AddTensors(one.Find("inputs"), "input", *call.mutable_inputs());
    AddTensors(one.Find("outputs"), "output", *call.mutable_outputs());
    if (backward) continue;
    for (const v1::DumpedTensor& output : call.outputs()) ++output_types_[output.dtype()];
  }
}

void ModelPart::TakeLoad(const ObservedRecord& record) {
  if (loads_.size() >= kLoadsMax) return;
  const auto count = [&](absl::string_view field) { return record.Integer(field).value_or(0); };
  loads_.push_back({record.line(), record.Text("what"), record.Text("where"), record.Text("failed"),
                    ShortClass(record.Text("class")), record.Boolean("strict").value_or(true), count("given"),
                    count("expected"), count("fitting"), count("missing_total"), count("unexpected_total"),
                    count("at")});
}

void ModelPart::TakePhase(const ObservedRecord& record) {
  const std::int64_t number = record.Integer("phase").value_or(static_cast<std::int64_t>(phases_.size()));
  Phase phase;
  phase.line = record.line();
  phase.root = record.Integer("root").value_or(0);
  if (phases_.size() >= kPhasesMax && !phases_.contains({phase.root, number})) return;
  phase.training = record.Boolean("training").value_or(false);
  phase.grad = record.Boolean("grad").value_or(true) && !record.Boolean("inference").value_or(false);
  phase.forwards = record.Integer("forwards").value_or(0);
  phase.rows = record.Integer("rows").value_or(0);
  phase.at = record.Integer("at").value_or(0);
  const std::vector<DocumentNode>& others = record.List("other");
  phase.others_whole = static_cast<std::int64_t>(others.size()) >= record.Integer("other_total").value_or(0);
  for (const DocumentNode& module : others) {
    const std::string class_name = ShortClass(ItemText(module, 1));
    if (!IsDropout(class_name) && !IsBatchNorm(class_name)) continue;
    phase.others.push_back(absl::StrCat(ItemText(module, 0), " (", class_name, ")"));
  }
  if (phase.training && phase.grad && roots_.contains(phase.root)) roots_[phase.root].trains = true;
  phases_[{phase.root, number}] = std::move(phase);
}

void ModelPart::TakeFed(const ObservedRecord& record) {
  std::set<std::string>& digests = record.Boolean("training").value_or(false) ? fed_ : fed_in_evaluation_;
  for (const std::string& digest : DigestsBySize(record)) {
    if (digests.size() < kFedMax) digests.insert(digest);
  }
  const auto root = record.Integer("root");
  const auto number = record.Integer("n");
  if (!root || !number || !record.Boolean("training").value_or(false) || first_fed_.size() >= kFedMax) return;
  if (roots_.contains(*root)) roots_[*root].trains = true;  // also one that is trained in evaluation mode
  first_fed_[{*root, *number}] = {DigestOfTensors(record), record.line()};
}

std::int64_t ModelPart::TrainedId() const {
  std::int64_t best = -1;
  for (const auto& [id, root] : roots_) {
    if (!root.trains || root.trainable == 0) continue;
    if (best < 0 || root.trainable > roots_.at(best).trainable) best = id;
  }
  return best;
}

const ObservedRoot* ModelPart::Trained() const {
  const std::int64_t id = TrainedId();
  return id < 0 ? nullptr : &roots_.at(id);
}

std::string ModelPart::PrintedModel() const {
  const ObservedRoot* root = Trained();
  if (root == nullptr || root->layers.empty()) return "";
  std::string text;
  for (const auto& [layer, line] : root->layers) absl::StrAppend(&text, layer, "\n");
  return text;
}

std::vector<v1::Weights> ModelPart::States() const {
  std::vector<v1::Weights> all;
  const std::int64_t id = TrainedId();
  for (const auto& [key, state] : states_) {
    const auto& [at, root] = key;
    if (root != id) continue;
    v1::Weights weights = state.weights;
    weights.set_format(kObservedFormat);
    weights.set_recorder("observer");
    weights.set_step(at);
    // What is trained and what is frozen the list of parameters tells.
    for (v1::TensorFingerprint& tensor : *weights.mutable_tensors()) {
      const auto found = roots_.at(root).parameters.find(tensor.name());
      if (found != roots_.at(root).parameters.end()) tensor.set_requires_grad(found->second.trained);
    }
    for (const auto& [role, list] : state.lists) {
      if (!list.whole()) AddProblem("observed_list_cut", list, weights);
      if (list.sampled) AddProblem("observed_sampled", list, weights);
    }
    all.push_back(std::move(weights));
  }
  return all;
}

void ModelPart::AddFacts(SettingsBuilder& facts) const {
  const ObservedRoot* root = Trained();
  if (root != nullptr) {
    facts.AddText("observed.model", root->inner_class.empty() ? root->class_name : root->inner_class, root->line);
    facts.AddText("observed.model.dropouts", absl::StrCat(root->dropouts), root->line);
    facts.AddText("observed.model.batch_norms", absl::StrCat(root->batch_norms), root->line);
    if (!root->layers.empty() && root->module_list.whole()) {
      facts.AddText("observed.model.whole", "true", root->layers.back().second);
    }
  }
  for (const auto& [place, fed] : first_fed_) {
    if (place.first != TrainedId() || fed.first.empty()) continue;
    v1::Setting* one = facts.AddText(absl::StrCat("observed.fed.", place.second, ".digest"), fed.first, fed.second);
    if (one != nullptr) one->set_scope("training");
  }
  AddLoads(facts);
  AddPhases(facts);
}

void ModelPart::AddLoads(SettingsBuilder& facts) const {
  int number = 0;
  for (const Load& load : loads_) {
    if (load.what != "module") continue;
    const std::string scope = absl::StrCat("load ", number++);
    const auto add = [&](absl::string_view key, const std::string& value) {
      v1::Setting* one = facts.AddText(absl::StrCat("observed.load.", key), value, load.line);
      if (one != nullptr) one->set_scope(scope);
    };
    add("class", load.class_name);
    add("where", load.where);
    add("strict", load.strict ? "true" : "false");
    for (const auto& [key, value] :
         {std::pair("given", load.given), std::pair("expected", load.expected), std::pair("fitting", load.fitting),
          std::pair("missing", load.missing), std::pair("unexpected", load.unexpected), std::pair("at", load.at)}) {
      add(key, absl::StrCat(value));
    }
    if (!load.failed.empty()) add("failed", load.failed);
  }
}

void ModelPart::AddPhases(SettingsBuilder& facts) const {
  const std::int64_t id = TrainedId();
  if (id < 0) return;
  const int total = roots_.at(id).dropouts + roots_.at(id).batch_norms;
  int number = 0;
  for (const auto& [place, phase] : phases_) {
    if (phase.root != id) continue;
    const std::string scope = absl::StrCat("phase ", number++);
    const auto add = [&](absl::string_view key, const std::string& value) {
      v1::Setting* one = facts.AddText(absl::StrCat("observed.phase.", key), value, phase.line);
      if (one != nullptr) one->set_scope(scope);
    };
    add("training", phase.training ? "true" : "false");
    add("grad", phase.grad ? "true" : "false");
    add("forwards", absl::StrCat(phase.forwards));
    add("rows", absl::StrCat(phase.rows));
    add("at", absl::StrCat(phase.at));
    if (!phase.others.empty()) {
      std::vector<std::string> shown = phase.others;
      if (shown.size() > kShownMax) shown.resize(kShownMax);
      add("other", absl::StrJoin(shown, ", "));
    }
    // A wrapper's own mode says nothing: how many layers that behave otherwise in training are in training mode does.
    const auto others = static_cast<int>(phase.others.size());
    if (phase.others_whole) add("active", absl::StrCat(phase.training ? total - others : others));
  }
  AddCopies(facts);
}

// Models of the trained one's class that it does not train: averages of its weights, teachers. In which mode they are
// meant to run only the other side tells.
void ModelPart::AddCopies(SettingsBuilder& facts) const {
  const ObservedRoot& trained = roots_.at(TrainedId());
  const std::string& name = trained.inner_class.empty() ? trained.class_name : trained.inner_class;
  std::map<std::int64_t, std::string> scopes;
  for (const auto& [place, phase] : phases_) {
    const auto root = roots_.find(phase.root);
    if (root == roots_.end() || root->second.trains || phase.grad || phase.forwards == 0 || !phase.others_whole)
      continue;
    if (root->second.class_name != name && root->second.inner_class != name) continue;
    const int total = root->second.dropouts + root->second.batch_norms;
    const auto others = static_cast<int>(phase.others.size());
    // The first mode of each counts.
    const auto [scope, fresh] = scopes.emplace(phase.root, absl::StrCat("copy ", scopes.size()));
    if (!fresh) continue;
    v1::Setting* one =
        facts.AddText("observed.copy.active", absl::StrCat(phase.training ? total - others : others), phase.line);
    if (one != nullptr) one->set_scope(scope->second);
  }
}

}  // namespace paritect
