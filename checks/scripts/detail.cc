#include "checks/scripts/detail.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/numbers.h"

namespace paritect {
namespace {

// Lists of lists are rare and flat enough.
constexpr int kDepthMax = 4;

// NOLINTNEXTLINE(misc-no-recursion): kDepthMax bounds it
void Show(const v1::Value& value, int depth, std::string& out) {
  switch (value.kind_case()) {
    case v1::Value::kBoolean: absl::StrAppend(&out, value.boolean() ? "True" : "False"); break;
    case v1::Value::kInteger: absl::StrAppend(&out, value.integer()); break;
    case v1::Value::kNumber: absl::StrAppend(&out, FormatDouble(value.number())); break;
    case v1::Value::kText: absl::StrAppend(&out, value.text()); break;
    case v1::Value::kList:
      out += "[";
      for (int i = 0; i < value.list().items_size() && depth < kDepthMax; ++i) {
        if (i > 0) out += ", ";
        Show(value.list().items(i), depth + 1, out);
      }
      out += "]";
      break;
    default: out += "None"; break;
  }
}

}  // namespace

std::string ShowScriptValue(const v1::ScriptArgument& argument) {
  if (!argument.has_value()) return argument.text().empty() ? argument.symbol() : argument.text();
  std::string out;
  Show(argument.value(), 0, out);
  return out;
}

std::string ScriptDetail(const v1::ScriptFact& fact) {
  std::string out = fact.name().substr(fact.name().rfind('.') + 1);
  if (out == "slice" || out == "modulo") out = fact.kind();
  absl::StrAppend(&out, "(");
  bool first = true;
  for (const v1::ScriptArgument& argument : fact.arguments()) {
    if (argument.is_default() || absl::StartsWith(argument.name(), "<")) continue;
    absl::StrAppend(&out, first ? "" : ", ", argument.name(), "=", ShowScriptValue(argument));
    first = false;
  }
  return absl::StrCat(out, ")");
}

std::string ScriptPlace(const v1::ScriptFact& fact) {
  return absl::StrCat(fact.file(), ":", fact.line());
}

const v1::ScriptArgument* FindScriptArgument(const v1::ScriptFact& fact, absl::string_view name) {
  for (const v1::ScriptArgument& argument : fact.arguments()) {
    if (argument.name() == name) return &argument;
  }
  return nullptr;
}

}  // namespace paritect
