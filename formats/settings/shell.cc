#include "formats/settings/shell.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/numbers.h"
#include "formats/settings/builder.h"

namespace paritect {
namespace {

constexpr std::size_t kScriptBytesMax = 4 << 20;
constexpr std::size_t kWordBytesMax = 64 << 10;
constexpr std::size_t kWordsMax = 20'000;

bool IsNameChar(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
}

struct Variable {
  std::vector<std::string> items;  // one of a plain variable
  std::int64_t line = 0;
  bool unresolved = false;
};

// "2*4+1" of whole numbers, left to right with the usual precedence; nullopt for anything else.
std::optional<std::int64_t> Arithmetic(absl::string_view text) {
  std::int64_t sum = 0;
  for (absl::string_view term : SplitOutsideBrackets(text, '+')) {
    std::int64_t product = 1;
    bool first = true;
    for (absl::string_view factor : absl::StrSplit(term, '*')) {
      const std::vector<absl::string_view> quotients = absl::StrSplit(factor, '/');
      auto value = ParseInt(quotients[0]);
      if (!value || std::abs(*value) > 1'000'000'000) return std::nullopt;
      product = first ? *value : product * *value;
      first = false;
      for (std::size_t i = 1; i < quotients.size(); ++i) {
        auto divisor = ParseInt(quotients[i]);
        if (!divisor || *divisor == 0) return std::nullopt;
        product /= *divisor;
      }
      if (std::abs(product) > 1'000'000'000'000) return std::nullopt;
    }
    sum += product;
  }
  return sum;
}

class Reader {
 public:
  explicit Reader(absl::string_view text) : text_(text.substr(0, kScriptBytesMax)) {}

  ShellScript Read() {
    while (at_ < text_.size() && words_total_ < kWordsMax) {
      Statement();
      Execute();
    }
    for (const std::string& name : exported_names_) {
      auto it = variables_.find(name);
      if (it != variables_.end()) script_.exported[name] = WordOf(it->second);
    }
    return std::move(script_);
  }

 private:
  struct Word : ShellWord {
    bool is_array = false;
    std::vector<std::string> items;
    bool quoted = false;
  };

  static ShellWord WordOf(const Variable& variable) {
    ShellWord word;
    word.text = variable.items.empty() ? "" : variable.items[0];
    word.line = variable.line;
    word.unresolved = variable.unresolved;
    return word;
  }

  char Peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void Step() {
    if (Peek() == '\n') ++line_;
    ++at_;
  }

  // Reads words up to the end of the statement.
  void Statement() {
    words_.clear();
    while (at_ < text_.size()) {
      const char c = Peek();
      if (c == '\\' && (Peek(1) == '\n' || (Peek(1) == '\r' && Peek(2) == '\n'))) {
        while (Peek() != '\n') ++at_;
        Step();
      } else if (c == '\n' || c == ';' || c == '&' || c == '|') {
        Step();
        return;
      } else if (absl::ascii_isspace(static_cast<unsigned char>(c))) {
        Step();
      } else if (c == '#') {
        while (at_ < text_.size() && Peek() != '\n') ++at_;
      } else if (c == '<' && Peek(1) == '<' && Peek(2) != '<') {
        HereDocument();
      } else if (c == '>' || c == '<' || c == '(' || c == ')' || c == '{' || c == '}') {
        Step();
      } else {
        ReadWord();
      }
    }
  }

  void HereDocument() {
    at_ += 2;
    while (absl::StrContains("-'\" ", Peek()) && Peek() != '\0') ++at_;
    std::string mark;
    while (IsNameChar(Peek())) mark.push_back(text_[at_++]);
    if (mark.empty()) return;
    std::size_t end = text_.find(absl::StrCat("\n", mark), at_);
    if (end == absl::string_view::npos) end = text_.size();
    while (at_ < end) Step();
    if (at_ < text_.size()) Step();
    at_ = std::min(at_ + mark.size(), text_.size());
  }

  void ReadWord() {
    current_ = Word();
    current_.line = line_;
    while (at_ < text_.size() && current_.text.size() < kWordBytesMax) {
      const char c = Peek();
      if (absl::ascii_isspace(static_cast<unsigned char>(c)) || c == ';' || c == '&' || c == '|' || c == '>' ||
          c == '<' || c == ')')
        break;
      if (c == '\'') {
        SingleQuoted();
      } else if (c == '"') {
        DoubleQuoted();
      } else if (c == '$') {
        Expand(false);
      } else if (c == '`') {
        Unknown("`");
      } else if (c == '(' && absl::EndsWith(current_.text, "=")) {
        Array();
      } else if (c == '\\') {
        if (Peek(1) == '\n' || Peek(1) == '\r') break;
        ++at_;
        if (at_ < text_.size()) current_.text.push_back(Peek());
        Step();
      } else {
        current_.text.push_back(c);
        Step();
      }
    }
    Push();
  }

  void Push() {
    if (current_.text.empty() && !current_.quoted && !current_.is_array) return;
    words_.push_back(current_);
    ++words_total_;
    const std::int64_t line = current_.line;
    current_ = Word();
    current_.line = line;
  }

  void SingleQuoted() {
    current_.quoted = true;
    for (Step(); at_ < text_.size() && Peek() != '\''; Step()) current_.text.push_back(Peek());
    if (at_ < text_.size()) Step();
  }

  void DoubleQuoted() {
    current_.quoted = true;
    Step();
    while (at_ < text_.size() && Peek() != '"') {
      if (Peek() == '\\' && at_ + 1 < text_.size()) {
        if (Peek(1) == '\n' || Peek(1) == '\r') {
          while (Peek() != '\n') ++at_;
          current_.text.push_back(' ');
          Step();
          continue;
        }
        if (!absl::StrContains("\"\\$`", Peek(1))) current_.text.push_back('\\');
        ++at_;
        current_.text.push_back(Peek());
        Step();
      } else if (Peek() == '$') {
        Expand(true);
      } else if (Peek() == '`') {
        Unknown("`");
      } else {
        current_.text.push_back(Peek());
        Step();
      }
    }
    if (at_ < text_.size()) Step();
  }

  // A command in back quotes or $( ): not run, so not known.
  void Unknown(absl::string_view close) {
    const std::size_t end = close == "`" ? text_.find('`', at_ + 1) : ClosingBracket(text_, at_ + 1);
    const std::size_t stop = end == absl::string_view::npos ? text_.size() : end + 1;
    current_.text.append(text_.data() + at_, std::min<std::size_t>(stop - at_, 200));
    current_.unresolved = true;
    while (at_ < stop) Step();
  }

  void Array() {
    current_.is_array = true;
    const Word target = current_;
    std::vector<Word> outer = std::move(words_);
    words_.clear();
    Step();
    while (at_ < text_.size() && Peek() != ')') {
      const char c = Peek();
      if (c == '#') {
        while (at_ < text_.size() && Peek() != '\n') ++at_;
      } else if (absl::ascii_isspace(static_cast<unsigned char>(c)) || c == '\\' || c == ';' || c == '&' || c == '|' ||
                 c == '<' || c == '>') {
        Step();
      } else {
        ReadWord();
      }
    }
    if (at_ < text_.size()) Step();
    Word array = target;
    for (const Word& word : words_) {
      array.items.push_back(word.text);
      array.unresolved = array.unresolved || word.unresolved;
    }
    // Which item is unresolved stays visible in its text ("$NAME").
    words_ = std::move(outer);
    current_ = array;
  }

  void Expand(bool quoted) {
    if (Peek(1) == '(' && Peek(2) == '(') return ExpandArithmetic();
    if (Peek(1) == '(') return Unknown("(");
    std::string name;
    std::string rest;
    const std::size_t start = at_;
    if (Peek(1) == '{') {
      const std::size_t end = text_.find('}', at_);
      if (end == absl::string_view::npos) return Literal();
      absl::string_view inside = text_.substr(at_ + 2, end - at_ - 2);
      std::size_t n = 0;
      while (n < inside.size() && IsNameChar(inside[n])) ++n;
      name = std::string(inside.substr(0, n));
      rest = std::string(inside.substr(n));
      at_ = end + 1;
    } else {
      at_ += 1;
      while (IsNameChar(Peek())) name.push_back(text_[at_++]);
      if (name.empty() && Peek() != '\0') ++at_;  // $@ $1 $? $$
    }
    Substitute(name, rest, text_.substr(start, at_ - start), quoted);
  }

  void Literal() {
    current_.text.push_back(Peek());
    Step();
  }

  void Substitute(const std::string& name, const std::string& rest, absl::string_view written, bool quoted) {
    auto it = variables_.find(name);
    const bool array = rest == "[@]" || rest == "[*]";
    if (it == variables_.end() ||
        (!rest.empty() && !array && !absl::StartsWith(rest, ":-") && !absl::StartsWith(rest, "-"))) {
      if (it == variables_.end() &&
          (absl::StartsWith(rest, ":-") || absl::StartsWith(rest, "-") || absl::StartsWith(rest, ":="))) {
        absl::string_view fallback = absl::string_view(rest).substr(rest[0] == ':' ? 2 : 1);
        if (!absl::StrContains(fallback, '$')) {
          absl::StrAppend(&current_.text, fallback);
          return;
        }
      }
      absl::StrAppend(&current_.text, written);
      current_.unresolved = true;
      return;
    }
    const Variable& variable = it->second;
    if (array || variable.items.size() > 1) {
      for (std::size_t i = 0; i < variable.items.size(); ++i) {
        if (i > 0) Push();
        AppendItem(variable.items[i], variable.unresolved);
      }
      return;
    }
    const std::string value = variable.items.empty() ? "" : variable.items[0];
    if (quoted) return AppendItem(value, variable.unresolved);
    bool first = !value.empty() && absl::ascii_isspace(static_cast<unsigned char>(value[0])) ? false : true;
    for (absl::string_view part : absl::StrSplit(value, absl::ByAnyChar(" \t\n"), absl::SkipEmpty())) {
      if (!first) Push();
      AppendItem(part, variable.unresolved);
      first = false;
    }
  }

  void AppendItem(absl::string_view item, bool unresolved) {
    if (current_.text.size() + item.size() > kWordBytesMax) return;
    absl::StrAppend(&current_.text, item);
    current_.unresolved = current_.unresolved || (unresolved && absl::StrContains(item, '$'));
    current_.quoted = current_.quoted || item.empty();
  }

  void ExpandArithmetic() {
    const std::size_t end = text_.find("))", at_);
    if (end == absl::string_view::npos) return Literal();
    std::string inside(text_.substr(at_ + 3, end - at_ - 3));
    // Names stand with or without '$'.
    std::string resolved;
    for (std::size_t i = 0; i < inside.size();) {
      if (inside[i] == '$' || inside[i] == '{' || inside[i] == '}' || inside[i] == ' ') {
        ++i;
        continue;
      }
      std::string name;
      while (i < inside.size() && IsNameChar(inside[i])) name.push_back(inside[i++]);
      auto it = variables_.find(name);
      if (name.empty()) {
        resolved.push_back(inside[i++]);
      } else if (it != variables_.end() && !it->second.items.empty()) {
        absl::StrAppend(&resolved, it->second.items[0]);
      } else {
        absl::StrAppend(&resolved, name);
      }
    }
    auto value = Arithmetic(resolved);
    absl::StrAppend(&current_.text, value ? absl::StrCat(*value) : absl::StrCat("$((", inside, "))"));
    current_.unresolved = current_.unresolved || !value;
    at_ = end + 2;
  }

  // Splits "NAME=VALUE"; false where the word is no assignment.
  static bool SplitAssignment(const Word& word, std::string& name, std::string& value, bool& append) {
    std::size_t equals = word.text.find('=');
    if (equals == std::string::npos || equals == 0) return false;
    append = word.text[equals - 1] == '+';
    name = word.text.substr(0, append ? equals - 1 : equals);
    value = word.text.substr(equals + 1);
    return IsIdentifier(name);
  }

  void Assign(const Word& word, const std::string& name, const std::string& value, bool append) {
    Variable variable;
    variable.line = word.line;
    variable.unresolved = word.unresolved;
    if (word.is_array) {
      variable.items = word.items;
    } else {
      variable.items = {value};
    }
    auto known = variables_.find(name);
    if (append && known != variables_.end()) {
      if (word.is_array) {
        std::vector<std::string> items = known->second.items;
        items.insert(items.end(), variable.items.begin(), variable.items.end());
        variable.items = std::move(items);
      } else if (!known->second.items.empty()) {
        variable.items[0] = known->second.items[0] + value;
      }
      variable.unresolved = variable.unresolved || known->second.unresolved;
    } else if (conditional_depth_ > 0 && known != variables_.end() && known->second.items != variable.items) {
      variable.items = {absl::StrCat("$", name)};
      variable.unresolved = true;
    }
    variables_[name] = std::move(variable);
  }

  void Execute() {
    std::size_t first = 0;
    static const std::set<std::string> kKeywords = {"then", "else", "elif",  "do",   "if",   "while", "until",
                                                    "!",    "time", "nohup", "exec", "sudo", "for",   "case"};
    while (first < words_.size() && !words_[first].quoted) {
      const std::string& word = words_[first].text;
      if (word == "if" || word == "case") ++conditional_depth_;
      if ((word == "fi" || word == "esac") && conditional_depth_ > 0) --conditional_depth_;
      if (word == "for") ForLoop();
      if (!kKeywords.contains(word) && word != "fi" && word != "esac" && word != "done") break;
      ++first;
    }
    if (first >= words_.size()) return;
    const std::string& head = words_[first].text;
    const bool exporting = head == "export" || head == "declare" || head == "readonly" || head == "local";
    ShellCommand command;
    for (std::size_t i = exporting ? first + 1 : first; i < words_.size(); ++i) {
      std::string name, value;
      bool append = false;
      if (command.words.empty() && SplitAssignment(words_[i], name, value, append)) {
        pending_.push_back({words_[i], name, value, append});
        if (head == "export") exported_names_.insert(name);
      } else if (exporting) {
        if (head == "export" && IsIdentifier(words_[i].text)) exported_names_.insert(words_[i].text);
      } else {
        command.words.push_back(words_[i]);
      }
    }
    for (const Pending& one : pending_) {
      if (command.words.empty()) {
        Assign(one.word, one.name, one.value, one.append);
      } else {
        ShellWord word = one.word;
        word.text = one.value;
        command.environment[one.name] = word;
      }
    }
    pending_.clear();
    if (!command.words.empty()) script_.commands.push_back(std::move(command));
  }

  // A loop variable takes several values: not one that can be known.
  void ForLoop() {
    if (words_.size() < 2 || !IsIdentifier(words_[1].text)) return;
    Variable variable;
    variable.items = {absl::StrCat("$", words_[1].text)};
    variable.unresolved = true;
    variables_[words_[1].text] = variable;
  }

  struct Pending {
    Word word;
    std::string name;
    std::string value;
    bool append = false;
  };

  absl::string_view text_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
  std::size_t words_total_ = 0;
  int conditional_depth_ = 0;
  std::vector<Word> words_;
  std::vector<Pending> pending_;
  Word current_;
  std::map<std::string, Variable> variables_;
  std::set<std::string> exported_names_;
  ShellScript script_;
};

}  // namespace

ShellScript ReadShellScript(absl::string_view text) {
  return Reader(text).Read();
}

}  // namespace paritect
