#include "checks/scripts/words.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rules/script_words.h"

namespace paritect {
namespace {

bool InWord(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
}

}  // namespace

std::string DtypeOf(const v1::ScriptArgument& argument) {
  std::string text = argument.has_value() ? ShowScriptValue(argument) : argument.symbol();
  if (absl::StartsWith(text, "either(") || absl::StrContains(text, '?')) return "";
  text = absl::AsciiStrToLower(text);
  if (absl::StrContains(text, "bfloat16") || absl::EndsWith(text, "bf16")) return "bfloat16";
  if (absl::StrContains(text, "float16") || absl::EndsWith(text, "half") || absl::EndsWith(text, "fp16"))
    return "float16";
  if (absl::StrContains(text, "float32") || absl::EndsWith(text, ".float") || absl::StrContains(text, "float64"))
    return "float32";
  return "";
}

std::string AutocastDtype(const v1::ScriptFact& fact) {
  const v1::ScriptArgument* dtype = FindScriptArgument(fact, "dtype");
  if (dtype != nullptr && !(dtype->has_value() && dtype->value().null())) return DtypeOf(*dtype);
  const v1::ScriptArgument* device = FindScriptArgument(fact, "device_type");
  const bool cpu = absl::StrContains(fact.name(), ".cpu.") || (device != nullptr && ShowScriptValue(*device) == "cpu");
  return cpu ? "bfloat16" : "float16";
}

bool IsFalse(const v1::ScriptArgument* argument) {
  return argument != nullptr && argument->value().kind_case() == v1::Value::kBoolean && !argument->value().boolean();
}

bool IsTrue(const v1::ScriptArgument* argument) {
  return argument != nullptr && argument->value().kind_case() == v1::Value::kBoolean && argument->value().boolean();
}

bool IsUpdate(const v1::ScriptFact& fact) {
  for (absl::string_view kind : {"backward", "train_step", "engine_step", "functional_grad", "gradient_tape"}) {
    if (fact.kind() == kind) return true;
  }
  return false;
}

bool InLoop(const v1::ScriptFact& fact, int number) {
  return std::find(fact.loops().begin(), fact.loops().end(), number) != fact.loops().end();
}

std::string TrainedCast(const ScriptFlow& flow, const v1::ScriptFact& fact) {
  if (fact.kind() != "cast" || fact.object() == 0) return "";
  std::string dtype;
  if (absl::EndsWith(fact.name(), ".half")) dtype = "float16";
  if (absl::EndsWith(fact.name(), ".bfloat16")) dtype = "bfloat16";
  for (const v1::ScriptArgument& argument : fact.arguments()) {
    if (dtype.empty()) dtype = DtypeOf(argument);
  }
  if (dtype != "float16" && dtype != "bfloat16") return "";
  const int object = fact.object() - 1;
  const auto holds = [&](const v1::ScriptFact& other) {
    return std::find(other.made_of().begin(), other.made_of().end(), object) != other.made_of().end();
  };
  for (const v1::ScriptFact* freeze : flow.OfKind("freeze")) {
    if (holds(*freeze)) return "";
  }
  for (const v1::ScriptFact* freeze : flow.OfKind("requires_grad")) {
    if (freeze->object() == fact.object() && IsFalse(FindScriptArgument(*freeze, "requires_grad"))) return "";
  }
  for (const v1::ScriptFact* optimizer : flow.OfKind("optimizer")) {
    if (holds(*optimizer)) return dtype;
  }
  for (absl::string_view kind : {"trainer", "fit", "engine", "train_cell", "amp_level"}) {
    for (const v1::ScriptFact* trainer : flow.OfKind(kind)) {
      if (holds(*trainer)) return dtype;
    }
  }
  return "";
}

bool OfOneFramework(const ScriptFlow& baseline, const ScriptFlow& migrated) {
  return baseline.read() && migrated.read() && !baseline.framework().empty() &&
         baseline.framework() == migrated.framework();
}

std::string WithoutDevice(absl::string_view text) {
  const std::map<std::string, std::string, std::less<>>& devices = BuiltInScriptWords().devices;
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && InWord(text[end])) ++end;
    if (end == i) {
      out += text[i++];
      continue;
    }
    const absl::string_view word = text.substr(i, end - i);
    const auto found = devices.find(word);
    out.append(found == devices.end() ? std::string(word) : found->second);
    i = end;
  }
  return out;
}

}  // namespace paritect
