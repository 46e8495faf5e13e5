// Secrets in texts and command lines.
#include <algorithm>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/redaction.h"
#include "re2/re2.h"
#include "rules/secrets.h"

namespace paritect {
namespace {

constexpr char kMask[] = "***";

re2::StringPiece Piece(absl::string_view text) {
  return re2::StringPiece(text.data(), text.size());
}

bool IsBlank(char c) {
  return c == ' ' || c == '\t';
}
bool IsQuote(char c) {
  return c == '"' || c == '\'' || c == '`';
}

// "user:password" of "scheme://user:password@host/...", from the first byte behind "://"; 0 where there is none.
std::size_t UserInfoSize(absl::string_view rest) {
  const absl::string_view word = rest.substr(0, rest.find_first_of(" \t\r\n\"'<>"));
  const absl::string_view authority = word.substr(0, word.find_first_of("/?#"));
  if (const std::size_t at = authority.rfind('@'); at != absl::string_view::npos) return at;
  // A password with '/' in it: "user:pa/ss@host"; a port is no password.
  const std::size_t colon = authority.find(':');
  const std::size_t at = word.rfind('@');
  if (colon == absl::string_view::npos || at == absl::string_view::npos) return 0;
  const absl::string_view port = authority.substr(colon + 1);
  return absl::c_all_of(port, [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }) ? 0 : at;
}

std::string WithoutUrlUsers(absl::string_view text) {
  std::string out;
  for (;;) {
    const std::size_t mark = text.find("://");
    if (mark == absl::string_view::npos) return absl::StrCat(out, text);
    absl::StrAppend(&out, text.substr(0, mark + 3));
    text.remove_prefix(mark + 3);
    if (const std::size_t size = UserInfoSize(text); size > 0) {
      absl::StrAppend(&out, kMask);
      text.remove_prefix(size);
    }
  }
}

// Access keys of AWS and Huawei Cloud: 20 capitals and digits; secret keys: 40 letters and digits of both cases
// (AWS: also '/' and '+'). Digests are hexadecimal, version words ("V100R001C18") have their own shape.
bool LooksLikeCloudKey(absl::string_view word) {
  static const RE2* const version_word = new RE2(R"(V\d+R\d+C\d+\w*)");
  const auto upper = absl::c_count_if(word, [](char c) { return absl::ascii_isupper(static_cast<unsigned char>(c)); });
  const auto lower = absl::c_count_if(word, [](char c) { return absl::ascii_islower(static_cast<unsigned char>(c)); });
  const auto digits = absl::c_count_if(word, [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); });
  if (word.size() == 20) {
    return digits >= 1 && upper >= 5 && upper + digits == 20 && !RE2::FullMatch(Piece(word), *version_word);
  }
  static const RE2* const long_word = new RE2("[a-z]{8}");  // of a language: CamelCaseNames
  return word.size() == 40 && !RE2::PartialMatch(Piece(word), *long_word) && upper >= 5 && lower >= 5 && digits >= 1 &&
         absl::c_count(word, '/') <= 4 && word[0] != '/';
}

std::string WithoutCloudKeys(absl::string_view text) {
  static const RE2* const long_word = new RE2(R"([A-Za-z0-9/+]{20,})");
  std::string out;
  re2::StringPiece word;
  std::size_t copied = 0;
  std::size_t from = 0;
  while (from < text.size() && long_word->Match(Piece(text), from, text.size(), RE2::UNANCHORED, &word, 1)) {
    const auto start = static_cast<std::size_t>(word.data() - text.data());
    from = start + word.size();
    if (!LooksLikeCloudKey(absl::string_view(word.data(), word.size()))) continue;
    absl::StrAppend(&out, text.substr(copied, start - copied), kMask);
    copied = from;
  }
  return absl::StrCat(out, text.substr(copied));
}

// "hooks.slack.com/services/" stays, the rest of the word goes.
std::string WithoutWhatFollows(absl::string_view text) {
  const RE2& behind = BuiltInSecrets().behind();
  std::vector<re2::StringPiece> groups(static_cast<std::size_t>(behind.NumberOfCapturingGroups()) + 1);
  std::string out;
  std::size_t copied = 0;
  while (
      behind.Match(Piece(text), copied, text.size(), RE2::UNANCHORED, groups.data(), static_cast<int>(groups.size()))) {
    const auto set = std::find_if(groups.begin() + 1, groups.end(), [](const auto& g) { return g.data() != nullptr; });
    const std::size_t keep =
        set == groups.end() ? 0 : static_cast<std::size_t>(set->data() + set->size() - (text.data() + copied));
    absl::StrAppend(&out, text.substr(copied, keep), kMask);
    copied = static_cast<std::size_t>(groups[0].data() + groups[0].size() - text.data());
  }
  return absl::StrCat(out, text.substr(copied));
}

bool IsNameChar(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-' || (c & 0x80) != 0;
}

std::size_t SkipBlanks(absl::string_view text, std::size_t at) {
  while (at < text.size() && IsBlank(text[at])) ++at;
  return at;
}

// A name and what stands between it and its value: "--api-key X", "token=X", "'password': 'X Y'", "<token>X<".
struct Named {
  std::string name;
  std::size_t value = 0;     // where the value begins; 0: this name has none
  bool assigned = false;     // by '=' or ':', not by a blank alone
  bool begins_line = false;  // of YAML, or of an answer of a program
  bool by_colon = false;
  bool element = false;
};

bool BeginsLine(absl::string_view text, std::size_t at) {
  while (at > 0 && (IsBlank(text[at - 1]) || text[at - 1] == '-')) --at;
  return at == 0 || text[at - 1] == '\n';
}

// '=', ':', ":=", "=>" and their full-width forms at `at`: how many bytes; 0: none.
std::size_t AssignmentSize(absl::string_view text, std::size_t at) {
  const absl::string_view rest = text.substr(at);
  for (absl::string_view mark : {":=", "=>", "==", "=", ":", "：", "＝"}) {
    if (absl::StartsWith(rest, mark)) return mark.size();
  }
  return 0;
}

Named ReadNamed(absl::string_view text, std::size_t start, std::size_t end) {
  Named named;
  named.name = std::string(text.substr(start, end - start));
  named.begins_line = BeginsLine(text, start);
  std::size_t at = end;
  while (at < text.size() && text[at] == '\\') ++at;  // JSON within JSON
  const bool quoted = at < text.size() && IsQuote(text[at]);
  if (quoted) ++at;
  if (at < text.size() && (text[at] == ']' || text[at] == ')') && start > 0) ++at;  // os.environ["HF_TOKEN"] =
  const std::size_t mark = SkipBlanks(text, at);
  if (mark >= text.size()) return named;
  if (const std::size_t size = AssignmentSize(text, mark); size > 0) {
    named.assigned = true;
    named.by_colon = text[mark] != '=';
    named.value = SkipBlanks(text, mark + size);
  } else if (quoted && text[mark] == ',') {  // ["--api-key", "X"], ("password", "X")
    const std::size_t value = SkipBlanks(text, mark + 1);
    if (value < text.size() && IsQuote(text[value])) named.value = value;
    named.assigned = absl::StartsWith(named.name, "-");
  } else if (text[mark] == '>' && start > 0 && text[start - 1] == '<') {
    named.element = named.assigned = true;
    named.value = mark + 1;
  } else if (!quoted && mark > end) {
    named.value = mark;
  }
  return named;
}

// A name that grew together with what stands before it by UTF-8 bytes ("的token") is judged by its ASCII end too.
const SecretFamily* FamilyOfText(absl::string_view name) {
  if (const SecretFamily* family = BuiltInSecrets().FamilyOf(name)) return family;
  const auto last = std::find_if(name.rbegin(), name.rend(), [](char c) { return (c & 0x80) != 0; });
  if (last == name.rend() || last == name.rbegin()) return nullptr;
  return BuiltInSecrets().FamilyOf(name.substr(name.size() - static_cast<std::size_t>(last - name.rbegin())));
}

// The closing quote of text[0], escaped ones left out; the end of the line where it stays open.
std::size_t QuotedSize(absl::string_view text) {
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == text[0]) {
      const bool doubled = at > 1 && at + 1 < text.size() && text[at + 1] == text[0];  // 'it''s' of YAML
      if (!doubled) return at + 1;
      ++at;
    }
  }
  return std::min(text.find('\n'), text.size());
}

// A list or map up to its end, at most to the end of the text.
std::size_t BracketsSize(absl::string_view text) {
  std::size_t depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '[' || c == '{' || c == '(') ++depth;
    if ((c == ']' || c == '}' || c == ')') && --depth == 0) return at + 1;
  }
  return text.size();
}

std::size_t ValueSize(absl::string_view text, const Named& named, const SecretFamily& family) {
  if (text.empty()) return 0;
  if (named.element) return std::min(text.find('<'), text.size());
  if (text[0] == '\\' && text.size() > 1 && IsQuote(text[1])) {
    const std::size_t close = text.find(text.substr(0, 2), 2);
    return close == absl::string_view::npos ? std::min(text.find('\n'), text.size()) : close + 2;
  }
  if (IsQuote(text[0])) return QuotedSize(text);
  if (named.assigned && (text[0] == '[' || text[0] == '{' || text[0] == '(')) return BracketsSize(text);
  if (family.whole_line) return std::min(text.find_first_of("\r\n\"'"), text.size());
  if (named.by_colon && named.begins_line) return std::min(text.find_first_of("\r\n"), text.size());
  // A comma or semicolon within a word may be the secret's own.
  std::size_t size = 0;
  for (; size < text.size() && !absl::StrContains(" \t\r\n&\"'`})]", text[size]); ++size) {
    const char c = text[size];
    const bool last = size + 1 == text.size() || absl::StrContains(" \t\r\n", text[size + 1]);
    if (c == ';' || (c == ',' && (last || named.by_colon))) break;
  }
  return size;
}

bool MustMask(const Named& named, absl::string_view value, const SecretFamily& family) {
  if (absl::StartsWith(value, "--")) return false;  // the next option is no value
  if (named.assigned || absl::StartsWith(named.name, "-")) return true;
  // In prose a name is followed by a word; what is none (it has a digit) is a value.
  const absl::string_view word = value.substr(0, ValueSize(value, named, family));
  return absl::c_any_of(word, [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); });
}

// "password is X": where X begins.
std::size_t SkipFillers(absl::string_view text, std::size_t at) {
  for (absl::string_view filler : {"is ", "is: ", "was ", "are ", "= ", "是", "为"}) {
    if (absl::StartsWith(text.substr(at), filler)) return SkipBlanks(text, at + filler.size());
  }
  return at;
}

// "是", "为" grown onto a name in a script without blanks: "密码是X" — the name ends with the word.
std::size_t NameEnd(absl::string_view text, std::size_t start, std::size_t end) {
  for (absl::string_view filler : {"是", "为"}) {
    const std::size_t at = text.substr(start, end - start).find(filler);
    if (at != absl::string_view::npos && at > 0 && FamilyOfText(text.substr(start, at)) != nullptr) return start + at;
  }
  return end;
}

// By hand and in one pass: a pattern that holds the value would be matched again from every name within a long one.
std::string WithoutNamed(absl::string_view text) {
  std::string out;
  std::size_t copied = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (!IsNameChar(text[at]) || absl::StartsWith(text.substr(at), "：") || absl::StartsWith(text.substr(at), "＝")) {
      ++at;
      continue;
    }
    const std::size_t start = at;
    while (at < text.size() && IsNameChar(text[at]) && !absl::StartsWith(text.substr(at), "：") &&
           !absl::StartsWith(text.substr(at), "＝")) {
      ++at;
    }
    const std::size_t end = NameEnd(text, start, at);
    const SecretFamily* family = FamilyOfText(text.substr(start, end - start));
    if (family == nullptr) continue;
    Named named = ReadNamed(text, start, end);
    if (end < at) named.value = end, named.assigned = true;
    if (named.value == 0 || named.value >= text.size()) continue;
    const std::size_t said = SkipFillers(text, named.value);
    named.assigned = named.assigned || said != named.value;
    named.value = said;
    const absl::string_view rest = text.substr(named.value);
    if (rest.empty() || !MustMask(named, rest, *family)) continue;
    const std::size_t size = ValueSize(rest, named, *family);
    if (size == 0 || BuiltInSecrets().IsInnocentValue(*family, rest.substr(0, size))) continue;
    absl::StrAppend(&out, text.substr(copied, named.value - copied), kMask);
    copied = at = named.value + size;
  }
  return absl::StrCat(out, text.substr(copied));
}

// Follows the words of a command line and tells from which byte of a word on it is a secret.
class OptionScan {
 public:
  // `glued`: a quote follows without a blank (-p'X').
  std::optional<std::size_t> Next(absl::string_view word, bool glued = false) {
    if (word == "|" || word == ";" || word == "&&" || word == "||") program_ = nullptr;
    if (program_ != nullptr) {
      if (const auto from = Option(word, glued)) return from;
    }
    if (const SecretProgram* program = BuiltInSecrets().ProgramOf(word)) {
      program_ = program;
      wanted_ = Wanted::kNothing;
    }
    return std::nullopt;
  }

 private:
  enum class Wanted { kNothing, kSecret, kUser, kVerbsWord };

  static std::optional<std::size_t> BehindUser(absl::string_view word, std::size_t from) {
    const std::size_t mark = word.find_first_of(":%", from);
    return mark == absl::string_view::npos ? std::nullopt : std::make_optional(mark + 1);
  }

  std::optional<std::size_t> Option(absl::string_view word, bool glued) {
    const Wanted wanted = std::exchange(wanted_, Wanted::kNothing);
    if (wanted == Wanted::kSecret) return 0;
    if (wanted == Wanted::kUser) return BehindUser(word, 0);
    if (wanted == Wanted::kVerbsWord) {
      if (!absl::StartsWith(word, "-") && words_before_-- == 0) return 0;
      wanted_ = wanted;
    }
    if (program_->but.contains(std::string(word))) {
      program_ = nullptr;
      return std::nullopt;
    }
    if (program_->apart.contains(std::string(word))) wanted_ = Wanted::kSecret;
    if (program_->user.contains(std::string(word))) wanted_ = Wanted::kUser;
    if (!program_->verb.empty() && word == program_->verb) {
      wanted_ = Wanted::kVerbsWord;
      words_before_ = program_->skip;
    }
    for (const std::string& option : program_->attached) {
      if (glued && word == option) wanted_ = Wanted::kSecret;
      if (absl::StartsWith(word, option) && word.size() > option.size()) return option.size();
    }
    for (const std::string& option : program_->attached_user) {
      if (absl::StartsWith(word, option) && word.size() > option.size()) return BehindUser(word, option.size());
    }
    return std::nullopt;
  }

  const SecretProgram* program_ = nullptr;
  Wanted wanted_ = Wanted::kNothing;
  int words_before_ = 0;  // of a verb's secret
};

// The same within a text: "sshpass -p 'X' ssh", ["sshpass", "-p", "X"].
std::string WithoutOptions(absl::string_view text) {
  constexpr absl::string_view kSeparators = " \t\r\n\"'`,[](){}";
  std::string out;
  std::size_t copied = 0;
  OptionScan scan;
  for (std::size_t at = 0; at < text.size();) {
    if (absl::StrContains(kSeparators, text[at])) {
      if (text[at] == '\n') scan = OptionScan();
      ++at;
      continue;
    }
    const std::size_t start = at;
    at = std::min(text.find_first_of(kSeparators, at), text.size());
    const auto from = scan.Next(text.substr(start, at - start), at < text.size() && IsQuote(text[at]));
    if (!from) continue;
    // What is quoted goes up to its quote; what is not up to the end of its word.
    const bool quoted = start > 0 && IsQuote(text[start - 1]);
    at = quoted ? start - 1 + QuotedSize(text.substr(start - 1)) - 1
                : std::min(text.find_first_of(" \t\r\n\"'", start), text.size());
    if (start + *from >= at) continue;
    absl::StrAppend(&out, text.substr(copied, start + *from - copied), kMask);
    copied = at;
  }
  return absl::StrCat(out, text.substr(copied));
}

}  // namespace

std::string WithoutSecrets(absl::string_view text) {
  if (text.size() < 2) return std::string(text);
  std::string out = WithoutUrlUsers(text);
  RE2::GlobalReplace(&out, BuiltInSecrets().forms(), kMask);
  return WithoutCloudKeys(WithoutNamed(WithoutOptions(WithoutWhatFollows(out))));
}

std::vector<std::string> WithoutSecrets(absl::Span<const std::string> words) {
  std::vector<std::string> out;
  OptionScan scan;
  const SecretFamily* follows = nullptr;  // of an option whose value is the next word
  for (const std::string& word : words) {
    const auto from = scan.Next(word);
    const bool option = absl::StartsWith(word, "--") || (word.size() == 2 && word[0] == '-');
    const std::size_t equals = word.find('=');
    const SecretFamily* before = std::exchange(follows, nullptr);
    const SecretFamily* own =
        equals == std::string::npos ? nullptr : BuiltInSecrets().FamilyOf(absl::string_view(word).substr(0, equals));
    // curl's form, whatever takes it: "-u", "me:password".
    const std::size_t colon = !out.empty() && out.back() == "-u" ? word.find(':') : std::string::npos;
    if (from) {
      out.push_back(absl::StrCat(word.substr(0, *from), kMask));
    } else if (colon != std::string::npos && absl::ascii_isalpha(static_cast<unsigned char>(word[0]))) {
      out.push_back(absl::StrCat(word.substr(0, colon + 1), kMask));
    } else if (before != nullptr && !option) {
      out.push_back(BuiltInSecrets().IsInnocentValue(*before, word) ? word : kMask);
    } else if (own != nullptr && !BuiltInSecrets().IsInnocentValue(*own, word.substr(equals + 1))) {
      out.push_back(absl::StrCat(word.substr(0, equals + 1), kMask));
    } else {
      out.push_back(WithoutSecrets(word));
      if (absl::StartsWith(word, "-") && equals == std::string::npos) follows = BuiltInSecrets().FamilyOf(word);
    }
  }
  return out;
}

}  // namespace paritect
