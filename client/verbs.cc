#include "client/verbs.h"

#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/localise.h"
#include "client/report/audit_options.h"
#include "common/nearest.h"
#include "common/utf8.h"
#include "report/terminal.h"

namespace paritect {
namespace {

void PrintVerbs(Language language, absl::string_view command, absl::string_view summary, absl::Span<const Verb> verbs,
                std::ostream& out) {
  const auto say = [language](absl::string_view text) { return Localised(language, text); };
  out << say(summary) << "\n" << say(absl::StrCat("usage: ", command, " VERB [options]")) << "\n\n";
  out << say("verbs:") << "\n";
  for (const Verb& verb : verbs) out << "  " << Pad(verb.name, 10) << " " << say(verb.summary) << "\n";
  out << "\n" << say(absl::StrCat("`", command, " VERB --help` tells a verb's options.")) << "\n";
}

void ListOptions(CommandEnv& env, absl::Span<const Verb> verbs) {
  for (const Verb& verb : verbs) {
    env.out << verb.name << "\t" << verb.summary << "\n";
    std::ostringstream out;
    std::ostringstream err;
    CommandEnv quiet = {.fs = env.fs, .out = out, .err = err, .rules = env.rules, .getenv = env.getenv};
    verb.run(quiet, {std::string(kListOptions)});
    for (absl::string_view line : absl::StrSplit(out.str(), '\n', absl::SkipEmpty())) {
      if (absl::StartsWith(line, "-")) env.out << verb.name << " " << line << "\n";
    }
  }
}

}  // namespace

ExitCode RunVerb(CommandEnv& env, absl::string_view command, absl::string_view summary, absl::Span<const Verb> verbs,
                 const std::vector<std::string>& args) {
  if (args.empty()) {
    PrintVerbs(env.language, command, summary, verbs, env.err);
    return kExitUsage;
  }
  if (args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    PrintVerbs(env.language, command, summary, verbs, env.out);
    return kExitOk;
  }
  if (args[0] == kListOptions) {
    ListOptions(env, verbs);
    return kExitOk;
  }
  std::vector<std::string> names;
  for (const Verb& verb : verbs) {
    if (verb.name == args[0]) return verb.run(env, std::vector<std::string>(args.begin() + 1, args.end()));
    names.emplace_back(verb.name);
  }
  return UsageError(env, command,
                    absl::StrCat("no verb '", DisplayBytes(args[0]), "'", DidYouMean(args[0], names), " (there are ",
                                 absl::StrJoin(names, ", "), ")"));
}

std::optional<ExitCode> ParseOrAnswer(CommandEnv& env, absl::string_view command, Arguments& arguments,
                                      const std::vector<std::string>& args) {
  auto parsed = arguments.Parse(args);
  if (!parsed.ok()) return UsageError(env, command, parsed.status().message());
  if (*parsed) return std::nullopt;
  env.out << LocalisedHelp(env.language, arguments.help());
  return kExitOk;
}

void SayLine(CommandEnv& env, absl::string_view english) {
  env.out << Localised(env.language, english) << "\n";
}

std::optional<ExitCode> RefuseListFormat(CommandEnv& env, absl::string_view command, const std::string& output,
                                         const std::string& plain) {
  if (output == plain || output == "json") return std::nullopt;
  return UsageError(env, command,
                    absl::StrCat("-o ", output, ": not supported by this version; there are ", plain, ", json",
                                 DidYouMean(output, {plain, "json"})));
}

}  // namespace paritect
