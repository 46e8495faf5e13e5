#include "formats/python/command_lines.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "formats/python/options.h"
#include "formats/python/records.h"

namespace paritect {
namespace {

constexpr char kRecords[] = "<records>";  // field of a parser: the classes whose fields are its options

std::string PlainOption(absl::string_view name) {
  while (absl::ConsumePrefix(&name, "-")) {
  }
  return absl::StrReplaceAll(name, {{"-", "_"}});
}

void AddOption(ScriptMachine& m, ValueId parser, const std::string& name, ValueId fallback) {
  if (!name.empty()) m.SetField(parser, name, OptionValue(m, name, fallback));
}

// The longest of its names ("-l", "--lr"), and the name that the program knows it by, where it is told apart.
struct OptionNames {
  std::string option;
  std::string own;
};

OptionNames NamesOfOption(const ScriptMachine& m, const ApiCall& call) {
  OptionNames names;
  for (const CallArgument& one : call.arguments) {
    if (!one.name.empty() || m.values[one.value].kind != ValueKind::kText) continue;
    const std::string& text = m.values[one.value].text;
    if (!absl::StartsWith(text, "-")) names.own = text;
    if (names.option.empty() || (absl::StartsWith(text, "--") && !absl::StartsWith(names.option, "--")))
      names.option = text;
  }
  return names;
}

ValueId AddArgument(ScriptMachine& m, const ApiCall& call) {
  std::string name = PlainOption(NamesOfOption(m, call).option);
  if (const ValueId given = Named(call, "dest"); given != kNoValue && m.values[given].kind == ValueKind::kText)
    name = m.values[given].text;
  ValueId fallback = Named(call, "default");
  if (const ValueId action = Named(call, "action");
      fallback == kNoValue && action != kNoValue && m.values[action].kind == ValueKind::kText) {
    if (m.values[action].text == "store_true") fallback = m.values.Boolean(false);
    if (m.values[action].text == "store_false") fallback = m.values.Boolean(true);
  }
  AddOption(m, call.receiver, name, fallback == kNoValue ? m.values.None() : fallback);
  return m.values.None();
}

ValueId ParseArguments(ScriptMachine& m, const ApiCall& call, bool with_rest) {
  ScriptValue options;
  options.kind = ValueKind::kObject;
  options.text = "options";
  options.option = ".";
  options.fields = m.values[call.receiver].fields;
  const ValueId space = m.values.Add(std::move(options));
  if (!with_rest) return space;
  ScriptValue pair;
  pair.kind = ValueKind::kSequence;
  pair.items = {space, m.values.Unknown("rest of the command line?")};
  return m.values.Add(std::move(pair));
}

// Other defaults come from what the source does not tell: only what the command line gives is known.
void ForgetDefaults(ScriptMachine& m, ValueId parser) {
  const auto fields = m.values[parser].fields;
  for (const auto& [name, value] : fields) {
    if (m.command_line.contains(name) || name == kRecords) continue;
    ScriptValue unknown;
    unknown.option = name;
    unknown.symbol = absl::StrCat("option:", name);
    m.SetField(parser, name, m.values.Add(std::move(unknown)));
  }
}

// parser.parse_args_into_dataclasses(): a record of each class, filled by the command line.
std::optional<ValueId> ParseRecords(ScriptMachine& m, const ApiCall& call) {
  const ValueId types = m.values.Field(call.receiver, kRecords);
  if (types == kNoValue) return std::nullopt;
  ScriptValue all;
  all.kind = ValueKind::kSequence;
  const ScriptValue& of = m.values[types];
  const std::vector<ValueId> classes = of.kind == ValueKind::kSequence ? of.items : std::vector<ValueId>{types};
  all.items = RecordsOfOptions(m, classes, call.node);
  if (Named(call, "return_remaining_strings") != kNoValue)
    all.items.push_back(m.values.Unknown("rest of the command line?"));
  return m.values.Add(std::move(all));
}

std::optional<ValueId> CallParser(ScriptMachine& m, const ApiCall& call) {
  constexpr absl::string_view kParser = "argparse.ArgumentParser.";
  if (!absl::StartsWith(call.name, kParser) || call.receiver == kNoValue) return std::nullopt;
  const absl::string_view method = absl::string_view(call.name).substr(kParser.size());
  if (method == "add_argument") return AddArgument(m, call);
  if (method == "parse_args_into_dataclasses" || method == "parse_args_and_config") return ParseRecords(m, call);
  if (method == "parse_args") return ParseArguments(m, call, false);
  if (method == "parse_known_args") return ParseArguments(m, call, true);
  if (method == "set_defaults") {
    for (const CallArgument& one : call.arguments) {
      if (!one.name.empty()) AddOption(m, call.receiver, one.name, one.value);
      if (one.splat) ForgetDefaults(m, call.receiver);
    }
    return m.values.None();
  }
  // Groups add to the parser itself.
  if (method == "add_argument_group" || method == "add_mutually_exclusive_group" || method == "add_subparsers" ||
      method == "add_parser") {
    return call.receiver;
  }
  return std::nullopt;
}

// tf.flags, absl.flags: DEFINE_integer("batch_size", 32, "...").
std::optional<ValueId> CallFlags(ScriptMachine& m, const ApiCall& call) {
  const std::size_t define = call.name.rfind(".DEFINE_");
  if (define == std::string::npos || !absl::StrContains(call.name, "flags")) return std::nullopt;
  if (m.flags == kNoValue) {
    ScriptValue options;
    options.kind = ValueKind::kObject;
    options.text = "options";
    options.option = ".";
    m.flags = m.values.Add(std::move(options));
  }
  const ValueId name = Argument(call, 0) != kNoValue ? Argument(call, 0) : Named(call, "name");
  ValueId fallback = Argument(call, 1) != kNoValue ? Argument(call, 1) : Named(call, "default");
  if (fallback == kNoValue) fallback = Named(call, "default_value");
  if (name != kNoValue && m.values[name].kind == ValueKind::kText) {
    AddOption(m, m.flags, m.values[name].text, fallback == kNoValue ? m.values.None() : fallback);
  }
  return m.values.None();
}

// HfArgumentParser((ModelArguments, TrainingArguments))
std::optional<ValueId> RecordParser(ScriptMachine& m, const ApiCall& call) {
  const ValueId types = Argument(call, 0) != kNoValue ? Argument(call, 0) : Named(call, "dataclass_types");
  if (types == kNoValue) return std::nullopt;
  ScriptValue parser;
  parser.kind = ValueKind::kObject;
  parser.text = "argparse.ArgumentParser";
  parser.symbol = absl::StrCat(call.name, "(", m.values.SymbolOf(types).substr(0, 200), ")");
  parser.fields = {{kRecords, types}};
  return m.values.Add(std::move(parser));
}

// fire.Fire(train), typer.run(train): its parameters are the options.
std::optional<ValueId> RunWithOptions(ScriptMachine& m, const ApiCall& call) {
  const ValueId function = Argument(call, 0);
  if (function == kNoValue || m.values[function].kind != ValueKind::kFunction) return std::nullopt;
  ScriptValue run = m.values[function];
  run.text = kOfOptions;
  return m.Call(m.values.Add(std::move(run)), {}, call.node);
}

// @click.option("--lr", default=0.1): the function's parameter of that name.
ValueId OptionOfDecorator(ScriptMachine& m, const ApiCall& call) {
  const OptionNames names = NamesOfOption(m, call);
  ValueId fallback = Named(call, "default");
  if (const ValueId flag = Named(call, "is_flag"); fallback == kNoValue && flag != kNoValue)
    fallback = m.values.Boolean(false);
  const std::string option = PlainOption(names.option.substr(0, names.option.find('/')));  // "--amp/--no-amp"
  ScriptValue value;
  value.kind = ValueKind::kObject;
  value.text = kOptionDecorator;
  value.symbol = absl::StrCat(call.name, "(", option, ")");
  const ValueId given = OptionValue(m, option, fallback == kNoValue ? m.values.None() : fallback);
  value.fields = {{names.own.empty() ? option : PlainOption(names.own), given}};
  return m.values.Add(std::move(value));
}

}  // namespace

std::optional<ValueId> CallCommandLine(ScriptMachine& m, const ApiCall& call) {
  if (auto result = CallParser(m, call)) return result;
  return CallFlags(m, call);
}

std::optional<ValueId> CallOptions(ScriptMachine& m, const ApiCall& call, const ApiRule& rule) {
  if (rule.kind == "record_parser") return RecordParser(m, call);
  if (rule.kind == "run_with_options") return RunWithOptions(m, call);
  if (rule.kind == "option_decorator") return OptionOfDecorator(m, call);
  if (rule.kind == "record_field") return FieldDefault(m, call);
  if (rule.kind != "record_of_options" || Argument(call, 0) == kNoValue) return std::nullopt;
  const ValueId type = Argument(call, 0);
  if (m.values[type].kind == ValueKind::kFunction) return RunWithOptions(m, call);
  if (m.values[type].kind != ValueKind::kClass) return std::nullopt;
  return RecordsOfOptions(m, {type}, call.node)[0];
}

}  // namespace paritect
