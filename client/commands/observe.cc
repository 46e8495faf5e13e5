// paritect observe env [DIR]: the variables by which a launcher that the user starts by hand is observed.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/report/audit_options.h"
#include "client/run/recorders.h"
#include "client/run/run_folder.h"
#include "client/verbs.h"
#include "common/arguments.h"
#include "common/rooted_file_system.h"
#include "common/utf8.h"
#include "report/terminal.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "paritect observe";
constexpr absl::string_view kSummary = "print the variables that observe a training which another launcher starts";

struct ObserveOptions {
  std::string verb;
  std::string folder = "paritect-observe";
  std::string level = std::string(kObserveFull);
  std::string form = "shell";
};

std::string ShellLine(const ObserverVariable& variable) {
  using Place = ObserverVariable::Place;
  const std::string quoted = absl::StrCat("'", absl::StrReplaceAll(variable.value, {{"'", "'\\''"}}), "'");
  const std::string& name = variable.name;
  if (variable.place == Place::kAlone) return absl::StrCat("export ", name, "=", quoted, "\n");
  if (variable.place == Place::kFirst)
    return absl::StrCat("export ", name, "=", quoted, "\"${", name, ":+:$", name, "}\"\n");
  return absl::StrCat("export ", name, "=\"${", name, ":+$", name, ":}\"", quoted, "\n");
}

std::string Text(const ObserveOptions& o, const std::vector<ObserverVariable>& variables) {
  std::string text;
  for (const ObserverVariable& variable : variables) {
    if (o.form == "mpirun") {
      absl::StrAppend(&text, text.empty() ? "" : " ", "-x ", variable.name);
    } else {
      absl::StrAppend(&text,
                      o.form == "env" ? absl::StrCat(variable.name, "=", variable.value, "\n") : ShellLine(variable));
    }
  }
  return o.form == "mpirun" ? text + "\n" : text;
}

ExitCode PrintVariables(CommandEnv& env, const ObserveOptions& o) {
  const auto fail = [&env](absl::string_view what) { return UsageError(env, kName, what); };
  Recorders recorders = FindRecorders(env);
  recorders.level = o.level;
  if (recorders.observer.empty()) return fail("the observer is not beside this program");
  const std::string folder = NormalPath(JoinPath(env.working_directory, o.folder));
  if (absl::Status made = MakeFolders(folder); !made.ok()) return fail(made.message());
  env.out << Text(o, ObserverVariables(recorders, folder));
  env.err << "paritect observe: `observed: [" << DisplayBytes(folder) << "]` in a plan names what is recorded there\n";
  return kExitOk;
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  ObserveOptions o;
  Arguments arguments(kName, kSummary);
  arguments.Text("verb", o.verb, "env: print them");
  arguments.Text("folder", o.folder, "where records go; made here (default: paritect-observe)");
  arguments.Text("--observe", o.level, "full (default) or light: no fingerprints of weights and data");
  arguments.Text("--format", o.form, "shell (default): for eval; env: NAME=VALUE; mpirun: options that hand them on");
  if (auto code = ParseOrAnswer(env, kName, arguments, args)) return *code;
  if (o.verb != "env") return UsageError(env, kName, "what? paritect observe env [DIR]");
  if (!IsObserveLevel(o.level)) return UsageError(env, kName, "--observe must be full or light");
  if (o.form != "shell" && o.form != "env" && o.form != "mpirun") {
    return UsageError(env, kName, "--format must be shell, env or mpirun");
  }
  return PrintVariables(env, o);
}

}  // namespace

extern const Command kObserveCommand;
const Command kObserveCommand = {"observe", kSummary, &Run};

}  // namespace paritect
