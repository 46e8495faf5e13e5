// A launch script (bash): the arguments of the training command and of its launcher, and exported variables.
//   torchrun, python -m torch.distributed.run|launch, deepspeed, accelerate launch, msrun, mpirun, srun, python
// Arguments of the training script keep their name ("lr"), those of the launcher stand under "launch.", exported
// variables under "env.". What the script does not tell (a variable from outside) has no value and a note.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/numbers.h"
#include "formats/settings/builder.h"
#include "formats/settings/settings_format.h"
#include "formats/settings/shell.h"

namespace paritect {
namespace {

using absl::StrCat;

absl::string_view Base(absl::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? path : path.substr(slash + 1);
}

bool IsPython(absl::string_view word) {
  return absl::StartsWith(Base(word), "python");
}

bool IsLauncher(absl::string_view word) {
  word = Base(word);
  for (absl::string_view known : {"torchrun", "deepspeed", "accelerate", "msrun", "mpirun", "mpiexec", "srun",
                                  "horovodrun", "llamafactory-cli", "swift"}) {
    if (word == known) return true;
  }
  return false;
}

bool IsEntry(absl::string_view word) {
  return absl::EndsWith(word, ".py") || absl::EndsWith(word, ".pyc");
}

bool IsOption(const ShellWord& word) {
  return word.text.size() >= 2 && word.text[0] == '-' && !ParseDouble(word.text) && !absl::StrContains(word.text, ' ');
}

int Sniff(absl::string_view head) {
  if (absl::StartsWith(head, "#!") &&
      (absl::StrContains(head.substr(0, 80), "sh\n") || absl::StrContains(head.substr(0, 80), "sh ")))
    return 90;
  int score = 0;
  ForEachLine(head, [&](absl::string_view line, std::int64_t) {
    line = absl::StripAsciiWhitespace(line);
    const absl::string_view first = line.substr(0, line.find(' '));
    if (absl::StartsWith(line, "#")) return;
    if (IsLauncher(first) || (IsPython(first) && absl::StrContains(line, ".py"))) score = 75;
    if (IsPython(first) && absl::StrContains(line, " -m ")) score = 75;
  });
  return score;
}

// How likely a command is the training: one that a distributed launcher starts, then the one with most words.
std::size_t Weight(const ShellCommand& command) {
  const absl::string_view first = command.words[0].text;
  bool module_launcher = false;
  bool entry = false;
  for (const ShellWord& word : command.words) {
    module_launcher = module_launcher || absl::StartsWith(word.text, "torch.distributed.");
    entry = entry || IsEntry(word.text);
  }
  if (!IsLauncher(first) && !IsPython(first)) return 0;
  return (IsLauncher(first) || module_launcher ? 100'000 : 0) + (entry ? 10'000 : 0) + command.words.size();
}

class ArgumentReader {
 public:
  ArgumentReader(absl::string_view label) : builder_("launch-script", "arguments", label) {}

  void Add(const std::string& key, const ShellWord& word, absl::string_view text) {
    v1::Setting* setting = builder_.Add(key, text, word.line);
    if (setting == nullptr || !word.unresolved) return;
    setting->clear_value();
    builder_.AddNote("unresolved_variable", word.line, StrCat(key, ": the script does not tell its value"));
  }

  // Options in words[from, to): "--key value...", "--key=value", a lone "--key" (true), "key=value".
  void Options(absl::Span<const ShellWord> words, absl::string_view prefix) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const ShellWord& word = words[i];
      const std::size_t equals = word.text.find('=');
      if (!IsOption(word)) {
        if (equals != std::string::npos && equals > 0) {
          Add(StrCat(prefix, word.text.substr(0, equals)), word, absl::string_view(word.text).substr(equals + 1));
        }
        continue;
      }
      const std::size_t begin = word.text.find_first_not_of('-');
      if (begin == std::string::npos) continue;  // "--" names nothing
      absl::string_view name = absl::string_view(word.text).substr(begin);
      if (equals != std::string::npos) {
        name = name.substr(0, name.find('='));
        Add(StrCat(prefix, name), word, absl::string_view(word.text).substr(equals + 1));
        continue;
      }
      std::vector<std::string> values;
      ShellWord joined = word;
      while (i + 1 < words.size() && !IsOption(words[i + 1])) {
        ++i;
        values.push_back(words[i].text);
        joined.unresolved = joined.unresolved || words[i].unresolved;
      }
      const std::string text = values.empty()       ? "True"
                               : values.size() == 1 ? values[0]
                                                    : StrCat("[", absl::StrJoin(values, ", "), "]");
      Add(StrCat(prefix, name), joined, text);
    }
  }

  void Command(const ShellCommand& command) {
    const auto& words = command.words;
    std::size_t entry = 0;
    for (std::size_t i = 0; i < words.size() && entry == 0; ++i) {
      const bool module = i > 0 && words[i - 1].text == "-m" && !absl::StartsWith(words[i].text, "torch.distributed.");
      if (i > 0 && (IsEntry(words[i].text) || module)) entry = i;
    }
    builder_.AddText("launch.command", Base(words[0].text), words[0].line);
    const absl::Span<const ShellWord> all(words);
    if (entry == 0) {
      // "llamafactory-cli train x.yaml", "deepspeed --module ...": no entry script to divide them.
      Options(all.subspan(1), "");
      return;
    }
    builder_.AddText("launch.entry", words[entry].text, words[entry].line);
    Options(all.subspan(1, entry - 1), "launch.");
    Options(all.subspan(entry + 1), "");
  }

  SettingsBuilder& builder() { return builder_; }

 private:
  SettingsBuilder builder_;
};

absl::StatusOr<v1::SettingsDocument> Parse(absl::string_view text, absl::string_view label) {
  const ShellScript script = ReadShellScript(text);
  const ShellCommand* training = nullptr;
  int candidates = 0;
  for (const ShellCommand& command : script.commands) {
    if (Weight(command) == 0) continue;
    ++candidates;
    if (training == nullptr || Weight(command) > Weight(*training)) training = &command;
  }
  ArgumentReader reader(label);
  for (const auto& [name, word] : script.exported) reader.Add(StrCat("env.", name), word, word.text);
  if (training != nullptr) {
    for (const auto& [name, word] : training->environment) reader.Add(StrCat("env.", name), word, word.text);
    reader.Command(*training);
  } else {
    reader.builder().AddNote("no_training_command", 0, "no command of a known launcher or Python");
  }
  if (candidates > 1) {
    reader.builder().AddNote("several_commands", training->words[0].line,
                             "the one with a distributed launcher or most arguments was taken");
  }
  return reader.builder().Finish();
}

}  // namespace

extern const SettingsFormat kLaunchScriptSettings;
const SettingsFormat kLaunchScriptSettings = {"launch-script", "script", &Sniff, &Parse};

}  // namespace paritect
