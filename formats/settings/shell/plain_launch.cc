#include "formats/settings/shell/plain_launch.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "formats/settings/builder.h"
#include "rules/launchers.h"
#include "rules/one_process.h"

namespace paritect {
namespace {

constexpr std::size_t kBytesMax = 256 << 10;

struct Word {
  std::string text;
  std::int64_t line = 0;
  bool plain = true;  // nothing in it is expanded
};

struct Command {
  std::vector<Word> words;
  std::vector<std::string> files;  // of its redirections
  bool piped = false;              // takes what the command before it prints
};

// The commands of a script in order; `ok` false where something stands in it that is not a plain command.
class Lexer {
 public:
  explicit Lexer(absl::string_view text) : text_(text) {}

  bool Run(std::vector<Command>& commands) {
    commands_ = &commands;
    commands.emplace_back();
    while (at_ < text_.size() && ok_) One();
    EndWord();
    return ok_ && !redirecting_;
  }

 private:
  char Next() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\0'; }

  void One() {
    const char c = text_[at_];
    if (c == '\\') {
      Escape();
    } else if (c == '\'') {
      const std::size_t end = text_.find('\'', at_ + 1);
      if (end == absl::string_view::npos) return Refuse();
      Append(text_.substr(at_ + 1, end - at_ - 1));
      at_ = end + 1;
    } else if (c == '"') {
      Quoted();
    } else if (c == '#' && !in_word_) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '\n' || c == ';') {
      if (Next() == ';' && c == ';') return Refuse();
      EndCommand(false);
      line_ += c == '\n' ? 1 : 0;
      ++at_;
    } else if (c == ' ' || c == '\t') {
      EndWord();
      ++at_;
    } else {
      Operator(c);
    }
  }

  void Operator(char c) {
    if (c == '|') {
      if (Next() == '|') return Refuse();
      EndCommand(true);
      at_ += Next() == '&' ? 2 : 1;
    } else if (c == '&') {
      And();
    } else if (c == '>' || c == '<') {
      Redirection(c);
    } else if (c == '`' || c == '(' || c == ')') {
      Refuse();
    } else if (c == '$') {
      Dollar();
    } else {
      Append(absl::string_view(&text_[at_], 1));
      ++at_;
    }
  }

  void And() {
    if (Next() == '>') {  // &>file
      EndWord();
      redirecting_ = true;
      at_ += absl::StartsWith(text_.substr(at_), "&>>") ? 3 : 2;
      return;
    }
    EndCommand(false);
    at_ += Next() == '&' ? 2 : 1;
  }

  // 2>&1, > file, >> file; a number before it belongs to it.
  void Redirection(char c) {
    if (c == '<' || Next() == '(') return Refuse();
    if (in_word_ && !word_.text.empty() && std::all_of(word_.text.begin(), word_.text.end(), [](char d) {
          return absl::ascii_isdigit(static_cast<unsigned char>(d));
        })) {
      word_ = {};
      in_word_ = false;
    }
    EndWord();
    ++at_;
    if (at_ < text_.size() && text_[at_] == '>') ++at_;
    if (at_ < text_.size() && text_[at_] == '&') {
      ++at_;
      if (at_ >= text_.size() || !absl::ascii_isdigit(static_cast<unsigned char>(text_[at_]))) return Refuse();
      ++at_;
      return;
    }
    redirecting_ = true;
  }

  void Dollar() {
    if (Next() == '(' || Next() == '\'' || Next() == '"') return Refuse();
    Append("$");
    word_.plain = false;
    ++at_;
    if (at_ < text_.size() && text_[at_] == '{') {
      const std::size_t end = text_.find('}', at_);
      const absl::string_view inside = text_.substr(at_, end - at_);
      if (end == absl::string_view::npos || inside.find_first_of("`(\n") != absl::string_view::npos) return Refuse();
      Append(inside);
      at_ = end;
    }
  }

  void Escape() {
    if (Next() == '\n') {
      ++line_;
    } else if (at_ + 1 < text_.size()) {
      Append(text_.substr(at_ + 1, 1));
    }
    at_ += 2;
  }

  void Quoted() {
    Append("");
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      const char c = text_[at_];
      if (c == '`' || (c == '$' && Next() == '(')) return Refuse();
      if (c == '$') word_.plain = false;
      if (c == '\n') ++line_;
      if (c == '\\' && at_ + 1 < text_.size()) ++at_;
      Append(text_.substr(at_, 1));
    }
    if (at_ >= text_.size()) return Refuse();
    ++at_;
  }

  void Append(absl::string_view text) {
    if (!in_word_) word_ = {"", line_, true};
    in_word_ = true;
    absl::StrAppend(&word_.text, text);
  }

  void EndWord() {
    if (!in_word_) return;
    in_word_ = false;
    if (redirecting_) {
      commands_->back().files.push_back(word_.text);
      redirecting_ = false;
    } else {
      commands_->back().words.push_back(word_);
    }
  }

  void EndCommand(bool piped) {
    EndWord();
    if (redirecting_) return Refuse();
    if (!commands_->back().words.empty() || piped) commands_->emplace_back();
    commands_->back().piped = commands_->back().piped || piped;
  }

  void Refuse() { ok_ = false; }

  absl::string_view text_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
  std::vector<Command>* commands_ = nullptr;
  Word word_;
  bool in_word_ = false;
  bool redirecting_ = false;
  bool ok_ = true;
};

bool IsPython(absl::string_view word) {
  // A program of that name in the job's own folder may be anything.
  const std::size_t slash = word.rfind('/');
  if (slash != absl::string_view::npos) {
    if (!absl::StartsWith(word, "/") || !absl::EndsWith(word.substr(0, slash), "/bin")) return false;
    word = word.substr(slash + 1);
  }
  return absl::ConsumePrefix(&word, "python") && word.find_first_not_of("0123456789.") == absl::string_view::npos;
}

// "NAME=VALUE"; `bad`: of a variable that tells a process its place or changes which code runs.
bool IsAssignment(const Word& word, bool& bad) {
  const std::size_t equals = word.text.find('=');
  if (equals == std::string::npos) return false;
  const absl::string_view name = absl::string_view(word.text).substr(0, equals);
  if (!IsIdentifier(name)) return false;
  // Another search path may find another "python".
  bad = bad || name == "PATH" || BuiltInLaunchers().Tells(name) || BuiltInOneProcessRules().variables.contains(name);
  return true;
}

bool IsOneOf(absl::string_view word, std::initializer_list<absl::string_view> known) {
  return std::find(known.begin(), known.end(), word) != known.end();
}

// Options of Python that change nothing of what is run.
bool IsHarmlessOption(absl::string_view word) {
  return IsOneOf(word, {"-u", "-B"});
}

bool WritesCode(absl::string_view file) {
  return absl::EndsWith(file, ".py") || absl::StrContains(file, '$');
}

// The shell scripts of CANN that set variables (docs of CANN, "set_env.sh"), and nothing else.
bool SetsVariablesOfCann(const Command& command) {
  return command.words.size() == 2 && IsOneOf(command.words[0].text, {"source", "."}) && command.words[1].plain &&
         absl::StartsWith(command.words[1].text, "/usr/local/Ascend/") &&
         absl::EndsWith(command.words[1].text, "set_env.sh") && !absl::StrContains(command.words[1].text, "..");
}

// A command that neither starts nor changes anything of the training.
bool IsHarmless(const Command& command) {
  const std::string& first = command.words[0].text;
  if (!command.words[0].plain || !command.files.empty() || command.piped) return false;
  if (SetsVariablesOfCann(command)) return true;
  if (first == "export" || first == "set") {
    bool bad = false;
    return std::all_of(command.words.begin() + 1, command.words.end(), [&](const Word& word) {
      const bool option = first == "set" && (absl::StartsWith(word.text, "-") || word.text == "pipefail");
      return option || (first == "export" && (IsAssignment(word, bad) || IsIdentifier(word.text)) && !bad);
    });
  }
  return IsOneOf(first, {"echo", "mkdir", "date", "ulimit", "sleep", "true", "wait", "pwd", "hostname"});
}

// `python FILE` behind assignments; nullopt where the command is another.
std::optional<PlainLaunch> LaunchOf(const Command& command) {
  std::size_t at = 0;
  bool bad = false;
  const std::vector<Word>& words = command.words;
  while (at < words.size() &&
         (IsAssignment(words[at], bad) || IsOneOf(words[at].text, {"nohup", "time", "exec", "env"})))
    ++at;
  if (bad || at >= words.size() || !words[at].plain || !IsPython(words[at].text)) return std::nullopt;
  PlainLaunch launch = {words[at].text, words[at].line};
  for (++at; at < words.size() && IsHarmlessOption(words[at].text); ++at)
    absl::StrAppend(&launch.command, " ", words[at].text);
  if (at >= words.size()) return std::nullopt;
  const Word& script = words[at];
  if (!script.plain || !absl::EndsWith(script.text, ".py") || absl::StartsWith(script.text, "/") ||
      absl::StartsWith(script.text, "-") || absl::StrContains(script.text, "..")) {
    return std::nullopt;
  }
  absl::StrAppend(&launch.command, " ", script.text);
  if (command.piped || std::any_of(command.files.begin(), command.files.end(), WritesCode)) return std::nullopt;
  return launch;
}

bool IsTee(const Command& command) {
  return command.piped && command.words[0].text == "tee" && command.files.empty() &&
         std::none_of(command.words.begin() + 1, command.words.end(), [](const Word& w) { return WritesCode(w.text); });
}

// Lines that a job manager reads: it may start the script many times.
bool IsOfJob(absl::string_view line) {
  for (absl::string_view mark : {"#SBATCH", "#PBS", "#BSUB", "#DSUB", "#COBALT", "#$", "#PJM", "#MSUB", "#OAR"}) {
    if (absl::StartsWith(line, mark)) return true;
  }
  return absl::StartsWith(line, "#!") && !absl::EndsWith(absl::StripTrailingAsciiWhitespace(line), "sh");
}

}  // namespace

std::optional<PlainLaunch> FindPlainLaunch(absl::string_view script) {
  if (script.size() > kBytesMax || absl::StrContains(script, '\0')) return std::nullopt;
  std::string text;
  for (absl::string_view line : absl::StrSplit(script, '\n')) {
    if (IsOfJob(line)) return std::nullopt;
    absl::StrAppend(&text, absl::StripSuffix(line, "\r"), "\n");
  }
  // The one substitution that is an idiom: into the folder of the script.
  for (absl::string_view here :
       {"cd \"$(dirname \"$0\")\"", "cd $(dirname $0)", "cd \"$(dirname \"${BASH_SOURCE[0]}\")\""}) {
    const std::size_t at = text.find(std::string(here));
    if (at != std::string::npos && (at == 0 || text[at - 1] == '\n')) text.replace(at, here.size(), "true");
  }
  std::vector<Command> commands;
  if (!Lexer(text).Run(commands)) return std::nullopt;
  std::optional<PlainLaunch> found;
  for (const Command& command : commands) {
    if (command.words.empty()) {
      if (command.piped || !command.files.empty()) return std::nullopt;
      continue;
    }
    bool bad = false;
    const bool assigns = std::all_of(command.words.begin(), command.words.end(),
                                     [&](const Word& word) { return IsAssignment(word, bad); });
    if (bad) return std::nullopt;
    if ((assigns && command.files.empty() && !command.piped) || IsHarmless(command) ||
        (found.has_value() && IsTee(command))) {
      continue;
    }
    const auto launch = LaunchOf(command);
    if (!launch || found.has_value()) return std::nullopt;
    found = launch;
  }
  return found;
}

}  // namespace paritect
