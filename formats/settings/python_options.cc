// Options that a Python source sets; nothing is executed. A literal is the value, also where a name stands for it that
// the file assigns once; of any other expression, and of what stands under a condition that the source does not decide,
// it is known that the option is set and not to what.
//   TF Adapter      custom_op.parameter_map["precision_mode"].s = tf.compat.as_bytes("allow_fp32_to_fp16")
//                   NPURunConfig(precision_mode="...", ...), npu.global_options().precision_mode = "..."
//   loss scale      ExponentialUpdateLossScaleManager(...), FixedLossScaleManager(...), NPULossScaleOptimizer(...)
//   PyTorch         torch.backends.cuda.matmul.allow_tf32 = True, torch.npu.matmul.allow_hf32 = False,
//                   torch.set_float32_matmul_precision("high"), torch.npu.set_option({"ACL_PRECISION_MODE": "..."})
//   MindSpore       set_context(ascend_config={"precision_mode": "..."}),
//                   device_context.ascend.op_precision.precision_mode("...")
//   variables       os.environ["NAME"] = "..."
// That such a line runs is not known: the document says so in a note.
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "formats/settings/builder.h"
#include "formats/settings/python_statements.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr char kName[] = "session-config";
constexpr std::size_t kParametersMax = 5;
constexpr int kWrapsMax = 4;  // as_bytes(str(x))
constexpr std::size_t kStatedMax = 100'000;

// Calls whose named arguments are settings of their own names, and the names of their first arguments. Sources: TF
// Adapter npu_bridge (npu_config.py, npu_loss_scale_manager.py, npu_loss_scale_optimizer.py); TensorFlow 1
// contrib/mixed_precision; torch/amp/grad_scaler.py; MindSpore amp/loss_scaler.py, train/loss_scale_manager.py.
struct KnownCall {
  absl::string_view name;
  absl::string_view parameters[kParametersMax];
};
constexpr KnownCall kCalls[] = {
    {"NPURunConfig", {}},
    {"ExponentialUpdateLossScaleManager",
     {"init_loss_scale", "incr_every_n_steps", "decr_every_n_nan_or_inf", "incr_ratio", "decr_ratio"}},
    {"FixedLossScaleManager", {"loss_scale", "enable_overflow_check"}},
    {"NPULossScaleOptimizer", {"", "", "is_distributed"}},
    {"LossScaleOptimizer", {}},
    {"MixedPrecisionLossScaleOptimizer", {}},
    {"GradScaler", {"init_scale", "growth_factor", "backoff_factor", "growth_interval", "enabled"}},
    {"DynamicLossScaleManager", {"init_loss_scale", "scale_factor", "scale_window"}}};
// Options that a call with arguments from elsewhere (NPURunConfig(**options)) may set.
constexpr absl::string_view kMayBeSet[] = {"precision_mode", "precision_mode_v2"};
constexpr absl::string_view kAclOptions[] = {"ACL_PRECISION_MODE"};
// Calls with one argument that is the value.
constexpr absl::string_view kSetters[] = {"torch.set_float32_matmul_precision",
                                          "torch.use_deterministic_algorithms",
                                          "enable_tensor_float_32_execution",
                                          "set_device_sat_mode",
                                          "enable_op_determinism",
                                          "mixed_precision.set_global_policy",
                                          "experimental.set_policy",
                                          "mindspore.set_deterministic"};
// The same for every function below it: op_precision.matmul_allow_hf32(True).
constexpr absl::string_view kSetterGroups[] = {"device_context.ascend.op_precision.",
                                               "device_context.gpu.op_precision."};
constexpr absl::string_view kAssigned[] = {"torch.backends.", "torch.npu.", "torch_npu.npu.", "global_options()."};

// Whether the name stands in the text as a call.
bool HasCall(absl::string_view text, absl::string_view name) {
  for (std::size_t at = text.find(name); at != absl::string_view::npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const char before = at == 0 ? ' ' : text[at - 1];
    const bool word = absl::ascii_isalnum(static_cast<unsigned char>(before)) || before == '_';
    if (!word && end < text.size() && text[end] == '(') return true;
  }
  return false;
}

int Sniff(absl::string_view head) {
  const bool source = absl::StrContains(head, "import ") || absl::StrContains(head, "def ") ||
                      absl::StrContains(head, "tf.") || absl::StrContains(head, "NPURunConfig(");
  if (!source || absl::StartsWith(head, "#!/bin/")) return 0;
  for (const KnownCall& call : kCalls) {
    if (call.name != "GradScaler" && HasCall(head, call.name)) return 92;
  }
  if (absl::StrContains(head, "parameter_map[") || absl::StrContains(head, "global_options()")) return 92;
  const bool imports = absl::StartsWith(head, "import ") || absl::StartsWith(head, "from ") ||
                       absl::StrContains(head, "\nimport ") || absl::StrContains(head, "\nfrom ");
  if (!imports) return 0;
  if (absl::StrContains(head, "set_context(") || absl::StrContains(head, "op_precision.")) return 60;
  return absl::StrContains(head, "torch.") && absl::StrContains(head, " = ") ? 60 : 0;
}

// Whether a dotted name ends with another one, whole words.
bool EndsWithName(absl::string_view name, absl::string_view end) {
  return absl::ConsumeSuffix(&name, end) && (name.empty() || name.back() == '.');
}

absl::string_view LastName(absl::string_view name) {
  return name.substr(name.rfind('.') + 1);
}

class Reader {
 public:
  Reader(absl::string_view text, absl::string_view label)
      : source_(ReadPythonStatements(std::string(text))), tree_(source_.tree), builder_(kName, kName, label) {}

  v1::SettingsDocument Read() {
    for (const PythonStatement& statement : source_.statements) {
      if (statement.reach == PythonReach::kNever) continue;
      statement_ = &statement;
      ForEachNodeOf(tree_, statement.node, [&](NodeId node) {
        if (tree_[node].kind == Syntax::kCall) Call(node);
        if (tree_[node].kind == Syntax::kAssignment) Assigned(node);
      });
    }
    Settle();
    if (!builder_.empty())
      builder_.AddNote("read_from_source", 0, "values stand in the source; whether these lines run is not known");
    v1::SettingsDocument document = builder_.Finish();
    // The format says TensorFlow; flags say nothing of a framework.
    if (!IsOfTensorFlow()) document.set_format("flags");
    return document;
  }

 private:
  // One statement's word about one option.
  struct Stated {
    std::string key;
    std::string text;  // of the literal; of the expression where it is none
    bool told = false;
    std::int64_t line = 0;
    const PythonStatement* statement = nullptr;
  };

  struct Argument {
    absl::string_view name;  // "" where it is given by position
    NodeId value = kNoNode;
    NodeId node = kNoNode;
  };

  bool IsOfTensorFlow() const {
    for (NodeId node = 0; node < tree_.size(); ++node) {
      if (tree_[node].kind != Syntax::kIdentifier) continue;
      const absl::string_view name = tree_.TextOf(node);
      if (name == "parameter_map" || name == "NPURunConfig" || name == "global_options" ||
          absl::StrContains(name, "tensorflow"))
        return true;
    }
    return false;
  }

  std::vector<Argument> ArgumentsOf(NodeId call) const {
    std::vector<Argument> arguments;
    const NodeId list = tree_.Child(call, Part::kArguments);
    if (list == kNoNode) return arguments;
    for (NodeId child = tree_[list].first; child != kNoNode; child = tree_[child].next) {
      if (tree_[child].kind == Syntax::kKeywordArgument) {
        const NodeId name = tree_.Child(child, Part::kName);
        const NodeId value = tree_.Child(child, Part::kValue);
        if (name != kNoNode && value != kNoNode) arguments.push_back({tree_.TextOf(name), value, child});
      } else {
        arguments.push_back({"", child, child});
      }
    }
    return arguments;
  }

  NodeId Known(NodeId node) const {
    const auto known = source_.literals.find(tree_.TextOf(node));
    return known == source_.literals.end() ? node : known->second;
  }

  // The text that a literal or a name of one stands for; "" where it is none.
  std::string Text(NodeId node) const {
    node = Known(node);
    if (tree_[node].kind != Syntax::kString || !IsLiteral(tree_, node)) return "";
    const v1::Value value = ValueOfText(tree_.TextOf(node));
    return value.kind_case() == v1::Value::kText ? value.text() : "";
  }

  // --- calls

  void Call(NodeId node) {
    const NodeId function = tree_.Child(node, Part::kFunction);
    if (function == kNoNode) return;
    const std::string name = FullPythonName(source_, tree_.TextOf(function));
    const std::vector<Argument> arguments = ArgumentsOf(node);
    const absl::string_view last = LastName(name);
    for (const KnownCall& call : kCalls) {
      if (call.name == last) return Options(node, call, arguments);
    }
    for (absl::string_view setter : kSetters) {
      if (!EndsWithName(name, setter)) continue;
      return arguments.empty() ? State(std::string(setter), "True") : State(std::string(setter), arguments[0].value);
    }
    for (absl::string_view group : kSetterGroups) {
      const std::size_t at = absl::string_view(name).find(group);
      if (at != std::string::npos && !arguments.empty()) return State(name.substr(at), arguments[0].value);
    }
    if (last == "enable_mixed_precision_graph_rewrite") return State("auto_mixed_precision", "True");
    if (last == "set_context") return Context(arguments);
    if (arguments.empty()) return;
    if (last == "set_option") Dictionary("", arguments[0].value, kAclOptions);
    if (last == "set_experimental_options") Dictionary("", arguments[0].value, {});
    if (name == "setattr") SetAttribute(arguments);
    const bool variable = EndsWithName(name, "environ.setdefault") || last == "putenv";
    if (variable && arguments.size() == 2) Variable(arguments[0].value, arguments[1].value);
  }

  void Options(NodeId node, const KnownCall& call, const std::vector<Argument>& arguments) {
    if (absl::EndsWith(call.name, "LossScaleOptimizer"))
      State("loss_scale_optimizer", StrCat("\"", call.name, "\""), node);
    std::size_t place = 0;
    bool from_elsewhere = false;
    std::set<absl::string_view> given;
    for (const Argument& one : arguments) {
      if (tree_[one.value].kind == Syntax::kDictionarySplat) {
        from_elsewhere = !Dictionary("", tree_[one.value].first, {}) || from_elsewhere;
      } else if (!one.name.empty()) {
        given.insert(one.name);
        State(std::string(one.name), one.value, one.node);
      } else {
        // torch.amp.GradScaler takes the device first.
        if (call.name == "GradScaler" && place == 0 && tree_[one.value].kind == Syntax::kString) continue;
        if (place < kParametersMax && !call.parameters[place].empty()) {
          given.insert(call.parameters[place]);
          State(std::string(call.parameters[place]), one.value, one.node);
        }
        ++place;
      }
    }
    if (from_elsewhere && call.name == "NPURunConfig") {
      for (absl::string_view option : kMayBeSet) StateUnknown(std::string(option), node);
    }
    if (call.name == "NPULossScaleOptimizer" && !from_elsewhere && !given.contains("is_distributed"))
      State("is_distributed", "False", node);  // its default
  }

  // set_option({"ACL_PRECISION_MODE": "must_keep_origin_dtype"}), dict(a=1). False where it is no dictionary, or one
  // with keys that are not known: then `perhaps` may be set.
  bool Dictionary(const std::string& prefix, NodeId node, absl::Span<const absl::string_view> perhaps) {
    if (node == kNoNode) return false;
    node = Known(node);
    const NodeId function = tree_[node].kind == Syntax::kCall ? tree_.Child(node, Part::kFunction) : kNoNode;
    bool whole = true;
    if (function != kNoNode && tree_.TextOf(function) == "dict") {
      for (const Argument& one : ArgumentsOf(node)) {
        if (!one.name.empty()) State(StrCat(prefix, one.name), one.value, one.node);
      }
      return true;
    }
    if (tree_[node].kind != Syntax::kDictionary) {
      whole = false;
    } else {
      for (NodeId pair = tree_[node].first; pair != kNoNode; pair = tree_[pair].next) {
        const NodeId key = tree_.Child(pair, Part::kKey);
        const NodeId value = tree_.Child(pair, Part::kValue);
        const std::string name = key == kNoNode || value == kNoNode ? "" : Text(key);
        whole = whole && !name.empty();
        if (!name.empty()) State(StrCat(prefix, name), value, pair);
      }
    }
    if (!whole) {
      for (absl::string_view option : perhaps) StateUnknown(std::string(option), node);
    }
    return whole;
  }

  // set_context(deterministic="ON", ascend_config={"precision_mode": "force_fp16"}).
  void Context(const std::vector<Argument>& arguments) {
    constexpr absl::string_view kMode[] = {"context.ascend_config.precision_mode"};
    for (const Argument& one : arguments) {
      if (tree_[one.value].kind == Syntax::kDictionarySplat) {
        StateUnknown(std::string(kMode[0]), one.node);
      } else if (one.name == "ascend_config") {
        Dictionary("context.ascend_config.", one.value, kMode);
      } else if (!one.name.empty()) {
        State(StrCat("context.", one.name), one.value, one.node);
      }
    }
  }

  // setattr(npu.global_options(), "precision_mode", MODE).
  void SetAttribute(const std::vector<Argument>& arguments) {
    if (arguments.size() != 3) return;
    const std::string name = Text(arguments[1].value);
    if (!name.empty()) Attribute(StrCat(tree_.TextOf(arguments[0].value), ".", name), arguments[2].value);
  }

  // --- assignments

  void Assigned(NodeId node) {
    const NodeId target = tree_.Child(node, Part::kLeft);
    NodeId value = tree_.Child(node, Part::kRight);
    // a = b = 1
    while (value != kNoNode && tree_[value].kind == Syntax::kAssignment) value = tree_.Child(value, Part::kRight);
    if (target == kNoNode || value == kNoNode) return;
    bool by_key = false;
    ForEachNodeOf(tree_, target, [&](NodeId below) {
      if (by_key || tree_[below].kind != Syntax::kSubscript) return;
      const NodeId map = tree_.Child(below, Part::kValue);
      const NodeId key = tree_.Child(below, Part::kSubscript);
      if (map != kNoNode && key != kNoNode) by_key = UnderKey(tree_.TextOf(map), key, value);
    });
    if (!by_key) Attribute(std::string(tree_.TextOf(target)), value);
  }

  // custom_op.parameter_map["precision_mode"].s = ..., os.environ["NAME"] = ...
  bool UnderKey(absl::string_view map, NodeId key, NodeId value) {
    if (EndsWithName(map, "environ")) {
      Variable(key, value);
      return true;
    }
    if (!EndsWithName(map, "parameter_map")) return false;
    const std::string name = Text(key);
    if (!name.empty()) {
      State(name, value);
    } else {
      for (absl::string_view option : kMayBeSet) StateUnknown(std::string(option), key);
    }
    return true;
  }

  void Attribute(const std::string& target, NodeId value) {
    const std::string full = FullPythonName(source_, target);
    for (absl::string_view start : kAssigned) {
      const std::size_t at = absl::string_view(full).find(start);
      if (at == std::string::npos) continue;
      const std::string name = start == "global_options()." ? full.substr(at + start.size()) : full.substr(at);
      if (name.find_first_of(" ([") == std::string::npos) State(name, value);
      return;
    }
  }

  // os.environ["NAME"] = "1", os.environ.setdefault("NAME", "1"), os.putenv("NAME", "1").
  void Variable(NodeId key, NodeId value) {
    const std::string name = Text(key);
    if (!name.empty()) State(StrCat("env.", name), value);
  }

  // --- what is stated

  // Inside of tf.compat.as_bytes("..."), "...".encode().
  NodeId Unwrapped(NodeId node) const {
    constexpr absl::string_view kWraps[] = {"as_bytes", "as_str", "bytes", "str"};
    for (int i = 0; i < kWrapsMax && tree_[node].kind == Syntax::kCall; ++i) {
      const NodeId function = tree_.Child(node, Part::kFunction);
      const std::vector<Argument> arguments = ArgumentsOf(node);
      if (function == kNoNode) break;
      const absl::string_view last = LastName(tree_.TextOf(function));
      if (last == "encode" && tree_[function].kind == Syntax::kAttribute &&
          tree_.Child(function, Part::kObject) != kNoNode) {
        node = tree_.Child(function, Part::kObject);
      } else if (std::find(std::begin(kWraps), std::end(kWraps), last) != std::end(kWraps) && !arguments.empty()) {
        node = arguments[0].value;
      } else {
        break;
      }
    }
    return node;
  }

  // A literal, or a name of one; anything else has no value. `where`: for the line; else the statement's.
  void State(const std::string& key, NodeId value, NodeId where = kNoNode) {
    value = Known(Unwrapped(value));
    absl::string_view text = tree_.TextOf(value);
    const bool told = IsLiteral(tree_, value);
    if (told && tree_[value].kind == Syntax::kString) text.remove_prefix(text.find_first_of("'\""));
    Take(key, std::string(text), told, where);
  }

  // What follows from the call alone.
  void State(const std::string& key, const std::string& text, NodeId where = kNoNode) { Take(key, text, true, where); }

  void StateUnknown(const std::string& key, NodeId where) {
    Take(key, std::string(tree_.TextOf(where)), false, kNoNode);
  }

  void Take(const std::string& key, std::string text, bool told, NodeId where) {
    const std::uint32_t line = tree_[where == kNoNode ? statement_->node : where].line;
    if (stated_.size() < kStatedMax) stated_.push_back({key, std::move(text), told, line, statement_});
  }

  // Whether every branch of one if ... else sets the option, to one value.
  bool InEveryBranch(const std::vector<const Stated*>& all) const {
    std::set<int> branches;
    const int chain = all[0]->statement->chain;
    for (const Stated* one : all) {
      if (chain < 0 || one->statement->chain != chain || one->text != all[0]->text) return false;
      branches.insert(one->statement->branch);
    }
    const int needed = source_.branches[static_cast<std::size_t>(chain)];
    return needed > 0 && static_cast<int>(branches.size()) == needed;
  }

  // One option has one value or none: an expression or a condition among its statements leaves it open.
  void Settle() {
    std::map<std::string, std::vector<const Stated*>> by_key;
    for (const Stated& one : stated_) by_key[one.key].push_back(&one);
    std::set<std::string> open;
    for (const auto& [key, all] : by_key) {
      bool told = true;
      bool conditional = false;
      for (const Stated* one : all) {
        told = told && one->told;
        // What an unconditional line sets to the same value does not depend on it.
        const bool also = std::any_of(all.begin(), all.end(), [&](const Stated* other) {
          return other->statement->reach == PythonReach::kAlways && other->text == one->text;
        });
        conditional = conditional || (one->statement->reach == PythonReach::kMaybe && !also);
      }
      if (!told || (conditional && !InEveryBranch(all))) open.insert(key);
    }
    for (const Stated& one : stated_) Emit(one, open.contains(one.key));
  }

  void Emit(const Stated& one, bool open) {
    v1::Setting* setting = builder_.Add(one.key, one.text, one.line);
    if (setting == nullptr) return;
    if (open) {
      setting->clear_value();
      if (one.text.empty()) setting->set_raw_value("?");
      builder_.AddNote(
          one.told ? "conditional" : "no_literal", one.line,
          StrCat(one.key, ": the source does not tell its value", one.told ? "; it depends on a condition" : ""));
    } else if (setting->value().kind_case() == v1::Value::kText) {
      setting->set_raw_value(setting->value().text());
    }
  }

  const PythonStatements source_;
  const SyntaxTree& tree_;
  const PythonStatement* statement_ = nullptr;
  std::vector<Stated> stated_;
  SettingsBuilder builder_;
};

absl::StatusOr<v1::SettingsDocument> Parse(absl::string_view text, absl::string_view label) {
  return Reader(text, label).Read();
}

}  // namespace

extern const SettingsFormat kPythonOptionsSettings;
const SettingsFormat kPythonOptionsSettings = {kName, kName, &Sniff, &Parse};

}  // namespace paritect
