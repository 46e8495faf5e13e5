// A launch script (bash): the arguments of the training command and of its launcher, and exported variables.
//   torchrun, python -m torch.distributed.run|launch, deepspeed, accelerate launch, msrun, mpirun, srun, python; also
//   behind env, nohup, numactl, docker exec, inside `bash -c "..."`, and in a word of a framework's own launch script
//   (rules/data/launch_scripts.yaml)
// Arguments of the training script keep their name ("lr"), those of the launcher stand under "launch." (of a launcher
// that starts another, "launch.srun."), variables that reach the command under "env.". What the script does not
// tell (a variable from outside) has no value and a note; what the environment may replace (${LR:-0.1}) is marked
// as a default. "launch.alone": the script starts this one program once, and nothing around it could start it again.
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/numbers.h"
#include "formats/settings/builder.h"
#include "formats/settings/settings_format.h"
#include "formats/settings/shell/plain_launch.h"
#include "formats/settings/shell/shell.h"
#include "rules/launch_scripts.h"

namespace paritect {
namespace {

using absl::StrCat;
using Words = absl::Span<const ShellWord>;

absl::string_view Base(absl::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? path : path.substr(slash + 1);
}

bool IsOneOf(absl::string_view word, std::initializer_list<absl::string_view> known) {
  return std::find(known.begin(), known.end(), word) != known.end();
}

bool IsPython(absl::string_view word) {
  word = Base(word);
  return absl::ConsumePrefix(&word, "python") &&
         (word.empty() || absl::ascii_isdigit(static_cast<unsigned char>(word[0])));
}

bool IsLauncher(absl::string_view word) {
  return IsOneOf(Base(word), {"torchrun", "deepspeed", "accelerate", "msrun", "mpirun", "mpiexec", "mpiexec.hydra",
                              "orterun", "srun", "horovodrun", "llamafactory-cli", "swift", "xtuner", "colossalai",
                              "axolotl", "composer", "tune", "ascendrun"});
}

// A launcher given as a module: `python -m torch.distributed.run`.
bool IsLauncherModule(absl::string_view word) {
  return absl::StartsWith(word, "torch.distributed.") ||
         IsOneOf(word, {"torch_npu.distributed.run", "accelerate.commands.launch", "deepspeed.launcher.runner",
                        "paddle.distributed.launch", "torch.multiprocessing.spawn"});
}

// A command that starts the command behind it.
bool IsWrapper(absl::string_view word) {
  return IsOneOf(Base(word), {"env",    "sudo",   "nohup",  "exec",    "time",     "numactl",     "taskset",
                              "nice",   "ionice", "stdbuf", "timeout", "setsid",   "unbuffer",    "nsys",
                              "msprof", "ncu",    "conda",  "docker",  "podman",   "singularity", "apptainer",
                              "ssh",    "pdsh",   "chrt",   "script",  "coverage", "xargs",       "srun"});
}

bool IsEntry(absl::string_view word) {
  return absl::EndsWith(word, ".py") || absl::EndsWith(word, ".pyc");
}

bool IsOption(const ShellWord& word) {
  return word.text.size() >= 2 && word.text[0] == '-' && !ParseDouble(word.text) && !absl::StrContains(word.text, ' ');
}

// "model.lr=1", "+trainer.x=1", "~a.b=c": Hydra's form of an argument.
bool IsOverride(const ShellWord& word) {
  const std::size_t equals = word.text.find('=');
  if (equals == std::string::npos || equals == 0) return false;
  absl::string_view key = absl::string_view(word.text).substr(0, equals);
  key = key.substr(std::min(key.find_first_not_of("+~"), key.size()));
  if (key.empty() || !(absl::ascii_isalpha(static_cast<unsigned char>(key[0])) || key[0] == '_')) return false;
  return std::all_of(key.begin(), key.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("_.-/@:", c);
  });
}

// The place of the first launcher or Python behind wrappers only; npos where the command is another.
std::size_t StartOf(Words words) {
  if (words.empty()) return std::string::npos;
  const bool wrapped = IsWrapper(words[0].text);
  for (std::size_t i = 0; i < (wrapped ? words.size() : 1); ++i) {
    if (IsLauncher(words[i].text) || IsPython(words[i].text)) return i;
  }
  return std::string::npos;
}

// "N" of srun is nodes and "n" tasks: keys are compared without case.
absl::string_view LongName(absl::string_view launcher, absl::string_view name) {
  const bool mpi = absl::StartsWith(launcher, "mpi") || launcher == "orterun" || launcher == "horovodrun";
  if (launcher == "srun" && name == "N") return "nodes";
  if (launcher == "srun" && name == "n") return "ntasks";
  if (mpi && (name == "n" || name == "c")) return "np";
  return name;
}

// Where the command of a line begins, past assignments and wrappers; for recognising only.
bool LineLaunches(absl::string_view line) {
  const std::vector<absl::string_view> words = absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (IsLauncher(words[i])) return i + 1 < words.size();
    if (IsPython(words[i])) return absl::StrContains(line, ".py") || absl::StrContains(line, " -m ");
    const std::size_t equals = words[i].find('=');
    const bool assignment = equals != absl::string_view::npos && IsIdentifier(words[i].substr(0, equals));
    if (FindLaunchScript(Base(words[i])) != nullptr) return true;
    if (IsOneOf(words[i], {"bash", "sh"}) && i + 1 < words.size() && FindLaunchScript(Base(words[i + 1])) != nullptr) {
      return true;
    }
    if (IsOneOf(words[i], {"bash", "sh"}) && absl::StrContains(line, " -c ")) {
      return absl::StrContains(line, ".py") || absl::StrContains(line, "torchrun");
    }
    if (!assignment && !IsWrapper(words[i]) && !(i > 0 && IsWrapper(words[0]))) return false;
  }
  return false;
}

int Sniff(absl::string_view head) {
  const absl::string_view first =
      absl::StripAsciiWhitespace(head.substr(0, std::min(head.find('\n'), std::size_t{120})));
  if (absl::StartsWith(first, "#!") && (absl::EndsWith(first, "sh") || absl::StrContains(first, "sh "))) return 90;
  int score = 0;
  ForEachLine(head, [&](absl::string_view line, std::int64_t) {
    line = absl::StripAsciiWhitespace(line);
    if (score == 0 && !absl::StartsWith(line, "#") && LineLaunches(line)) score = 75;
  });
  return score;
}

// `bash scripts/msrun_launcher.sh "run_mindformer.py --config x" 8` as `msrun --worker_num=8 ... run_mindformer.py
// ...`.
ShellCommand WithoutLaunchScript(const ShellCommand& command) {
  const std::vector<ShellWord>& words = command.words;
  std::size_t at = 0;
  while (at < words.size() && FindLaunchScript(Base(words[at].text)) == nullptr) ++at;
  if (at + 1 >= words.size()) return command;
  const LaunchScript& script = *FindLaunchScript(Base(words[at].text));
  const ShellScript inner = ReadShellScript(words[at + 1].text);
  if (inner.commands.empty()) return command;
  ShellCommand out = {{}, command.environment};
  const auto add = [&](const ShellWord& from, std::string text) {
    out.words.push_back({std::move(text), from.line, from.unresolved, from.fallback});
  };
  for (std::size_t i = 0; i < at && !IsOneOf(words[i].text, {"bash", "sh"}); ++i) out.words.push_back(words[i]);
  add(words[at], script.launcher);
  const Words given = Words(words).subspan(at + 2);
  for (const LaunchForm& form : script.forms) {
    if (form.given.size() != given.size()) continue;
    std::map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < given.size(); ++i) {
      places[form.given[i]] = i;
      add(given[i], StrCat("--", form.given[i], "=", given[i].text));
    }
    for (const auto& [name, value] : form.added) {
      const auto same = places.find(value.substr(std::min<std::size_t>(1, value.size())));
      const bool as_given = absl::StartsWith(value, "$") && same != places.end();
      const ShellWord& from = as_given ? given[same->second] : words[at];
      add(from, StrCat("--", name, "=", as_given ? from.text : value));
    }
  }
  for (const ShellWord& word : inner.commands[0].words) {
    out.words.push_back({word.text, words[at + 1].line, word.unresolved || words[at + 1].unresolved, word.fallback});
  }
  return out;
}

// How likely a command is the training: one that a distributed launcher starts, then one whose entry is named for it,
// then the one with most words. 0: no command of a known launcher or Python.
std::size_t Weight(const ShellCommand& command) {
  const std::size_t start = StartOf(command.words);
  if (start == std::string::npos) return 0;
  bool launcher = IsLauncher(command.words[start].text);
  std::size_t entry = 0;
  for (std::size_t i = start; i < command.words.size(); ++i) {
    const std::string& word = command.words[i].text;
    if (i > 0 && command.words[i - 1].text == "-m" && IsOneOf(word, {"pip", "venv", "json.tool", "http.server"}))
      return 0;
    launcher = launcher || IsLauncherModule(word) || IsLauncher(word);
    if (entry != 0 || !IsEntry(word)) continue;
    const absl::string_view name = Base(word);
    const bool trains =
        absl::StrContains(name, "train") || absl::StrContains(name, "finetune") || absl::StrContains(name, "run");
    entry = trains ? 15'000 : 10'000;
  }
  return (launcher ? 100'000 : 0) + entry + command.words.size();
}

class ArgumentReader {
 public:
  explicit ArgumentReader(absl::string_view label) : builder_("launch-script", "arguments", label) {}

  void Add(const std::string& key, const ShellWord& word, absl::string_view text) {
    auto [it, fresh] = places_.try_emplace(key, arguments_.size());
    if (!fresh) {
      Argument& before = arguments_[it->second];
      if (before.text != text && !absl::StartsWith(key, "env."))
        Note("repeated_option", word.line, StrCat(key, ": given again; the last value counts"));
      before = {key, word, std::string(text)};
      return;
    }
    arguments_.push_back({key, word, std::string(text)});
  }

  void Note(absl::string_view kind, std::int64_t line, absl::string_view message) {
    builder_.AddNote(kind, line, message);
  }

  // Options of `words`: "--key value...", "--key=value", a lone "--key" (true), "key=value". `launcher`: whose short
  // options they are.
  void Options(Words words, const std::string& prefix, std::size_t values_max, absl::string_view launcher = "") {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const ShellWord& word = words[i];
      const std::size_t equals = word.text.find('=');
      if (!IsOption(word)) {
        if (IsOverride(word)) {
          // "-x NAME=VALUE" of a launcher is a variable (Environment).
          if (!prefix.empty() && IsIdentifier(absl::string_view(word.text).substr(0, equals))) continue;
          Add(StrCat(prefix, word.text.substr(0, equals)), word, absl::string_view(word.text).substr(equals + 1));
        } else if (word.unresolved) {
          Note("unresolved_arguments", word.line,
               StrCat(word.text, ": the script does not tell which arguments these are"));
        }
        continue;
      }
      const std::size_t begin = word.text.find_first_not_of('-');
      if (begin == std::string::npos) continue;  // "--" names nothing
      absl::string_view name = LongName(launcher, absl::string_view(word.text).substr(begin));
      if (equals != std::string::npos) {
        name = name.substr(0, name.find('='));
        Add(StrCat(prefix, name), word, absl::string_view(word.text).substr(equals + 1));
        continue;
      }
      std::vector<std::string> values;
      ShellWord joined = word;
      while (i + 1 < words.size() && values.size() < values_max && !IsOption(words[i + 1]) &&
             !IsOverride(words[i + 1])) {
        ++i;
        values.push_back(words[i].text);
        joined.unresolved = joined.unresolved || words[i].unresolved;
        joined.fallback = joined.fallback || words[i].fallback;
      }
      const std::string text = values.empty()       ? "True"
                               : values.size() == 1 ? values[0]
                                                    : StrCat("[", absl::StrJoin(values, ", "), "]");
      Add(StrCat(prefix, name), joined, text);
    }
  }

  // Variables that the words of a launcher or wrapper set: `env A=1`, `-x A=1`, `--export=ALL,A=1`, `-genv A 1`.
  void Environment(Words words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      absl::string_view text = words[i].text;
      if (IsOneOf(text, {"-genv", "-env"}) && i + 2 < words.size()) {
        Variable(words[i], StrCat(words[i + 1].text, "=", words[i + 2].text));
      }
      if (absl::StartsWith(text, "--")) {
        if (!absl::ConsumePrefix(&text, "--export=") && !absl::ConsumePrefix(&text, "--env=")) continue;
      }
      for (absl::string_view part : absl::StrSplit(text, ',')) Variable(words[i], part);
    }
  }

  void Command(const ShellCommand& command) {
    const Words words(command.words);
    const std::size_t start = StartOf(words);
    std::size_t entry = 0;
    std::size_t launcher = start;  // the innermost
    for (std::size_t i = start; i < words.size() && entry == 0; ++i) {
      const bool module = i > 0 && IsOneOf(words[i - 1].text, {"-m", "--module"}) && !IsLauncherModule(words[i].text);
      if (i > start && (IsEntry(words[i].text) || module)) entry = i;
      if (entry == 0 && IsLauncher(words[i].text)) launcher = i;
    }
    builder_.AddText("launch.command", Base(words[launcher].text), words[launcher].line);
    Environment(words.subspan(0, launcher));
    if (entry == 0) {
      // "llamafactory-cli train x.yaml": no entry script to divide them.
      Outer(words.subspan(start, launcher - start));
      Options(words.subspan(launcher + 1), "", words.size());
      return;
    }
    builder_.AddText("launch.entry", words[entry].text, words[entry].line);
    Outer(words.subspan(start, launcher - start));
    const bool module = IsOneOf(words[entry - 1].text, {"-m", "--module"});
    const Words inner = words.subspan(launcher + 1, entry - launcher - (module ? 2 : 1));
    Environment(inner);
    Options(inner, "launch.", 1, Base(words[launcher].text));
    launcher_ = std::string(Base(words[launcher].text));
    Options(words.subspan(entry + 1), "", words.size());
    OneNode(words.subspan(launcher, entry - launcher));
  }

  void Alone(const PlainLaunch& launch) { builder_.AddText("launch.alone", launch.command, launch.line); }

  // What the job manager reads of the script ("#SBATCH --ntasks-per-node=8"). Where srun starts the ranks themselves,
  // the numbers that it does not state again are theirs.
  void JobOptions(absl::string_view script) {
    ForEachLine(script, [&](absl::string_view line, std::int64_t number) {
      if (!absl::ConsumePrefix(&line, "#SBATCH ")) return;
      std::vector<ShellWord> words;
      line = line.substr(0, line.find(" #"));
      for (absl::string_view word : absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty())) {
        words.push_back({std::string(word), number, false, false});
      }
      Options(words, "launch.sbatch.", 1, "srun");
    });
  }
  void JobOptionsOfSrun() {
    if (launcher_ != "srun") return;
    for (absl::string_view name : {"ntasks-per-node", "ntasks"}) {
      const auto stated = places_.find(StrCat("launch.sbatch.", name));
      if (stated == places_.end() || places_.contains(StrCat("launch.", name))) continue;
      const Argument argument = arguments_[stated->second];
      Add(StrCat("launch.", name), argument.word, argument.text);
    }
  }

  v1::SettingsDocument Finish() {
    for (const Argument& one : arguments_) {
      v1::Setting* setting = builder_.Add(one.key, one.text, one.word.line);
      if (setting == nullptr) continue;
      setting->set_is_default(one.word.fallback && !one.word.unresolved);
      if (!one.word.unresolved) continue;
      setting->clear_value();
      Note("unresolved_variable", one.word.line, StrCat(one.key, ": the script does not tell its value"));
    }
    return builder_.Finish();
  }

 private:
  struct Argument {
    std::string key;
    ShellWord word;
    std::string text;
  };

  // torchrun without --nnodes runs on one node (torch/distributed/run.py, nnodes "1:1"); its variable PET_NNODES may
  // say otherwise, unless it is --standalone.
  void OneNode(Words launch) {
    const bool torchrun =
        IsOneOf(Base(launch[0].text), {"torchrun"}) ||
        std::any_of(launch.begin(), launch.end(), [](const ShellWord& word) {
          return IsOneOf(word.text, {"torch.distributed.run", "torch.distributed.launch", "torch_npu.distributed.run"});
        });
    if (!torchrun || places_.contains("launch.nnodes") || places_.contains("launch.nnode")) return;
    ShellWord word = launch[0];
    word.unresolved = false;
    word.fallback = !places_.contains("launch.standalone");
    const bool unclear = std::any_of(launch.begin(), launch.end(), [](const ShellWord& w) { return w.unresolved; });
    if (word.fallback && unclear) return;
    Add("launch.nnodes", word, "1");
  }

  void Variable(const ShellWord& word, absl::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == absl::string_view::npos || !IsIdentifier(text.substr(0, equals))) return;
    Add(StrCat("env.", text.substr(0, equals)), word, text.substr(equals + 1));
  }

  // A launcher that starts another one: its options are not those of the ranks.
  void Outer(Words words) {
    for (std::size_t i = 0; i < words.size();) {
      std::size_t end = i + 1;
      while (end < words.size() && !IsLauncher(words[end].text)) ++end;
      Options(words.subspan(i + 1, end - i - 1), StrCat("launch.", Base(words[i].text), "."), 1, Base(words[i].text));
      i = end;
    }
  }

  SettingsBuilder builder_;
  std::string launcher_;  // the innermost
  std::vector<Argument> arguments_;
  std::map<std::string, std::size_t> places_;
};

absl::StatusOr<v1::SettingsDocument> Parse(absl::string_view text, absl::string_view label) {
  ShellScript script = ReadShellScript(text);
  for (ShellCommand& command : script.commands) command = WithoutLaunchScript(command);
  const ShellCommand* training = nullptr;
  int candidates = 0;
  for (const ShellCommand& command : script.commands) {
    if (Weight(command) == 0) continue;
    ++candidates;
    if (training == nullptr || Weight(command) > Weight(*training)) training = &command;
  }
  ArgumentReader reader(label);
  for (const auto& [name, word] : script.exported) reader.Add(StrCat("env.", name), word, word.text);
  for (const ShellWord& file : script.sourced) {
    reader.Note("sourced_script", file.line,
                StrCat(file.text, ": what it sets is not read here; name it under settings too"));
  }
  reader.JobOptions(text);
  if (training != nullptr) {
    for (const auto& [name, word] : training->environment) reader.Add(StrCat("env.", name), word, word.text);
    reader.Command(*training);
    if (const auto alone = FindPlainLaunch(text)) reader.Alone(*alone);
    reader.JobOptionsOfSrun();
  } else {
    reader.Note("no_training_command", 0, "no command of a known launcher or Python");
  }
  if (candidates > 1) {
    reader.Note("several_commands", training->words[0].line,
                "the one with a distributed launcher or most arguments was taken");
  }
  return reader.Finish();
}

}  // namespace

extern const SettingsFormat kLaunchScriptSettings;
const SettingsFormat kLaunchScriptSettings = {"launch-script", "script", &Sniff, &Parse};

}  // namespace paritect
