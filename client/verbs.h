// Commands with verbs ("paritect audit run"): one table a command, the same help, hints and completion for all.
#ifndef PARITECT_CLIENT_VERBS_H_
#define PARITECT_CLIENT_VERBS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/command.h"
#include "common/arguments.h"

namespace paritect {

struct Verb {
  absl::string_view name;
  absl::string_view summary;
  ExitCode (*run)(CommandEnv& env, const std::vector<std::string>& args);  // without the verb
};

// Finds the verb (or names the nearest) and runs it. Called with kListOptions it lists, for `completion`, each verb as
// "VERB<tab>summary" and each option as "VERB --option<tab>help".
ExitCode RunVerb(CommandEnv& env, absl::string_view command, absl::string_view summary, absl::Span<const Verb> verbs,
                 const std::vector<std::string>& args);

// Parses; prints help or the user's mistake. A code: the command is over. nullopt: go on.
std::optional<ExitCode> ParseOrAnswer(CommandEnv& env, absl::string_view command, Arguments& arguments,
                                      const std::vector<std::string>& args);

// One sentence that is a command's whole answer, in the user's language.
void SayLine(CommandEnv& env, absl::string_view english);

// For answers that have two forms: json and one for people, "table" of listings, "text" of explanations. nullopt: one
// of them.
std::optional<ExitCode> RefuseListFormat(CommandEnv& env, absl::string_view command, const std::string& output,
                                         const std::string& plain = "table");

}  // namespace paritect

#endif  // PARITECT_CLIENT_VERBS_H_
