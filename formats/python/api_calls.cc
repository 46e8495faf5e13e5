#include "formats/python/api_calls.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/numbers.h"
#include "formats/python/builtins.h"
#include "formats/python/command_lines.h"
#include "formats/python/configurations.h"
#include "formats/python/lookups.h"
#include "formats/python/orders.h"
#include "formats/python/partials.h"
#include "formats/python/steps.h"
#include "formats/python/untold.h"
#include "rules/script_words.h"

namespace paritect {
namespace {

constexpr char kModeField[] = "<mode>";
constexpr std::size_t kArgumentTextMax = 200;

bool StartsSequence(absl::string_view text) {
  return absl::StartsWith(text, "(") || absl::StartsWith(text, "[");
}

// A default as the rules write it.
ValueId DefaultValue(ScriptMachine& m, absl::string_view text) {
  if (text == "None") return m.values.None();
  if (text == "True" || text == "False") return m.values.Boolean(text == "True");
  if (const auto number = ParseDouble(text)) {
    const bool whole = text.find_first_of(".eE") == absl::string_view::npos;
    return whole ? m.values.Integer(static_cast<std::int64_t>(*number)) : m.values.Number(*number);
  }
  if (!StartsSequence(text)) return m.values.Text(text);
  ScriptValue list;
  list.kind = ValueKind::kSequence;
  for (absl::string_view part : absl::StrSplit(text.substr(1, text.size() - 2), ',')) {
    const absl::string_view item = absl::StripAsciiWhitespace(part);
    const auto number = ParseDouble(item);
    list.items.push_back(number ? m.values.Number(*number) : m.values.Text(item));
  }
  return m.values.Add(std::move(list));
}

std::vector<FactArgument> BindArguments(ScriptMachine& m, const ApiRule& rule, const ApiCall& call) {
  std::vector<FactArgument> bound;
  std::size_t position = 0;
  for (const CallArgument& one : call.arguments) {
    FactArgument argument;
    argument.value = one.value;
    if (one.node != kNoNode) argument.text = m.tree().CodeOf(one.node).substr(0, kArgumentTextMax);
    if (one.splat) {
      argument.name = "*";
    } else if (!one.name.empty()) {
      argument.name = one.name;
    } else {
      argument.name = position < rule.parameters.size() ? rule.parameters[position] : absl::StrCat("arg", position);
      ++position;
    }
    bound.push_back(std::move(argument));
  }
  const bool open = std::any_of(bound.begin(), bound.end(), [](const FactArgument& one) { return one.name == "*"; });
  for (const auto& [name, text] : rule.defaults) {
    const bool stated =
        std::any_of(bound.begin(), bound.end(), [&name = name](const FactArgument& one) { return one.name == name; });
    if (!stated && !open) bound.push_back({name, text, DefaultValue(m, text), true});
  }
  return bound;
}

const FactArgument* Find(const std::vector<FactArgument>& arguments, absl::string_view name) {
  for (const FactArgument& one : arguments) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

bool IsContext(absl::string_view kind) {
  return kind == "autocast" || kind == "no_grad" || kind == "gradient_tape" || kind == "scale_loss";
}

std::string CallSymbol(ScriptMachine& m, const ApiCall& call) {
  std::string symbol = call.receiver == kNoValue ? call.name
                                                 : absl::StrCat(m.values.SymbolOf(call.receiver).substr(0, 200), ".",
                                                                call.name.substr(call.name.rfind('.') + 1));
  absl::StrAppend(&symbol, "(");
  bool first = true;
  for (const CallArgument& one : call.arguments) {
    absl::StrAppend(&symbol, first ? "" : ", ", one.name, one.name.empty() ? "" : "=",
                    m.values.SymbolOf(one.value).substr(0, 150));
    first = false;
    if (symbol.size() > 380) break;
  }
  return absl::StrCat(symbol.substr(0, 390), ")");
}

// The fact of the object that a call acts upon.
std::int32_t ObjectOf(const ScriptMachine& m, ValueId value) {
  if (value == kNoValue) return -1;
  const ValueId module = ModuleOf(m, value);
  return m.values[module == kNoValue ? value : module].fact;
}

void SetMode(ScriptMachine& m, ValueId receiver, const std::string& kind, const std::vector<FactArgument>& arguments) {
  const ValueId module = ModuleOf(m, receiver);
  if (module == kNoValue) return;
  std::string mode = kind == "eval_mode" ? "eval" : "train";
  if (const FactArgument* given = Find(arguments, "mode"); given != nullptr && kind == "train_mode") {
    const auto truth = TruthOf(m, given->value);
    mode = !truth ? "unknown" : *truth ? "train" : "eval";
  }
  m.SetField(module, kModeField, m.values.Text(mode));
}

bool IsTold(absl::string_view kind) {
  return BuiltInScriptWords().told.contains(kind);
}

class Call {
 public:
  Call(ScriptMachine& machine, const ApiCall& call, const ApiRule& rule) : m_(machine), call_(call), rule_(rule) {}

  ValueId Run() {
    const auto before = static_cast<std::int32_t>(m_.facts().size());
    RunCallbacks(m_, call_.arguments);
    arguments_ = BindArguments(m_, rule_, call_);
    ScriptValue made;
    for (const CallArgument& one : call_.arguments) m_.values.Derive(made, one.value);
    m_.values.Derive(made, call_.receiver);
    // What a framework runs by itself belongs to what it gives.
    for (auto fact = before; fact < static_cast<std::int32_t>(m_.facts().size()); ++fact)
      MergeNumbers(made.made_of, {fact});
    made_ = std::move(made);
    const bool nothing = NothingHappens();
    if (!rule_.kind.empty() && !nothing) AddFact();
    const bool told = rule_.kind.empty() ? !rule_.returns.empty() && rule_.returns != "pure" : IsTold(rule_.kind);
    if (!told && !nothing) ++m_.untold;
    Orders();
    if (rule_.kind == "eval_mode" || rule_.kind == "train_mode") SetMode(m_, call_.receiver, rule_.kind, arguments_);
    return Result();
  }

 private:
  // Names that were shuffled, or sent by one process to all.
  void Orders() {
    const ValueId first = call_.arguments.empty() ? kNoValue : call_.arguments[0].value;
    if (first == kNoValue || m_.values[first].is_constant()) return;
    if (rule_.kind == "broadcast") {
      ShareOrder(m_, first);
      made_.unsorted.clear();
    }
    const bool list = rule_.kind == "shuffle" && !rule_.parameters.empty() && rule_.parameters[0] == "sequence";
    // What a data set draws for one sample is an augmentation.
    const bool of_sample = std::any_of(m_.frames().begin(), m_.frames().end(), [](const Frame& frame) {
      return absl::EndsWith(frame.function, ".__getitem__");
    });
    if (!list || of_sample || fact_ < 0 || !ShuffleIsFree(m_, call_.name, call_.receiver)) return;
    MergeNumbers(m_.values[first].unsorted, {fact_});
    MergeNumbers(made_.unsorted, {fact_});
  }

  // A move to another device is no cast.
  bool NothingHappens() const {
    if (rule_.kind != "cast" || !absl::EndsWith(call_.name, ".to")) return false;
    return std::none_of(arguments_.begin(), arguments_.end(), [&](const FactArgument& one) {
      const std::string symbol = m_.values.SymbolOf(one.value);
      return one.name == "dtype" || absl::StrContains(symbol, "float") || absl::StrContains(symbol, "half");
    });
  }

  void AddFact() {
    MachineFact fact;
    fact.kind = rule_.kind;
    fact.name = call_.name;
    fact.framework = rule_.framework;
    fact.layer = rule_.layer;
    fact.target = m_.target;
    fact.arguments = arguments_;
    fact.made_of = made_.made_of;
    fact.unsorted = made_.unsorted;
    fact.object = ObjectOf(m_, call_.receiver);
    if (rule_.kind == "backward" && call_.receiver != kNoValue)
      fact.arguments.push_back({"loss", "", call_.receiver, false});
    // What is meant is the first argument, not the scaler.
    const bool of_first = rule_.kind == "scaler_step" ||
                          (fact.object < 0 && (rule_.kind == "distributed_wrapper" || rule_.kind == "schedule"));
    if (of_first && !call_.arguments.empty()) fact.object = ObjectOf(m_, call_.arguments[0].value);
    if (rule_.kind == "forward") fact.mode = ModeOf(m_, call_.receiver);
    NoteSteps(m_, fact);
    fact_ = m_.AddFact(std::move(fact), call_.node);
    if (rule_.kind == "optimizer") ParameterGroups();
  }

  // [{"params": decayed, "weight_decay": 0.1}, ...]: a fact for each group.
  void ParameterGroups() {
    const FactArgument* parameters = Find(arguments_, "params");
    if (parameters == nullptr || m_.values[parameters->value].kind != ValueKind::kSequence) return;
    const std::vector<ValueId> groups = m_.values[parameters->value].items;
    for (ValueId group : groups) {
      if (m_.values[group].kind != ValueKind::kMap) continue;
      MachineFact fact;
      fact.kind = "parameter_group";
      fact.name = call_.name;
      fact.framework = rule_.framework;
      fact.object = fact_;
      for (const auto& [name, value] : m_.values[group].fields) fact.arguments.push_back({name, "", value, false});
      fact.made_of = m_.values.AllFacts(group);
      m_.AddFact(std::move(fact), call_.node);
    }
  }

  ValueId Result() {
    if (rule_.kind == "copy" && !call_.arguments.empty()) return Copy(call_.arguments[0].value);
    if (rule_.returns == "self" && call_.receiver != kNoValue) {
      if (ModuleOf(m_, call_.receiver) != kNoValue) return call_.receiver;
      return Object(m_.values[call_.receiver].text);
    }
    if (rule_.returns == "wrapper") return Wrap();
    if (rule_.returns == "prepared") return Prepared();
    if (rule_.kind == "engine" && absl::EndsWith(call_.name, "deepspeed.initialize")) return Engine();
    if (!rule_.returns.empty() && rule_.returns != "pure") return Object(rule_.returns);
    if (IsContext(rule_.kind) && call_.receiver == kNoValue) return Object("context");
    ScriptValue result = std::move(made_);
    result.symbol = CallSymbol(m_, call_);
    AddOwnFact(result);
    if (rule_.kind == "listing" && fact_ >= 0) result.unsorted = {fact_};
    if (rule_.kind == "rank") result.traits |= kFollowsRank;
    if (rule_.kind == "world_size") result.traits |= kFollowsWorld;
    if (absl::StartsWith(rule_.kind, "host")) {
      result.traits |= kFollowsHost;
      result.symbol += "?";
    }
    return m_.values.Add(std::move(result));
  }

  void AddOwnFact(ScriptValue& value) {
    if (fact_ < 0) return;
    value.fact = fact_;
    MergeNumbers(value.made_of, {fact_});
  }

  ValueId Object(const std::string& type) {
    ScriptValue object = std::move(made_);
    object.kind = ValueKind::kObject;
    object.text = type;
    object.symbol = CallSymbol(m_, call_);
    if (type == "configuration") {
      object.option = ".";
      if (!call_.arguments.empty()) NoteSettingsFile(m_, call_.arguments[0].value);
    }
    AddOwnFact(object);
    if (rule_.kind == "list_files" && fact_ >= 0 && OrderIsFree()) MergeNumbers(object.unsorted, {fact_});
    // Modules handed to a container are parts of it.
    if (IsModuleType(type)) {
      for (const CallArgument& one : call_.arguments) object.items.push_back(one.value);
    }
    return m_.values.Add(std::move(object));
  }

  // list_files shuffles the names by itself unless it is told not to, or how.
  bool OrderIsFree() const {
    const FactArgument* shuffle = Find(arguments_, "shuffle");
    const FactArgument* seed = Find(arguments_, "seed");
    const bool off = shuffle != nullptr && TruthOf(m_, shuffle->value) == false;
    const bool seeded = seed != nullptr && m_.values[seed->value].kind != ValueKind::kNone;
    return !off && !seeded;
  }

  ValueId Wrap() {
    ValueId inner = kNoValue;
    if (!call_.arguments.empty()) inner = call_.arguments[0].value;
    for (const FactArgument& one : arguments_) {
      if (one.name == "module" || one.name == "network" || one.name == "model") inner = one.value;
    }
    const ValueId wrapper = Object("wrapper");
    m_.values[wrapper].self = inner;
    return wrapper;
  }

  // What accelerate and apex give back: what they were given, in the same order.
  ValueId Prepared() {
    std::vector<ValueId> given;
    for (const CallArgument& one : call_.arguments) {
      if (one.name.empty() || one.name == "models" || one.name == "optimizers") given.push_back(one.value);
    }
    if (given.size() == 1) return given[0];
    ScriptValue all;
    all.kind = ValueKind::kSequence;
    all.items = std::move(given);
    return m_.values.Add(std::move(all));
  }

  ValueId Engine() {
    const FactArgument* model = Find(arguments_, "model");
    const FactArgument* optimizer = Find(arguments_, "optimizer");
    const ValueId engine = Object("deepspeed.Engine");
    if (model != nullptr) m_.values[engine].self = model->value;
    ScriptValue all;
    all.kind = ValueKind::kSequence;
    all.items = {engine, optimizer != nullptr ? optimizer->value : m_.values.Unknown(), m_.values.Unknown(),
                 m_.values.Unknown()};
    return m_.values.Add(std::move(all));
  }

  ValueId Copy(ValueId of) {
    if (ModuleOf(m_, of) == kNoValue) return of;
    ScriptValue copy = m_.values[ModuleOf(m_, of)];
    copy.made_of.clear();
    copy.fact = -1;
    copy.traits |= kDuplicate;
    AddOwnFact(copy);
    return m_.values.Add(std::move(copy));
  }

  ScriptMachine& m_;
  const ApiCall& call_;
  const ApiRule& rule_;
  std::vector<FactArgument> arguments_;
  ScriptValue made_;
  std::int32_t fact_ = -1;
};

ValueId Nothing(ScriptMachine& m, const ApiCall& call, bool known) {
  const absl::string_view last = absl::string_view(call.name).substr(call.name.rfind('.') + 1);
  if (!known && !BuiltInScriptWords().moves.contains(last)) ++m.untold;
  RunCallbacks(m, call.arguments);
  ScriptValue result;
  for (const CallArgument& one : call.arguments) m.values.Derive(result, one.value);
  m.values.Derive(result, call.receiver);
  result.symbol = CallSymbol(m, call);
  if (!known) NoteStranger(m, result.symbol, call.arguments);
  if (!known) result.symbol = absl::StrCat(result.symbol, "?");
  return m.values.Add(std::move(result));
}

// The type of which an instance of a project's class has methods that the project did not write.
std::string BaseTypeOf(const ScriptMachine& m, ValueId instance) {
  for (const std::string& base : FrameworkBases(m, m.values[instance].self)) {
    const BaseRule* rule = m.rules.FindBase(base);
    if (rule != nullptr && !rule->type.empty()) return rule->type;
  }
  return "";
}

// "opt.step()" of something unknown: what its name says.
std::string StepKind(const ScriptMachine& m, ValueId receiver) {
  const std::string symbol = absl::AsciiStrToLower(m.values.SymbolOf(receiver));
  const std::string last =
      symbol.substr(symbol.find_last_of("?.") == std::string::npos ? 0 : symbol.find_last_of("?.") + 1);
  if (absl::StrContains(last, "sched")) return "torch.optim.lr_scheduler.LRScheduler.step";
  if (absl::StrContains(last, "opt")) return "torch.optim.Optimizer.step";
  if (absl::StrContains(last, "scaler")) return "torch.GradScaler.step";
  return "";
}

void RunHooks(ScriptMachine& m, ValueId instance) {
  std::vector<std::string> hooks = {"__getitem__", "__iter__", "__call__", "collate_fn"};
  for (const std::string& base : FrameworkBases(m, m.values[instance].self)) {
    const BaseRule* rule = m.rules.FindBase(base);
    if (rule == nullptr) continue;
    if (rule->role == "module") return;  // a network is run where it is called
    hooks = rule->hooks;
    break;
  }
  const auto before = static_cast<std::int32_t>(m.facts().size());
  for (const std::string& hook : hooks) {
    const ValueId method = ClassAttribute(m, m.values[instance].self, hook);
    if (method == kNoValue || m.values[method].kind != ValueKind::kFunction) continue;
    const std::string seen = absl::StrCat("<ran ", hook, ">");
    if (m.values.Field(instance, seen) != kNoValue) continue;
    m.SetField(instance, seen, m.values.Boolean(true));
    ScriptValue bound = m.values[method];
    bound.self = instance;
    std::vector<CallArgument> arguments;
    if (hook == "__getitem__" || hook == "__getitems__") {
      const ValueId index = m.values.Unknown("sample number");
      m.values[index].traits = kSampleNumber;
      arguments.push_back({"", index, kNoNode, false});
    }
    m.Call(m.values.Add(std::move(bound)), arguments, kNoNode);
  }
  for (auto fact = before; fact < static_cast<std::int32_t>(m.facts().size()); ++fact) {
    MergeNumbers(m.values[instance].made_of, {fact});
  }
}

// "command.find" of subprocess.check_output(["find", ...]); "" where it is sorted, or not known.
std::string CommandName(const ScriptMachine& m, const ApiCall& call) {
  if (call.arguments.empty()) return "";
  const std::string words = m.values.SymbolOf(call.arguments[0].value);
  if (absl::StrContains(words, "sort")) return "";
  const ScriptValue& given = m.values[call.arguments[0].value];
  std::string first = given.kind == ValueKind::kText ? given.text : "";
  if (given.kind == ValueKind::kSequence && !given.items.empty()) first = m.values[given.items[0]].text;
  // A line of the shell that is put together begins with its program all the same.
  if (first.empty()) first = std::string(absl::StripPrefix(absl::StripPrefix(words, "format("), "f"));
  const absl::string_view line = absl::StripLeadingAsciiWhitespace(absl::StripPrefix(first, "\""));
  return absl::StrCat("command.", line.substr(0, line.find_first_of(" \t\"'{")));
}

// mp.spawn(main, args=(a, b)): the rank comes first.
bool RunSpawned(ScriptMachine& m, const ApiCall& call) {
  if (!absl::EndsWith(call.name, ".spawn") || call.arguments.empty()) return false;
  const ValueId function = call.arguments[0].value;
  if (m.values[function].kind != ValueKind::kFunction) return false;
  std::vector<CallArgument> arguments;
  const ValueId rank = m.values.Unknown("rank of the process");
  m.values[rank].traits = kFollowsRank;
  arguments.push_back({"", rank, kNoNode, false});
  for (const CallArgument& one : call.arguments) {
    if (one.name != "args" && &one != &call.arguments.back()) continue;
    if (m.values[one.value].kind != ValueKind::kSequence) continue;
    for (ValueId item : m.values[one.value].items) arguments.push_back({"", item, kNoNode, false});
    break;
  }
  m.Call(function, arguments, call.node);
  return true;
}

}  // namespace

namespace {

// What the framework that calls the function gives it: a loader its workers' numbers.
std::vector<CallArgument> ArgumentsOfCallback(ScriptMachine& m, ValueId function,
                                              const std::vector<CallArgument>& arguments) {
  for (const CallArgument& one : arguments) {
    if (one.value == function && one.name == "worker_init_fn")
      return {{"", m.values.Unknown("worker number"), kNoNode, false}};
  }
  return {};
}

}  // namespace

void RunCallbacks(ScriptMachine& m, const std::vector<CallArgument>& arguments) {
  std::vector<ValueId> all;
  for (const CallArgument& one : arguments) {
    all.push_back(one.value);
    const ScriptValue& value = m.values[one.value];
    if (value.kind == ValueKind::kSequence && value.symbol.empty() && value.items.size() <= 32)
      all.insert(all.end(), value.items.begin(), value.items.end());
  }
  for (ValueId one : all) {
    const ValueKind kind = m.values[one].kind;
    const ValueId fixed = IsPartial(m.values[one]) ? m.values[one].self : kNoValue;
    if (kind == ValueKind::kFunction || (fixed != kNoValue && m.values[fixed].kind == ValueKind::kFunction)) {
      m.Call(one, ArgumentsOfCallback(m, one, arguments), kNoNode);
    } else if (kind == ValueKind::kInstance) {
      RunHooks(m, one);
    }
  }
}

std::string ModeOf(const ScriptMachine& m, ValueId network) {
  const ValueId module = ModuleOf(m, network);
  if (module == kNoValue) return "unknown";
  const ValueId mode = m.values.Field(module, kModeField);
  if (mode != kNoValue) return m.values[mode].kind == ValueKind::kText ? m.values[mode].text : "unknown";
  // As it is made: PyTorch's modules train, MindSpore's cells do not.
  const ScriptValue& value = m.values[module];
  std::string type = value.text;
  if (value.kind == ValueKind::kInstance) type = BaseTypeOf(m, module);
  return absl::StartsWith(type, "mindspore") ? "eval" : absl::StartsWith(type, "keras") ? "unknown" : "train";
}

namespace {

// Keras is told at the call: model(x, training=True).
std::string ModeOfCall(const ScriptMachine& m, ValueId network, const std::vector<CallArgument>& arguments) {
  const std::string mode = ModeOf(m, network);
  for (const CallArgument& one : arguments) {
    if (one.name != "training" || mode != "unknown") continue;
    const auto truth = TruthOf(m, one.value);
    if (truth) return *truth ? "train" : "eval";
  }
  return mode;
}

// The facts of what the network is called through: DistributedDataParallel, torch.compile.
std::vector<std::int32_t> WrappersOf(const ScriptMachine& m, ValueId network) {
  std::vector<std::int32_t> wrappers;
  for (int round = 0; round < 8 && network != kNoValue; ++round) {
    const ScriptValue& value = m.values[network];
    if (value.kind != ValueKind::kObject || value.self == kNoValue) break;
    if (value.fact >= 0) MergeNumbers(wrappers, {value.fact});
    network = value.self;
  }
  return wrappers;
}

}  // namespace

ValueId CallNetwork(ScriptMachine& m, ValueId network, const std::vector<CallArgument>& arguments, NodeId node) {
  const ValueId root = ModuleOf(m, network);
  const ScriptValue& of = m.values[root];
  std::string layer;
  if (of.kind == ValueKind::kObject && of.fact >= 0) layer = m.facts()[static_cast<std::size_t>(of.fact)].layer;
  const bool counts = of.kind == ValueKind::kInstance || layer == "opaque" || layer == "container";
  int forward = -1;
  if (m.forward_depth == 0 && counts) {
    MachineFact fact;
    fact.kind = of.text == "mindspore.nn.TrainCell" ? "train_step" : "forward";
    fact.name = of.kind == ValueKind::kInstance ? m.values[of.self].text : of.text;
    fact.object = of.fact;
    fact.mode = ModeOfCall(m, root, arguments);
    fact.made_of = of.kind == ValueKind::kInstance ? m.values.AllFacts(root) : of.made_of;
    MergeNumbers(fact.made_of, WrappersOf(m, network));
    ScriptValue input;
    for (const CallArgument& one : arguments) m.values.Derive(input, one.value, false);
    fact.arguments.push_back({"input", "", arguments.empty() ? m.values.None() : arguments[0].value, false});
    forward = m.AddFact(std::move(fact), node);
  } else if (of.text == "mindspore.nn.TrainCell") {
    MachineFact fact;
    fact.kind = "train_step";
    fact.name = of.text;
    m.AddFact(std::move(fact), node);
  } else if (layer == "loss") {
    MachineFact fact;
    fact.kind = "loss_call";
    fact.name = of.text;
    fact.object = of.fact;
    m.AddFact(std::move(fact), node);
  } else {
    ++m.untold;  // which layer comes after which
  }
  if (of.kind == ValueKind::kInstance) {
    const std::string seen = absl::StrCat("<walked ", m.codes_alone > 0 ? "for its code" : ModeOf(m, root), ">");
    for (const char* name : {"forward", "construct", "call", "__call__"}) {
      const ValueId method = ClassAttribute(m, of.self, name);
      if (method == kNoValue || m.values[method].kind != ValueKind::kFunction || m.values.Field(root, seen) != kNoValue)
        continue;
      m.SetField(root, seen, m.values.Boolean(true));
      ScriptValue bound = m.values[method];
      bound.self = root;
      ++m.forward_depth;
      m.Call(m.values.Add(std::move(bound)), arguments, kNoNode);
      --m.forward_depth;
      break;
    }
  }
  ScriptValue result;
  for (const CallArgument& one : arguments) m.values.Derive(result, one.value, false);
  if (forward >= 0) MergeNumbers(result.made_of, {forward});
  result.symbol = absl::StrCat("output of ", of.kind == ValueKind::kInstance ? m.values[of.self].text : of.text, "?");
  return m.values.Add(std::move(result));
}

void ReadNetworks(ScriptMachine& m) {
  const std::vector<ValueId> networks = std::exchange(m.networks, {});
  const bool mute = std::exchange(m.mute, true);
  ++m.codes_alone;
  for (ValueId network : networks) {
    const ScriptValue& of = m.values[network];
    const bool walked = std::any_of(of.fields.begin(), of.fields.end(), [](const auto& field) {
      return absl::StartsWith(field.first, "<walked ");
    });
    if (walked || m.spent()) continue;
    Frame frame;
    frame.module = m.values[of.self].module;
    frame.scope = m.module(frame.module).scope;
    m.frames().push_back(std::move(frame));
    CallNetwork(m, network, {}, kNoNode);
    m.frames().pop_back();
  }
  --m.codes_alone;
  m.mute = mute;
}

ValueId CallApi(ScriptMachine& m, const ApiCall& call) {
  if (const auto result = CallSpecial(m, call)) return *result;
  if (RunSpawned(m, call)) return m.values.None();
  const ApiRule* rule = m.rules.Find(call.name);
  if (rule == nullptr) return Nothing(m, call, false);
  if (const auto result = CallOptions(m, call, *rule)) return *result;
  if (rule->kind == "command") {
    const std::string command = CommandName(m, call);
    const ApiRule* of_command = m.rules.Find(command);
    if (of_command == nullptr) return Nothing(m, call, true);
    return Call(m, {command, call.receiver, call.arguments, call.node}, *of_command).Run();
  }
  return Call(m, call, *rule).Run();
}

namespace {

// Keras runs these of a model that defines them, a batch at a time. Source: Keras 2.15, keras.Model (fit, evaluate).
struct KerasStep {
  absl::string_view by;
  absl::string_view method;
  absl::string_view data;  // the argument that holds the samples
};
constexpr KerasStep kKerasSteps[] = {{"fit", "train_step", "x"},
                                     {"fit", "test_step", "validation_data"},
                                     {"evaluate", "test_step", "x"},
                                     {"predict", "predict_step", "x"}};

void RunKerasSteps(ScriptMachine& m, absl::string_view name, const ApiCall& call) {
  for (const KerasStep& step : kKerasSteps) {
    const ValueId method = ClassAttribute(m, m.values[call.receiver].self, step.method);
    if (step.by != name || method == kNoValue || m.values[method].kind != ValueKind::kFunction) continue;
    ValueId data = kNoValue;
    for (const CallArgument& one : call.arguments) {
      if (one.name == step.data || (one.name.empty() && step.data == "x" && data == kNoValue)) data = one.value;
    }
    if (data == kNoValue) continue;
    ScriptValue bound = m.values[method];
    bound.self = call.receiver;
    const ValueId id = m.values.Add(std::move(bound));
    m.OpenLoop(data, call.node);
    m.Call(id, {{"", ElementOf(m, data), kNoNode, false}}, kNoNode);
    m.CloseLoop();
  }
}

}  // namespace

ValueId CallMethod(ScriptMachine& m, const std::string& name, const ApiCall& call) {
  const ScriptValue& of = m.values[call.receiver];
  if (IsConfiguration(of)) {
    if (const auto result = CallContainerMethod(m, name, call)) return *result;
  }
  std::string type;
  if (of.kind == ValueKind::kObject) {
    type = of.text;
    if ((type == "wrapper" || type == "deepspeed.Engine") && of.self != kNoValue &&
        m.rules.Find(absl::StrCat(type, ".", name)) == nullptr) {
      return m.Call(m.Attribute(of.self, name), call.arguments, call.node);
    }
  } else if (of.kind == ValueKind::kInstance) {
    type = BaseTypeOf(m, call.receiver);
  }
  if (!type.empty()) {
    const std::string full = absl::StrCat(type, ".", name);
    const ApiCall method = {full, call.receiver, call.arguments, call.node};
    if (type == "keras.Model" && of.kind == ValueKind::kInstance) RunKerasSteps(m, name, call);
    if (const auto result = CallSpecial(m, method)) return *result;
    if (const ApiRule* rule = m.rules.Find(full); rule != nullptr && !absl::EndsWith(rule->names[0], "*"))
      return Call(m, method, *rule).Run();
    if (const ApiRule* rule = m.rules.Find(full); rule != nullptr && rule->returns == "self")
      return Call(m, method, *rule).Run();
    // A scaled loss is a loss.
    if (name == "backward" || name == "zero_grad") {
      const std::string any = absl::StrCat("any.", name);
      if (const ApiRule* rule = m.rules.Find(any))
        return Call(m, {any, call.receiver, call.arguments, call.node}, *rule).Run();
    }
    if (name == "__init__") {
      int number = 0;
      for (const CallArgument& one : call.arguments)
        m.SetField(call.receiver, absl::StrCat("<part ", number++, ">"), one.value);
    }
    if (absl::StrContains(name, "parameters") || absl::StrContains(name, "trainable_params") || name == "modules" ||
        name == "children" || name == "state_dict") {
      ScriptValue all;
      const ValueId module = ModuleOf(m, call.receiver);
      all.made_of = m.values.AllFacts(module == kNoValue ? call.receiver : module);
      all.symbol = absl::StrCat(m.values.SymbolOf(call.receiver).substr(0, 300), ".", name, "()");
      all.traits = m.values[call.receiver].traits;
      return m.values.Add(std::move(all));
    }
    return Nothing(m, {full, call.receiver, call.arguments, call.node}, false);
  }
  if (const auto result = CallContainerMethod(m, name, call)) return *result;
  std::string full = absl::StrCat("any.", name);
  if (name == "step") full = StepKind(m, call.receiver);
  // p.grad.zero_(), p.grad.data.zero_()
  if (name == "zero_" && absl::StrContains(of.symbol, ".grad")) full = "any.zero_grad";
  const ApiRule* rule =
      of.kind == ValueKind::kUnknown || of.kind == ValueKind::kBound || of.kind == ValueKind::kSequence
          ? m.rules.Find(full)
          : nullptr;
  if (rule != nullptr) return Call(m, {full, call.receiver, call.arguments, call.node}, *rule).Run();
  return Nothing(m, call, false);
}

}  // namespace paritect
