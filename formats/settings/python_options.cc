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
#include "formats/settings/python_source.h"
#include "formats/settings/python_text.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr char kName[] = "session-config";
constexpr std::size_t kParametersMax = 5;
constexpr std::size_t kArgumentBytesMax = 16 << 10;
constexpr int kCallsMax = 32;  // of one name in one statement
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

bool IsWord(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// The place behind "NAME(" of a call of that name in the text, from `from` on; npos where there is none.
std::size_t FindCall(absl::string_view text, absl::string_view name, std::size_t from = 0) {
  for (std::size_t at = text.find(name, from); at != absl::string_view::npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || !IsWord(text[at - 1])) && end < text.size() && text[end] == '(') return end + 1;
  }
  return absl::string_view::npos;
}

// The text with what stands in quotes as blanks, of the same length: what a help text says is no code.
std::string WithoutTexts(absl::string_view text) {
  std::string out(text);
  char quote = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (quote == 0) {
      if (out[i] == '"' || out[i] == '\'') quote = out[i];
    } else if (out[i] == quote || out[i] == '\n') {
      quote = 0;
    } else {
      if (out[i] == '\\' && i + 1 < out.size()) out[i++] = ' ';
      out[i] = ' ';
    }
  }
  return out;
}

int Sniff(absl::string_view head) {
  const bool source = absl::StrContains(head, "import ") || absl::StrContains(head, "def ") ||
                      absl::StrContains(head, "tf.") || absl::StrContains(head, "NPURunConfig(");
  if (!source || absl::StartsWith(head, "#!/bin/")) return 0;
  for (const KnownCall& call : kCalls) {
    if (call.name != "GradScaler" && FindCall(head, call.name) != absl::string_view::npos) return 92;
  }
  if (absl::StrContains(head, "parameter_map[") || absl::StrContains(head, "global_options()")) return 92;
  const bool imports = absl::StartsWith(head, "import ") || absl::StartsWith(head, "from ") ||
                       absl::StrContains(head, "\nimport ") || absl::StrContains(head, "\nfrom ");
  if (!imports) return 0;
  if (absl::StrContains(head, "set_context(") || absl::StrContains(head, "op_precision.")) return 60;
  return absl::StrContains(head, "torch.") && absl::StrContains(head, " = ") ? 60 : 0;
}

// The inside of the brackets that open before `inside`; "" where they do not close within bounds.
absl::string_view Arguments(absl::string_view text, std::size_t inside) {
  text = text.substr(0, std::min(text.size(), inside + kArgumentBytesMax));
  const std::size_t close = ClosingBracket(text, inside - 1);
  return close == absl::string_view::npos ? "" : text.substr(inside, close - inside);
}

class Reader {
 public:
  Reader(const std::string& text, absl::string_view label)
      : text_(text), source_(ReadPythonSource(text)), builder_(kName, kName, label) {
    for (const KnownCall& call : kCalls) {
      auto renamed = source_.names.find(call.name);
      if (renamed == source_.names.end() || absl::EndsWith(renamed->second, StrCat(".", call.name)))
        calls_.emplace_back(std::string(call.name), &call);
      // from npu_bridge... import NPULossScaleOptimizer as LossScaleOptimizer
      int others = 0;
      for (const auto& [name, whole] : source_.names) {
        if (name != call.name && absl::EndsWith(whole, StrCat(".", call.name)) && ++others <= kCallsMax)
          calls_.emplace_back(name, &call);
      }
    }
  }

  v1::SettingsDocument Read() {
    for (const PythonStatement& statement : source_.statements) {
      if (statement.reach == PythonReach::kNever) continue;
      statement_ = &statement;
      Statement(statement.text);
    }
    Settle();
    if (!builder_.empty())
      builder_.AddNote("read_from_source", 0, "values stand in the source; whether these lines run is not known");
    v1::SettingsDocument document = builder_.Finish();
    // The format says TensorFlow; flags say nothing of a framework.
    const bool tensorflow = absl::StrContains(text_, "parameter_map") || absl::StrContains(text_, "NPURunConfig") ||
                            absl::StrContains(text_, "global_options()") || absl::StrContains(text_, "tensorflow");
    if (!tensorflow) document.set_format("flags");
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

  void Statement(absl::string_view text) {
    if (absl::StartsWith(text, "import ") || absl::StartsWith(text, "from ")) return;
    const std::string code = WithoutTexts(text);
    const std::string full = FullPythonName(source_, text);
    const std::string full_code = WithoutTexts(full);
    Calls(text, code);
    for (absl::string_view setter : kSetters) {
      const std::size_t inside = FindCall(full_code, setter);
      if (inside == absl::string_view::npos) continue;
      const absl::string_view value = Arguments(full, inside);
      State(std::string(setter), value.empty() ? "True" : FirstArgument(value));
    }
    for (absl::string_view group : kSetterGroups) {
      const std::size_t at = absl::string_view(full_code).find(group);
      const std::size_t open = at == std::string::npos ? at : full_code.find('(', at);
      if (open != std::string::npos) State(full.substr(at, open - at), FirstArgument(Arguments(full, open + 1)));
    }
    if (const std::size_t inside = FindCall(code, "set_option"); inside != absl::string_view::npos)
      Dictionary("", Arguments(text, inside), kAclOptions);
    if (const std::size_t inside = FindCall(code, "set_experimental_options"); inside != absl::string_view::npos)
      Dictionary("", Arguments(text, inside), {});
    if (FindCall(code, "enable_mixed_precision_graph_rewrite") != absl::string_view::npos)
      State("auto_mixed_precision", "True");
    if (const std::size_t inside = FindCall(code, "set_context"); inside != absl::string_view::npos)
      Context(Arguments(text, inside));
    if (const std::size_t inside = FindCall(code, "setattr"); inside != absl::string_view::npos)
      SetAttribute(Arguments(text, inside));
    Variables(text, code);
    const std::size_t equals = FindPythonAssignment(text);
    if (equals == absl::string_view::npos || equals == 0 || equals + 1 >= text.size()) return;
    Assignment(absl::StripAsciiWhitespace(text.substr(0, equals)), absl::StripAsciiWhitespace(text.substr(equals + 1)));
  }

  static absl::string_view FirstArgument(absl::string_view inside) {
    const std::vector<absl::string_view> parts = SplitOutsideBrackets(inside, ',');
    if (parts.empty()) return "";
    absl::string_view first = parts[0];
    const std::size_t equals = first.find('=');
    if (equals != absl::string_view::npos && IsIdentifier(absl::StripAsciiWhitespace(first.substr(0, equals))))
      first = absl::StripAsciiWhitespace(first.substr(equals + 1));
    return first;
  }

  void Assignment(absl::string_view target, absl::string_view value) {
    if (const std::size_t map = target.find("parameter_map["); map != absl::string_view::npos) {
      const std::size_t close = target.find(']', map);
      if (close == absl::string_view::npos) return;
      const std::string key = Text(absl::StripAsciiWhitespace(target.substr(map + 14, close - map - 14)));
      if (!key.empty()) return State(key, value);
      for (absl::string_view option : kMayBeSet) StateUnknown(std::string(option), target);
      return;
    }
    const std::string full = FullPythonName(source_, target);
    for (absl::string_view start : kAssigned) {
      const std::size_t at = absl::string_view(full).find(start);
      if (at == std::string::npos) continue;
      const std::string name = start == "global_options()." ? full.substr(at + start.size()) : full.substr(at);
      if (name.find_first_of(" ([") == std::string::npos) State(name, value);
      return;
    }
  }

  // The text that a literal or a name of one stands for; "" where it is none.
  std::string Text(absl::string_view expression) const {
    if (auto known = source_.literals.find(expression); known != source_.literals.end()) expression = known->second;
    if (expression.size() < 3 || !IsPythonLiteral(expression)) return "";
    const v1::Value value = ValueOfText(expression);
    return value.kind_case() == v1::Value::kText && absl::StrContains("'\"", expression.front()) ? value.text() : "";
  }

  void Calls(absl::string_view text, absl::string_view code) {
    for (const auto& [name, call] : calls_) {
      std::size_t inside = FindCall(code, name);
      for (int i = 0; i < kCallsMax && inside != absl::string_view::npos; ++i, inside = FindCall(code, name, inside))
        Call(text, inside, *call);
    }
  }

  void Call(absl::string_view text, std::size_t inside_at, const KnownCall& call) {
    const absl::string_view inside = Arguments(text, inside_at);
    const bool optimizer = absl::EndsWith(call.name, "LossScaleOptimizer");
    if (optimizer) State("loss_scale_optimizer", StrCat("\"", call.name, "\""), inside);
    std::size_t place = 0;
    bool from_elsewhere = false;
    std::set<absl::string_view> given;
    for (absl::string_view part : SplitOutsideBrackets(inside, ',')) {
      if (part.empty()) continue;
      if (absl::ConsumePrefix(&part, "**")) {
        from_elsewhere = !Dictionary("", part, {});
        continue;
      }
      const std::size_t equals = part.find('=');
      const absl::string_view key = absl::StripAsciiWhitespace(part.substr(0, equals));
      if (equals != absl::string_view::npos && IsIdentifier(key)) {
        given.insert(key);
        State(std::string(key), absl::StripAsciiWhitespace(part.substr(equals + 1)), part);
      } else if (equals == absl::string_view::npos || absl::StrContains("\"'", part.front())) {
        // torch.amp.GradScaler takes the device first.
        if (call.name == "GradScaler" && place == 0 && absl::StrContains("\"'", part.front())) continue;
        if (place < kParametersMax && !call.parameters[place].empty()) {
          given.insert(call.parameters[place]);
          State(std::string(call.parameters[place]), part, part);
        }
        ++place;
      }
    }
    if (from_elsewhere && call.name == "NPURunConfig") {
      for (absl::string_view option : kMayBeSet) StateUnknown(std::string(option), inside);
    }
    if (call.name == "NPULossScaleOptimizer" && !from_elsewhere && !given.contains("is_distributed"))
      State("is_distributed", "False", inside);  // its default
  }

  // set_option({"ACL_PRECISION_MODE": "must_keep_origin_dtype"}). False where it is no dictionary: then `perhaps` may
  // be set.
  bool Dictionary(const std::string& prefix, absl::string_view inside, absl::Span<const absl::string_view> perhaps) {
    inside = absl::StripAsciiWhitespace(inside);
    if (auto known = source_.literals.find(inside); known != source_.literals.end()) inside = known->second;
    if (absl::StartsWith(inside, "dict(") && absl::EndsWith(inside, ")")) {
      for (absl::string_view part : SplitOutsideBrackets(inside.substr(5, inside.size() - 6), ',')) {
        const std::size_t equals = part.find('=');
        if (equals != absl::string_view::npos)
          State(StrCat(prefix, absl::StripAsciiWhitespace(part.substr(0, equals))), part.substr(equals + 1), part);
      }
      return true;
    }
    if (!absl::ConsumePrefix(&inside, "{") || !absl::ConsumeSuffix(&inside, "}")) {
      for (absl::string_view option : perhaps) StateUnknown(std::string(option), inside);
      return false;
    }
    bool whole = true;
    for (absl::string_view part : SplitOutsideBrackets(inside, ',')) {
      const std::size_t colon = part.find(':');
      const std::string key =
          colon == absl::string_view::npos ? "" : Text(absl::StripAsciiWhitespace(part.substr(0, colon)));
      if (!key.empty()) {
        State(StrCat(prefix, key), absl::StripAsciiWhitespace(part.substr(colon + 1)), part);
      } else if (!part.empty()) {
        whole = false;
      }
    }
    if (!whole) {
      for (absl::string_view option : perhaps) StateUnknown(std::string(option), inside);
    }
    return whole;
  }

  // set_context(deterministic="ON", ascend_config={"precision_mode": "force_fp16"}).
  void Context(absl::string_view inside) {
    for (absl::string_view part : SplitOutsideBrackets(inside, ',')) {
      const std::size_t equals = part.find('=');
      const absl::string_view key = absl::StripAsciiWhitespace(part.substr(0, equals));
      if (absl::StartsWith(part, "**")) {
        StateUnknown("context.ascend_config.precision_mode", part);
      } else if (equals != absl::string_view::npos && key == "ascend_config") {
        Dictionary("context.ascend_config.", part.substr(equals + 1), {"context.ascend_config.precision_mode"});
      } else if (equals != absl::string_view::npos && IsIdentifier(key)) {
        State(StrCat("context.", key), absl::StripAsciiWhitespace(part.substr(equals + 1)), part);
      }
    }
  }

  // setattr(npu.global_options(), "precision_mode", MODE).
  void SetAttribute(absl::string_view inside) {
    const std::vector<absl::string_view> parts = SplitOutsideBrackets(inside, ',');
    if (parts.size() != 3) return;
    const std::string name = Text(parts[1]);
    if (!name.empty()) Assignment(StrCat(parts[0], ".", name), parts[2]);
  }

  // os.environ["NAME"] = "1", os.environ.setdefault("NAME", "1"), os.putenv("NAME", "1").
  void Variables(absl::string_view text, absl::string_view code) {
    if (const std::size_t at = code.find("environ["); at != absl::string_view::npos) {
      const std::size_t close = ClosingBracket(text, at + 7);
      if (close == absl::string_view::npos) return;
      absl::string_view rest = absl::StripAsciiWhitespace(text.substr(close + 1));
      const std::string name = Text(absl::StripAsciiWhitespace(text.substr(at + 8, close - at - 8)));
      if (!name.empty() && absl::ConsumePrefix(&rest, "=") && !absl::StartsWith(rest, "="))
        State(StrCat("env.", name), absl::StripAsciiWhitespace(rest));
    }
    for (absl::string_view call : {"environ.setdefault", "putenv"}) {
      const std::size_t inside = FindCall(code, call);
      if (inside == absl::string_view::npos) continue;
      const std::vector<absl::string_view> parts = SplitOutsideBrackets(Arguments(text, inside), ',');
      const std::string name = parts.size() == 2 ? Text(parts[0]) : "";
      if (!name.empty()) State(StrCat("env.", name), parts[1]);
    }
  }

  // A literal, or tf.compat.as_bytes("..."), b"...", or a name of one; anything else has no value. `where`: a part of
  // the statement, for the line.
  void State(const std::string& key, absl::string_view text, absl::string_view where = "") {
    for (absl::string_view wrap : {"tf.compat.as_bytes(", "compat.as_bytes(", "as_bytes(", "tf.compat.as_str(",
                                   "str.encode(", "bytes(", "str("}) {
      if (absl::ConsumePrefix(&text, wrap)) text = FirstArgument(text.substr(0, text.rfind(')')));
    }
    for (absl::string_view end : {".encode()", ".encode(\"utf-8\")", ".encode('utf-8')", ".encode(\"utf8\")"})
      absl::ConsumeSuffix(&text, end);
    text = absl::StripAsciiWhitespace(text);
    if (auto known = source_.literals.find(text); known != source_.literals.end()) text = known->second;
    Stated stated{key, std::string(text), IsPythonLiteral(text), LineOf(where), statement_};
    if (stated.told && text.size() > 2 && absl::StrContains("bBrRuU", text[0]) && absl::StrContains("\"'", text[1]))
      stated.text = std::string(text.substr(1));
    if (stated_.size() < kStatedMax) stated_.push_back(std::move(stated));
  }

  void StateUnknown(const std::string& key, absl::string_view text) {
    if (stated_.size() < kStatedMax) stated_.push_back({key, std::string(text), false, statement_->line, statement_});
  }

  std::int64_t LineOf(absl::string_view part) const {
    const absl::string_view whole = statement_->text;
    if (part.data() < whole.data() || part.data() >= whole.data() + whole.size()) return statement_->line;
    return statement_->line + std::count(whole.data(), part.data(), '\n');
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

  const std::string& text_;
  const PythonSource source_;
  const PythonStatement* statement_ = nullptr;
  std::vector<std::pair<std::string, const KnownCall*>> calls_;  // by the name that the file gives them
  std::vector<Stated> stated_;
  SettingsBuilder builder_;
};

absl::StatusOr<v1::SettingsDocument> Parse(absl::string_view text, absl::string_view label) {
  const std::string plain = WithoutPythonComments(text);
  return Reader(plain, label).Read();
}

}  // namespace

extern const SettingsFormat kPythonOptionsSettings;
const SettingsFormat kPythonOptionsSettings = {kName, kName, &Sniff, &Parse};

}  // namespace paritect
