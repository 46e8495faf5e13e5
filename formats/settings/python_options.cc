// Options that a Python source sets by a literal; nothing is executed, no other expression has a value.
//   TF Adapter      custom_op.parameter_map["precision_mode"].s = tf.compat.as_bytes("allow_fp32_to_fp16")
//                   NPURunConfig(precision_mode="...", ...), npu.global_options().precision_mode = "..."
//   loss scale      ExponentialUpdateLossScaleManager(...), FixedLossScaleManager(...), NPULossScaleOptimizer(...)
//   PyTorch, MindSpore   torch.backends.cuda.matmul.allow_tf32 = True, torch.npu.matmul.allow_hf32 = False,
//                   torch.set_float32_matmul_precision("high"), torch.npu.set_option({"ACL_PRECISION_MODE": "..."})
// That such a line runs is not known: the document says so in a note.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "formats/settings/builder.h"
#include "formats/settings/python_text.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr char kName[] = "session-config";

// Calls whose named arguments are settings of their own names.
constexpr absl::string_view kCalls[] = {"NPURunConfig(",
                                        "ExponentialUpdateLossScaleManager(",
                                        "FixedLossScaleManager(",
                                        "NPULossScaleOptimizer(",
                                        "GradScaler(",
                                        "DynamicLossScaleManager("};
// Calls with one argument that is the value.
constexpr absl::string_view kSetters[] = {"torch.set_float32_matmul_precision", "torch.use_deterministic_algorithms",
                                          "enable_tensor_float_32_execution", "set_device_sat_mode",
                                          "enable_op_determinism"};
constexpr absl::string_view kAssigned[] = {"torch.backends.", "torch.npu.", "torch_npu.npu.", "global_options()."};

int Sniff(absl::string_view head) {
  const bool source = absl::StrContains(head, "import ") || absl::StrContains(head, "def ") ||
                      absl::StrContains(head, "tf.") || absl::StrContains(head, "NPURunConfig(");
  if (!source || absl::StartsWith(head, "#!/bin/")) return 0;
  const bool map = absl::StrContains(head, "parameter_map[\"") || absl::StrContains(head, "parameter_map['");
  for (absl::string_view call : kCalls) {
    if (absl::StrContains(head, call) && call != "GradScaler(") return 92;
  }
  if (map || absl::StrContains(head, "global_options().")) return 92;
  const bool imports = absl::StartsWith(head, "import ") || absl::StartsWith(head, "from ") ||
                       absl::StrContains(head, "\nimport ") || absl::StrContains(head, "\nfrom ");
  return imports && absl::StrContains(head, "torch.") && absl::StrContains(head, " = ") ? 60 : 0;
}

class Reader {
 public:
  Reader(const std::string& text, absl::string_view label) : text_(text), builder_(kName, kName, label) {}

  v1::SettingsDocument Read() {
    std::int64_t number = 0;
    for (std::size_t at = 0; at < text_.size();) {
      const std::size_t end = std::min(text_.find('\n', at), text_.size());
      Line(at, absl::string_view(text_).substr(at, end - at), ++number);
      at = end + 1;
    }
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
  void Line(std::size_t begin, absl::string_view line, std::int64_t number) {
    for (absl::string_view call : kCalls) {
      const std::size_t at = line.find(call);
      if (at != absl::string_view::npos && (at == 0 || !IsWord(line[at - 1]))) {
        Call(begin + at + call.size() - 1, call.substr(0, call.size() - 1), number);
      }
    }
    for (absl::string_view setter : kSetters) {
      const std::size_t at = line.find(StrCat(setter, "("));
      if (at == absl::string_view::npos) continue;
      const std::size_t open = begin + at + setter.size();
      const std::size_t close = ClosingBracket(text_, open);
      if (close != absl::string_view::npos) {
        const absl::string_view inside = absl::string_view(text_).substr(open + 1, close - open - 1);
        Literal(std::string(setter), inside.empty() ? "True" : inside.substr(0, inside.find(',')), number);
      }
    }
    if (const std::size_t at = line.find("set_option("); at != absl::string_view::npos)
      Dictionary(begin + at + 10, number);
    const std::size_t equals = line.find('=');
    if (equals == absl::string_view::npos || equals + 1 >= line.size() || line[equals + 1] == '=') return;
    Assignment(absl::StripAsciiWhitespace(line.substr(0, equals)), absl::StripAsciiWhitespace(line.substr(equals + 1)),
               number);
  }

  static bool IsWord(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

  void Assignment(absl::string_view target, absl::string_view value, std::int64_t number) {
    if (const std::size_t map = target.find("parameter_map["); map != absl::string_view::npos) {
      const std::size_t close = target.find(']', map);
      if (close == absl::string_view::npos || close < map + 17) return;
      return Literal(std::string(target.substr(map + 15, close - map - 16)), value, number);
    }
    for (absl::string_view start : kAssigned) {
      const std::size_t at = target.find(start);
      if (at == absl::string_view::npos) continue;
      const absl::string_view name = target.substr(start == "global_options()." ? at + start.size() : at);
      if (name.find_first_of(" ([") == absl::string_view::npos) Literal(std::string(name), value, number);
      return;
    }
  }

  void Call(std::size_t open, absl::string_view name, std::int64_t number) {
    const std::size_t close = ClosingBracket(text_, open);
    if (close == absl::string_view::npos) return;
    const absl::string_view inside = absl::string_view(text_).substr(open + 1, close - open - 1);
    if (name == "NPULossScaleOptimizer") builder_.AddText("loss_scale_optimizer", name, number);
    for (absl::string_view part : SplitOutsideBrackets(inside, ',')) {
      const std::size_t equals = part.find('=');
      if (equals == absl::string_view::npos) continue;
      const absl::string_view key = absl::StripAsciiWhitespace(part.substr(0, equals));
      const auto lines_before = std::count(inside.data(), part.data(), '\n');
      if (IsIdentifier(key))
        Literal(std::string(key), absl::StripAsciiWhitespace(part.substr(equals + 1)), number + lines_before);
    }
  }

  // set_option({"ACL_PRECISION_MODE": "must_keep_origin_dtype"}).
  void Dictionary(std::size_t open, std::int64_t number) {
    const std::size_t close = ClosingBracket(text_, open);
    if (close == absl::string_view::npos) return;
    absl::string_view inside = absl::StripAsciiWhitespace(absl::string_view(text_).substr(open + 1, close - open - 1));
    if (!absl::ConsumePrefix(&inside, "{") || !absl::ConsumeSuffix(&inside, "}")) return;
    for (absl::string_view part : SplitOutsideBrackets(inside, ',')) {
      const std::size_t colon = part.find(':');
      if (colon == absl::string_view::npos || part.size() < 3) continue;
      absl::string_view key = absl::StripAsciiWhitespace(part.substr(0, colon));
      if (key.size() > 2)
        Literal(std::string(key.substr(1, key.size() - 2)), absl::StripAsciiWhitespace(part.substr(colon + 1)), number);
    }
  }

  // A literal, or tf.compat.as_bytes("..."), b"..."; anything else has no value.
  void Literal(const std::string& key, absl::string_view text, std::int64_t number) {
    for (absl::string_view wrap : {"tf.compat.as_bytes(", "compat.as_bytes(", "as_bytes(", "str.encode(", "bytes("}) {
      if (absl::ConsumePrefix(&text, wrap)) text = text.substr(0, text.rfind(')'));
    }
    absl::ConsumeSuffix(&text, ".encode()");
    if (absl::StartsWith(text, "b\"") || absl::StartsWith(text, "b'")) text.remove_prefix(1);
    text = absl::StripAsciiWhitespace(text);
    v1::Setting* setting = builder_.Add(key, text, number);
    if (setting == nullptr) return;
    const bool quoted = text.size() >= 2 && (text.front() == '"' || text.front() == '\'');
    const bool power =
        absl::StrContains(text, "**") && text.find_first_not_of("0123456789* ") == absl::string_view::npos;
    if (setting->value().kind_case() == v1::Value::kText && !quoted && !power) {
      setting->clear_value();
      builder_.AddNote("no_literal", number, StrCat(key, ": the source does not tell its value"));
    } else if (quoted) {
      setting->set_raw_value(setting->value().text());
    }
  }

  const std::string& text_;
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
