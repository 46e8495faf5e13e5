#include "formats/settings/shell/shell.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/numbers.h"
#include "formats/settings/builder.h"
#include "formats/settings/shell/shell_variables.h"

namespace paritect {
namespace {

constexpr std::size_t kScriptBytesMax = 4 << 20;
constexpr std::size_t kWordsMax = 20'000;
constexpr int kNestedMax = 3;  // bash -c "bash -c ..."

ShellWord WordOf(const ShellText& text) {
  return {text.text, text.line, !text.unknown.empty(), !text.fallback.empty()};
}

bool IsSpace(char c) {
  return absl::ascii_isspace(static_cast<unsigned char>(c));
}

absl::string_view BaseName(absl::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? path : path.substr(slash + 1);
}

// The bracket that closes the "(" of "$(" at `open`, by the shell's rules of quotes: nothing escapes within '...', and
// a quote may follow another without a blank ('a'$X'b'). npos where there is none.
std::size_t ClosingSubstitution(absl::string_view text, std::size_t open) {
  int depth = 0;
  bool in_double = false;
  std::vector<bool> outer;  // whether the text around a nested "$(" stands in double quotes
  for (std::size_t i = open; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\') {
      ++i;
    } else if (c == '\'' && !in_double) {
      i = text.find('\'', i + 1);
      if (i == absl::string_view::npos) return i;
    } else if (c == '"') {
      in_double = !in_double;
    } else if (c == '(' && (!in_double || text[i - 1] == '$')) {
      ++depth;
      outer.push_back(in_double);
      in_double = false;
    } else if (c == ')' && !in_double) {
      if (--depth == 0) return i;
      in_double = outer.back();
      outer.pop_back();
    }
  }
  return absl::string_view::npos;
}

class Reader {
 public:
  Reader(std::string text, std::int64_t first_line, int depth)
      : text_(std::move(text)), line_(first_line), depth_(depth) {}

  void set_variables(const ShellVariables& variables) { variables_ = variables; }

  ShellScript Read() {
    while (at_ < text_.size() && words_total_ < kWordsMax) {
      Statement();
      Execute();
    }
    for (const std::string& name : exported_names_) {
      if (const ShellText* value = variables_.Find(name)) script_.exported[name] = WordOf(*value);
    }
    return std::move(script_);
  }

 private:
  struct Word : ShellText {
    bool quoted = false;
    bool is_array = false;
    std::vector<ShellText> items;
  };

  char Peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void Step() {
    if (Peek() == '\n') ++line_;
    ++at_;
  }

  // Reads words up to the end of the statement.
  void Statement() {
    words_.clear();
    in_branch_ = next_in_branch_;
    next_in_branch_ = false;
    while (at_ < text_.size()) {
      const char c = Peek();
      if (c == '\\' && Peek(1) == '\n') {
        ++at_;
        Step();
      } else if (c == '\n') {
        Step();
        SkipHereDocuments();
        return;
      } else if (c == '>' || c == '<' || (c == '&' && Peek(1) == '>')) {
        Redirection();
      } else if (c == ';' || c == '&' || c == '|') {
        // What follows && or || runs or does not.
        next_in_branch_ = c != ';' && Peek(1) == c;
        Step();
        if (Peek() == c || (c == '|' && Peek() == '&')) Step();
        return;
      } else if (IsSpace(c) || c == '{' || c == '}') {
        Step();
      } else if (c == '#') {
        while (at_ < text_.size() && Peek() != '\n') ++at_;
      } else if (c == '(' || c == ')') {
        Parenthesis(c);
      } else {
        ReadWord();
      }
    }
  }

  void Parenthesis(char c) {
    Step();
    if (c == '(') {
      ++parentheses_;
    } else if (parentheses_ > 0) {
      --parentheses_;
    } else {  // the pattern of a `case`
      if (!words_.empty() && words_[0].text == "case") ++branches_;
      words_.clear();
    }
  }

  // "2>&1", "&> FILE", "< FILE", "<<< TEXT", ">(COMMAND)": no part of the command.
  void Redirection() {
    const bool numbered = at_ > 0 && absl::ascii_isdigit(static_cast<unsigned char>(text_[at_ - 1]));
    if (numbered && !words_.empty() && !words_.back().quoted && ParseInt(words_.back().text)) words_.pop_back();
    if (Peek() == '<' && Peek(1) == '<' && Peek(2) != '<') return HereDocument();
    while (absl::StrContains("<>&|", Peek()) && Peek() != '\0') ++at_;
    if (Peek() == '(') {
      const std::size_t end = ClosingSubstitution(text_, at_);
      while (at_ < text_.size() && at_ <= end) Step();
      return;
    }
    while (Peek() == ' ' || Peek() == '\t') ++at_;
    const std::size_t before = words_.size();
    if (!IsSpace(Peek()) && !absl::StrContains(";|&()<>", Peek())) ReadWord();
    words_.resize(std::min(before, words_.size()));
  }

  void HereDocument() {
    at_ += 2;
    HereMark mark;
    mark.strip_tabs = Peek() == '-';
    if (mark.strip_tabs) ++at_;
    while (absl::StrContains("\\'\" \t", Peek()) && Peek() != '\0') ++at_;
    while (IsShellName(Peek()) || Peek() == '-' || Peek() == '.') mark.text.push_back(text_[at_++]);
    while (Peek() == '\'' || Peek() == '"') ++at_;
    if (!mark.text.empty()) here_marks_.push_back(std::move(mark));
  }

  void SkipHereDocuments() {
    for (const HereMark& mark : here_marks_) {
      while (at_ < text_.size()) {
        const std::size_t end = std::min(text_.find('\n', at_), text_.size());
        absl::string_view line = absl::string_view(text_).substr(at_, end - at_);
        if (mark.strip_tabs) line = line.substr(std::min(line.find_first_not_of('\t'), line.size()));
        at_ = end;
        Step();
        if (absl::StripTrailingAsciiWhitespace(line) == mark.text) break;
      }
    }
    here_marks_.clear();
  }

  void ReadWord() {
    current_ = Word();
    current_.line = line_;
    while (at_ < text_.size() && current_.text.size() < kShellWordBytesMax) {
      const char c = Peek();
      if (IsSpace(c) || absl::StrContains(";&|><)", c)) break;
      if (c == '\'') {
        SingleQuoted();
      } else if (c == '"') {
        DoubleQuoted();
      } else if (c == '$' && (Peek(1) == '\'' || Peek(1) == '"')) {
        ++at_;
      } else if (c == '$') {
        Expand(false);
      } else if (c == '`') {
        Unknown(text_.find('`', at_ + 1));
      } else if (c == '(' && absl::EndsWith(current_.text, "=") && !current_.quoted) {
        Array();
      } else if (c == '\\') {
        ++at_;
        if (Peek() == '\n') {
          Step();
          if (IsSpace(Peek())) break;
          continue;
        }
        Take();
      } else if (c == '(' && words_.empty()) {
        break;  // a function's "name()"
      } else {
        Take();
      }
    }
    // A word that is too long is left where it stands.
    if (current_.text.size() >= kShellWordBytesMax) {
      while (at_ < text_.size() && !IsSpace(Peek())) ++at_;
    }
    Push();
  }

  // The next character belongs to the word.
  void Take() {
    if (at_ >= text_.size()) return;
    const char c = Peek();
    current_.text.push_back(c);
    Step();
    if (c == '\n') current_.lines.emplace_back(current_.text.size(), line_);
  }

  void Push() {
    if (!current_.text.empty() || current_.quoted || current_.is_array) {
      words_.push_back(current_);
      ++words_total_;
    }
    current_ = Word();
    current_.line = line_;
  }

  void SingleQuoted() {
    current_.quoted = true;
    Step();
    while (at_ < text_.size() && Peek() != '\'') Take();
    if (at_ < text_.size()) Step();
  }

  void DoubleQuoted() {
    current_.quoted = true;
    Step();
    while (at_ < text_.size() && Peek() != '"') {
      if (Peek() == '\\' && Peek(1) == '\n') {
        ++at_;
        Step();
        current_.lines.emplace_back(current_.text.size(), line_);
      } else if (Peek() == '\\' && at_ + 1 < text_.size()) {
        if (!absl::StrContains("\"\\$`", Peek(1))) current_.text.push_back('\\');
        ++at_;
        Take();
      } else if (Peek() == '$') {
        Expand(true);
      } else if (Peek() == '`') {
        Unknown(text_.find('`', at_ + 1));
      } else {
        Take();
      }
    }
    if (at_ < text_.size()) Step();
  }

  // A command in back quotes or $( ) that ends at `end`: not run, so not known.
  void Unknown(std::size_t end) {
    const std::size_t stop = end == std::string::npos ? text_.size() : end + 1;
    const std::size_t begin = current_.text.size();
    current_.text.append(text_, at_, std::min<std::size_t>(stop - at_, 200));
    current_.unknown.emplace_back(begin, current_.text.size());
    while (at_ < stop) Step();
  }

  void Array() {
    Word array = current_;
    array.is_array = true;
    std::vector<Word> outer = std::move(words_);
    words_.clear();
    Step();
    while (at_ < text_.size() && Peek() != ')') {
      const char c = Peek();
      if (c == '#') {
        while (at_ < text_.size() && Peek() != '\n') ++at_;
      } else if (IsSpace(c) || absl::StrContains("\\;&|<>(", c)) {
        Step();
      } else {
        ReadWord();
      }
    }
    if (at_ < text_.size()) Step();
    for (Word& word : words_) array.items.push_back(std::move(word));
    words_ = std::move(outer);
    current_ = std::move(array);
  }

  void Expand(bool quoted) {
    const absl::string_view text(text_);
    if (Peek(1) == '(' && Peek(2) == '(') {
      const std::size_t end = text.find("))", at_);
      if (end == absl::string_view::npos) return Take();
      current_.Append(variables_.Arithmetic(text.substr(at_ + 3, end - at_ - 3)));
      at_ = end + 2;
      return;
    }
    if (Peek(1) == '(') return Unknown(ClosingSubstitution(text, at_ + 1));
    const std::size_t start = at_;
    std::size_t inside = at_ + 1;
    std::size_t end = inside;
    if (Peek(1) == '{') {
      ++inside;
      end = ClosingBrace(text, at_);
      if (end == absl::string_view::npos) return Take();
    } else {
      while (end < text.size() && IsShellName(text[end])) ++end;
      if (end == inside && end < text.size() && absl::StrContains("@*#?$!-", text[end])) ++end;
      if (end == inside) return Take();
    }
    const std::size_t after = Peek(1) == '{' ? end + 1 : end;
    const auto expansion = variables_.Expand(text.substr(inside, end - inside), text.substr(start, after - start));
    while (at_ < after) Step();
    Substitute(expansion, quoted);
  }

  void Substitute(const ShellVariables::Expansion& expansion, bool quoted) {
    for (std::size_t i = 0; i < expansion.items.size(); ++i) {
      const ShellText& item = expansion.items[i];
      if (i > 0) Push();
      if (quoted) {
        current_.Append(item);
        current_.quoted = current_.quoted || expansion.words;
      } else {
        Split(item);
      }
      if (words_total_ > kWordsMax) return;
    }
    // "${NONE[@]}" is no word at all.
    if (quoted && expansion.words && expansion.items.empty() && current_.text.empty()) current_.quoted = false;
  }

  // Blanks in an expansion that is not quoted part words.
  void Split(const ShellText& item) {
    for (std::size_t i = 0; i < item.text.size();) {
      if (IsSpace(item.text[i])) {
        if (!current_.text.empty()) Push();
        ++i;
        continue;
      }
      std::size_t end = std::min(item.text.find_first_of(" \t\n", i), item.text.size());
      // Blanks inside "$(a b)" part nothing that is known.
      for (const auto& [begin, stop] : item.unknown) {
        if (begin < end && stop > end) end = stop;
      }
      current_.Append(item.Part(i, end));
      i = end;
    }
  }

  // Splits "NAME=VALUE" or "NAME+=VALUE"; false where the word is no assignment.
  static bool SplitAssignment(const Word& word, std::string& name, ShellVariables::Assignment& assignment) {
    const std::size_t equals = word.text.find('=');
    if (equals == std::string::npos || equals == 0) return false;
    assignment.append = word.text[equals - 1] == '+';
    name = word.text.substr(0, assignment.append ? equals - 1 : equals);
    if (!IsIdentifier(name)) return false;
    assignment.array = word.is_array;
    if (word.is_array) {
      assignment.items = word.items;
      return true;
    }
    ShellText value = word.Part(equals + 1, word.text.size());
    if (value.text.empty()) value.line = word.line;
    assignment.items = {std::move(value)};
    return true;
  }

  // Past the keywords before a command; counts branches.
  std::size_t SkipKeywords() {
    static const std::set<std::string> kKeywords = {"then",  "else", "elif", "do",   "if",       "while",
                                                    "until", "!",    "time", "exec", "function", "for",
                                                    "case",  "fi",   "esac", "done", "nohup",    "command"};
    std::size_t first = 0;
    for (; first < words_.size() && !words_[first].quoted; ++first) {
      const std::string& word = words_[first].text;
      if (!kKeywords.contains(word)) break;
      if (word == "if" || word == "case") ++branches_;
      if ((word == "fi" || word == "esac") && branches_ > 0) --branches_;
      if (word == "for" && first + 1 < words_.size() && IsIdentifier(words_[first + 1].text)) {
        variables_.SetUnknown(words_[first + 1].text);
        return words_.size();
      }
    }
    return first;
  }

  void Execute() {
    const std::size_t first = SkipKeywords();
    if (first >= words_.size()) return;
    const std::string head = words_[first].text;
    if (head == "source" || head == ".") {
      if (first + 1 < words_.size()) script_.sourced.push_back(WordOf(words_[first + 1]));
      return;
    }
    if (head == "unset") {
      for (std::size_t i = first + 1; i < words_.size(); ++i) variables_.Forget(words_[i].text);
      return;
    }
    if (head == "set") {
      for (std::size_t i = first + 1; i < words_.size(); ++i) {
        const std::string& word = words_[i].text;
        const bool letters = word.size() >= 2 && word[0] == '-' && word[1] != '-' && word[1] != 'o';
        export_all_ = export_all_ || word == "allexport" || (letters && absl::StrContains(word, 'a'));
      }
      return;
    }
    const bool declaring = head == "declare" || head == "readonly" || head == "local" || head == "typeset";
    if (head == "export" || declaring) return Declare(first, head == "export");
    Command(first);
  }

  void Declare(std::size_t first, bool exporting) {
    for (std::size_t i = first + 1; i < words_.size(); ++i) {
      std::string name = words_[i].text;
      ShellVariables::Assignment assignment;
      if (absl::StartsWith(name, "-")) {
        exporting = exporting || absl::StrContains(name, 'x');
        continue;
      }
      if (SplitAssignment(words_[i], name, assignment)) Assign(name, std::move(assignment));
      if (exporting && IsIdentifier(name)) exported_names_.insert(name);
    }
  }

  void Assign(const std::string& name, ShellVariables::Assignment assignment) {
    assignment.conditional = branches_ > 0 || in_branch_;
    variables_.Assign(name, std::move(assignment));
    if (export_all_) exported_names_.insert(name);
  }

  // Assignments alone, or before a command whose environment they are.
  void Command(std::size_t first) {
    std::vector<std::pair<std::string, ShellVariables::Assignment>> before;
    ShellCommand command;
    for (std::size_t i = first; i < words_.size(); ++i) {
      std::string name;
      ShellVariables::Assignment assignment;
      if (command.words.empty() && SplitAssignment(words_[i], name, assignment)) {
        before.emplace_back(name, std::move(assignment));
      } else {
        command.words.push_back(WordOf(words_[i]));
      }
    }
    for (auto& [name, assignment] : before) {
      if (command.words.empty()) {
        Assign(name, std::move(assignment));
      } else if (!assignment.items.empty()) {
        command.environment[name] = WordOf(assignment.items[0]);
      }
    }
    if (command.words.empty() || Nested(command)) return;
    script_.commands.push_back(std::move(command));
  }

  // `... bash -c "TEXT"`, `eval "TEXT"`: the commands in the text, behind the words before the shell.
  bool Nested(const ShellCommand& command) {
    std::size_t text = 0;
    std::size_t outer = 0;
    for (std::size_t i = 0; i < command.words.size() && text == 0; ++i) {
      const absl::string_view word = BaseName(command.words[i].text);
      const bool shell = word == "bash" || word == "sh" || word == "zsh" || word == "dash";
      if (i == 0 && word == "eval" && command.words.size() > 1) text = 1;
      if (!shell || i + 2 >= command.words.size()) continue;
      const std::string& option = command.words[i + 1].text;
      if (absl::StartsWith(option, "-") && absl::EndsWith(option, "c")) {
        text = i + 2;
        outer = i;
      }
    }
    if (text == 0 || depth_ >= kNestedMax) return false;
    Reader inner(command.words[text].text, command.words[text].line, depth_ + 1);
    inner.set_variables(variables_);
    ShellScript script = inner.Read();
    for (ShellCommand& one : script.commands) {
      one.words.insert(one.words.begin(), command.words.begin(),
                       command.words.begin() + static_cast<std::ptrdiff_t>(outer));
      one.environment.insert(command.environment.begin(), command.environment.end());
      one.environment.insert(script.exported.begin(), script.exported.end());
      script_.commands.push_back(std::move(one));
    }
    script_.sourced.insert(script_.sourced.end(), script.sourced.begin(), script.sourced.end());
    return true;
  }

  struct HereMark {
    std::string text;
    bool strip_tabs = false;
  };

  std::string text_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
  int depth_ = 0;
  std::size_t words_total_ = 0;
  int branches_ = 0;
  int parentheses_ = 0;
  bool in_branch_ = false;
  bool next_in_branch_ = false;
  bool export_all_ = false;
  std::vector<HereMark> here_marks_;
  std::vector<Word> words_;
  Word current_;
  ShellVariables variables_;
  std::set<std::string> exported_names_;
  ShellScript script_;
};

}  // namespace

ShellScript ReadShellScript(absl::string_view text) {
  const std::string plain = absl::StrReplaceAll(text.substr(0, kScriptBytesMax), {{"\r\n", "\n"}});
  return Reader(plain, 1, 0).Read();
}

}  // namespace paritect
