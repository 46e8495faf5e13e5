#include "client/global_options.h"

#include <algorithm>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/arguments.h"

namespace paritect {
namespace {

constexpr absl::string_view kGlobal[] = {"--lang", "--color", "--credential", "--context"};

bool IsGlobal(absl::string_view word) {
  return std::find(std::begin(kGlobal), std::end(kGlobal), word.substr(0, word.find('='))) != std::end(kGlobal);
}

bool IsOfScreens(absl::string_view word) {
  const absl::string_view name = word.substr(0, word.find('='));
  return name == "--lang" || name == "--color";
}

// What a command declares, as `completion` asks: lines "--option<tab>help", "verb<tab>help", "verb --option<tab>help".
std::vector<std::string> DeclaredBy(const Command& command, const CommandEnv& env) {
  std::ostringstream out;
  std::ostringstream err;
  CommandEnv quiet = {.fs = env.fs, .out = out, .err = err, .rules = env.rules, .getenv = env.getenv};
  command.run(quiet, {std::string(kListOptions)});
  std::vector<std::string> declared;
  for (absl::string_view line : absl::StrSplit(out.str(), '\n', absl::SkipEmpty())) {
    declared.emplace_back(line.substr(0, line.find('\t')));
  }
  return declared;
}

bool Has(const std::vector<std::string>& declared, const std::string& name) {
  return std::find(declared.begin(), declared.end(), name) != declared.end();
}

// Also of a verb that is not at its place.
bool HasAnywhere(const std::vector<std::string>& declared, const std::string& name) {
  return std::any_of(declared.begin(), declared.end(), [&](const std::string& one) {
    return one == name || absl::EndsWith(one, absl::StrCat(" ", name));
  });
}

}  // namespace

absl::StatusOr<std::vector<std::string>> PlaceGlobalOptions(const CommandEnv& env, std::vector<std::string> args) {
  std::size_t verb = 0;
  std::vector<std::vector<std::string>> options;
  while (verb < args.size() && IsGlobal(args[verb])) {
    const bool joined = args[verb].find('=') != std::string::npos;
    if (!joined && verb + 1 == args.size())
      return absl::InvalidArgumentError(absl::StrCat(args[verb], " needs a value"));
    options.emplace_back(args.begin() + static_cast<std::ptrdiff_t>(verb),
                         args.begin() + static_cast<std::ptrdiff_t>(verb + (joined ? 1 : 2)));
    verb += joined ? 1 : 2;
  }
  args.erase(args.begin(), args.begin() + static_cast<std::ptrdiff_t>(verb));
  if (args.empty() || (options.empty() && std::none_of(args.begin(), args.end(), IsOfScreens))) return args;
  std::vector<std::string> declared;
  for (const Command* command : AllCommands()) {
    if (command->name == args[0]) declared = DeclaredBy(*command, env);
  }
  const bool has_verb = args.size() > 1 && !absl::StartsWith(args[1], "-") && Has(declared, args[1]);
  std::size_t place = has_verb ? 2 : 1;
  for (const std::vector<std::string>& option : options) {
    const std::string name = option[0].substr(0, option[0].find('='));
    if (!Has(declared, has_verb ? absl::StrCat(args[1], " ", name) : name)) continue;
    args.insert(args.begin() + static_cast<std::ptrdiff_t>(place), option.begin(), option.end());
    place += option.size();
  }
  // Of how things are shown, every command may be told behind its verb too.
  for (std::size_t i = 1; i < args.size() && args[i] != "--";) {
    const std::string name = args[i].substr(0, args[i].find('='));
    const bool joined = name.size() < args[i].size();
    const bool used = has_verb ? Has(declared, absl::StrCat(args[1], " ", name)) : HasAnywhere(declared, name);
    const bool unused = IsOfScreens(args[i]) && !used;
    if (!unused || (!joined && i + 1 == args.size())) {
      ++i;
      continue;
    }
    const auto at = args.begin() + static_cast<std::ptrdiff_t>(i);
    args.erase(at, at + (joined ? 1 : 2));
  }
  return args;
}

}  // namespace paritect
