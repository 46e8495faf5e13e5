#include "rules/secrets.h"

#include <algorithm>
#include <map>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "rules/built_in.h"

namespace paritect {
namespace {

constexpr std::size_t kNameBytesMax = 512;     // a longer one is no name
constexpr std::size_t kGrownWordBytesMin = 3;  // shorter ones end too many other words
constexpr std::size_t kRunBytesMin = 16;
constexpr std::size_t kHexDigitsMin = 32;
// A version, or a number under a name of its own, by which it is judged: "v2.1.0", "torch>=2.0,<2.3", "lr=0.1". Words
// of families are verbs too ("pin torch==2.1.0"). Versions: PEP 440, requirements: PEP 508.
constexpr char kRequirement[] =
    R"((?:[A-Za-z][A-Za-z_.-]*(?:\[[\w,-]{1,40}\])?(?:===?|[!~<>]=|[<>=@])v?\d+|v\d+|\d+\.\d+\.\d+)(?:\.\d+|\.\*)*)"
    R"((?:[a-z]{1,2}-?\d*)?(?:[.+-][a-z]{1,5}\d*){0,2}(?:,(?:[!~<>=]=|[<>])\d+(?:\.\d+|\.\*)*)*)";
constexpr std::size_t kWordBytesMax = 5;  // letters that make a word of some language, not a draw

bool IsUpper(char c) {
  return absl::ascii_isupper(static_cast<unsigned char>(c));
}
bool IsLower(char c) {
  return absl::ascii_islower(static_cast<unsigned char>(c));
}
bool IsDigit(char c) {
  return absl::ascii_isdigit(static_cast<unsigned char>(c));
}
bool IsHex(char c) {
  return absl::ascii_isxdigit(static_cast<unsigned char>(c));
}
bool IsWordChar(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || (c & 0x80) != 0;
}

// Parts at '.', '[', '/' and ':'; words at other marks and at changes of case ("APIKey": api, key). Digits at a word's
// end go ("password_2"), those within it stay ("sha256").
std::vector<std::vector<std::string>> PartsOf(absl::string_view name) {
  std::vector<std::vector<std::string>> parts(1);
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) parts.back().push_back(absl::AsciiStrToLower(word));
    word.clear();
  };
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (!IsWordChar(c)) {
      end_word();
      if (absl::StrContains(".[]/:", c) && !parts.back().empty()) parts.emplace_back();
      continue;
    }
    const char before = word.empty() ? '\0' : word.back();
    const bool next_lower = i + 1 < name.size() && IsLower(name[i + 1]);
    if (IsUpper(c) && (IsLower(before) || (IsUpper(before) && next_lower && word.size() > 1))) end_word();
    word.push_back(c);
  }
  end_word();
  if (parts.back().empty() && parts.size() > 1) parts.pop_back();
  return parts;
}

bool IsNumber(absl::string_view word) {
  return !word.empty() && absl::c_all_of(word, IsDigit);
}

absl::string_view WithoutDigits(absl::string_view word) {
  while (word.size() > 1 && IsDigit(word.back())) word.remove_suffix(1);
  return word;
}

absl::Status ReadWords(const DocumentNode& node, absl::FunctionRef<void(std::string)> add) {
  if (!node.is_list()) return ErrorAt(node, "a list of words is needed");
  for (const DocumentNode& item : node.items) {
    if (!item.is_scalar() || item.text.empty()) return ErrorAt(item, "a word is needed");
    add(item.text);
  }
  return absl::OkStatus();
}

absl::Status ReadSet(const DocumentNode& node, std::set<std::string>& set) {
  return ReadWords(node, [&](std::string word) { set.insert(std::move(word)); });
}

absl::Status ReadFamily(const DocumentNode& node, SecretFamily& family) {
  for (const auto& [key, value] : node.fields) {
    if (key.text == "family") {
      family.name = value.text;
    } else if (key.text == "strong" || key.text == "whole_line") {
      (key.text == "strong" ? family.strong : family.whole_line) = value.text == "true";
    } else if (key.text == "clear_digits") {
      if (!absl::SimpleAtoi(value.text, &family.clear_digits)) return ErrorAt(value, "a number is needed");
    } else if (key.text == "words") {
      PARITECT_RETURN_IF_ERROR(ReadSet(value, family.words));
    } else if (key.text == "not_after") {
      PARITECT_RETURN_IF_ERROR(ReadSet(value, family.not_after));
    } else if (key.text == "only_after") {
      PARITECT_RETURN_IF_ERROR(ReadSet(value, family.only_after));
    } else if (key.text == "grown_after") {
      family.grown_after_any = false;
      PARITECT_RETURN_IF_ERROR(ReadSet(value, family.grown_after));
    } else if (key.text != "reason") {
      return ErrorAt(key, absl::StrCat("unknown key '", key.text, "' in an entry of `families`"));
    }
  }
  const bool whole = !family.name.empty() && !family.words.empty() && node.Find("reason") != nullptr;
  return whole ? absl::OkStatus() : ErrorAt(node, "a family needs `family`, `words` and a `reason`");
}

absl::Status ReadProgram(const DocumentNode& node, SecretProgram& program) {
  const auto add_to = [](std::vector<std::string>& list) {
    return [&list](std::string word) { list.push_back(std::move(word)); };
  };
  for (const auto& [key, value] : node.fields) {
    absl::Status status;
    if (key.text == "programs") {
      status = ReadSet(value, program.programs);
    } else if (key.text == "apart") {
      status = ReadSet(value, program.apart);
    } else if (key.text == "attached") {
      status = ReadWords(value, add_to(program.attached));
    } else if (key.text == "user") {
      status = ReadSet(value, program.user);
    } else if (key.text == "attached_user") {
      status = ReadWords(value, add_to(program.attached_user));
    } else if (key.text == "but") {
      status = ReadSet(value, program.but);
    } else if (key.text == "verb") {
      program.verb = value.text;
    } else if (key.text == "skip") {
      if (!absl::SimpleAtoi(value.text, &program.skip)) return ErrorAt(value, "a number is needed");
    } else if (key.text != "source") {
      return ErrorAt(key, absl::StrCat("unknown key '", key.text, "' in an entry of `programs`"));
    }
    PARITECT_RETURN_IF_ERROR(status);
  }
  const bool whole = !program.programs.empty() && node.Find("source") != nullptr;
  return whole ? absl::OkStatus() : ErrorAt(node, "an entry of `programs` needs `programs` and a `source`");
}

// Bytes, not characters: forms name ASCII alone, and "any but these" is then one state and not those of UTF-8.
RE2::Options OfBytes() {
  RE2::Options options(RE2::Quiet);
  options.set_encoding(RE2::Options::EncodingLatin1);
  return options;
}

// The first entry whose form is no pattern.
absl::Status FormThatIsNone(const DocumentNode& list) {
  for (const DocumentNode& item : list.items) {
    const DocumentNode* form = item.Find("form");
    if (!RE2(form->text, OfBytes()).ok()) return ErrorAt(*form, "this is no RE2 pattern");
  }
  return ErrorAt(list, "these patterns together are no RE2 pattern");
}

// The entries' patterns as one; `behind`: each is what a secret stands behind.
absl::StatusOr<std::shared_ptr<const RE2>> ReadForms(const DocumentNode& list, bool behind) {
  std::vector<std::string> all;
  for (const DocumentNode& item : list.items) {
    const DocumentNode* form = item.Find("form");
    const DocumentNode* least = item.Find("least");
    if (form == nullptr || item.Find("source") == nullptr) return ErrorAt(item, "a `form` and its `source` are needed");
    std::size_t bytes = 1;
    if (least != nullptr && !absl::SimpleAtoi(least->text, &bytes)) return ErrorAt(*least, "a number is needed");
    if (!behind) {
      all.push_back(form->text);
    } else {
      all.push_back(absl::StrCat("(", form->text, ")[^\\s\"'`,;<>(){}\\[\\]\\\\]{", bytes, ",}"));
    }
  }
  // Each has its group; who replaces takes the one that is set.
  auto together = std::make_shared<const RE2>(absl::StrJoin(all, "|"), OfBytes());
  if (!together->ok()) return FormThatIsNone(list);
  return together;
}

struct Run {
  std::size_t bytes = 0, upper = 0, lower = 0, digits = 0, changes = 0, hex = 0;
  std::size_t longest_word = 0;  // of lower case
};

bool IsDrawn(const Run& run) {
  if (run.hex == run.bytes && run.bytes >= kHexDigitsMin && run.digits > 0 && run.digits < run.bytes) return true;
  if (run.bytes < kRunBytesMin) return false;
  if (run.longest_word > kWordBytesMax) return false;
  const double rate = static_cast<double>(run.changes) / static_cast<double>(run.bytes - 1);
  if (run.upper >= 3 && run.lower >= 3 && run.digits >= 2) return rate > 0.37;
  return run.bytes >= 24 && run.hex != run.bytes && run.digits >= 4 && run.upper + run.lower >= 8 && rate > 0.33;
}

}  // namespace

bool LooksDrawnByLot(absl::string_view value) {
  static const RE2* const version_word = new RE2(R"((?i)v\d+r\d+c\d+\w*)");
  for (std::size_t at = 0; at < value.size();) {
    Run run;
    const std::size_t start = at;
    int before = -1;
    std::size_t word = 0;
    for (; at < value.size() && absl::ascii_isalnum(static_cast<unsigned char>(value[at])); ++at) {
      const char c = value[at];
      const int kind = IsUpper(c) ? 0 : IsLower(c) ? 1 : 2;
      ++(kind == 0 ? run.upper : kind == 1 ? run.lower : run.digits);
      word = kind == 1 ? word + 1 : 0;
      run.longest_word = std::max(run.longest_word, word);
      if (before >= 0 && kind != before) ++run.changes;
      before = kind;
      if (IsHex(c)) ++run.hex;
      ++run.bytes;
    }
    if (IsDrawn(run) && !RE2::FullMatch(re2::StringPiece(value.data() + start, run.bytes), *version_word)) return true;
    at = std::max(at, start + 1);
  }
  return false;
}

bool SecretRules::Matches(const SecretFamily& family, const std::vector<std::string>& words, std::size_t at) const {
  const absl::string_view word = WithoutDigits(words[at]);
  const absl::string_view before = at > 0 ? absl::string_view(words[at - 1]) : absl::string_view();
  if (family.words.contains(std::string(word))) {
    if (!family.only_after.empty()) return family.only_after.contains(std::string(before));
    return !family.not_after.contains(std::string(before));
  }
  for (const std::string& one : family.words) {
    absl::string_view rest = word;
    if (!absl::ConsumeSuffix(&rest, one) || rest.empty()) continue;
    if (!family.only_after.empty()) {
      if (family.only_after.contains(std::string(rest))) return true;
    } else if (!family.grown_after_any) {
      if (family.grown_after.contains(std::string(rest))) return true;
    } else if (one.size() >= kGrownWordBytesMin && rest.size() >= 2) {
      if (!family.not_after.contains(std::string(rest)) && !family.not_after.contains(std::string(before))) return true;
    }
  }
  return false;
}

const SecretFamily* SecretRules::FamilyOfPart(const std::vector<std::string>& all) const {
  std::vector<std::string> words = all;
  const auto says_nothing = [&](absl::string_view word) {
    return IsNumber(word) || endings_.contains(std::string(WithoutDigits(word)));
  };
  while (words.size() > 1 && says_nothing(words.back())) words.pop_back();
  if (words.empty()) return nullptr;
  const bool about = words.size() > 1 && about_.contains(std::string(WithoutDigits(words.back())));
  for (const SecretFamily& family : families_) {
    if (Matches(family, words, words.size() - 1)) return &family;
    if (!family.strong || about) continue;
    for (std::size_t at = 0; at + 1 < words.size(); ++at) {
      if (Matches(family, words, at)) return &family;
    }
  }
  // "access_key_id", "sasl.jaas" and the like: an ending that means the thing itself.
  return nullptr;
}

const SecretFamily* SecretRules::FamilyOf(absl::string_view name) const {
  if (name.size() > kNameBytesMax) name.remove_prefix(name.size() - kNameBytesMax);
  for (const std::string& word : inside_) {
    if (absl::StrContains(name, word)) return &families_[0];
  }
  const auto parts = PartsOf(name);
  // What a part before the last holds may still be about it: auth.type, credentials.file.
  const auto& last = parts.back();
  const bool about = !last.empty() && parts.size() > 1 && about_.contains(std::string(WithoutDigits(last.back())));
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (part != parts.rbegin() && about) break;
    if (const SecretFamily* family = FamilyOfPart(*part)) return family;
  }
  return nullptr;
}

bool SecretRules::IsInnocentValue(const SecretFamily& family, absl::string_view value) const {
  static const RE2* const nothing =
      new RE2(R"((?i)["']?(?:true|false|yes|no|on|off|none|null|nil|~|\*{3,}|<redacted>)?["']?)");
  static const RE2* const text_word = new RE2(R"(["']?(?:<\|?[\w./:-]{0,40}\|?>|\[[A-Z_]{1,20}\d*\])["']?)");
  static const RE2* const number = new RE2(R"([-+]?[\d.,_]+(?:[eE][-+]?\d+)?(?:%|/s|[a-zA-Z]{1,2}(?:/s)?)?)");
  static const RE2* const requirement = new RE2(kRequirement);
  static const RE2* const path = new RE2(R"((?:\.{0,2}|~)/(?:[\w.@+-]+/)*[\w.@+-]*)");
  value = absl::StripAsciiWhitespace(value);
  if (value.size() > 1 && (value[0] == '"' || value[0] == '\'') && value.back() == value[0]) {
    value = value.substr(1, value.size() - 2);
  }
  const re2::StringPiece piece(value.data(), value.size());
  if (RE2::FullMatch(piece, *nothing)) return true;
  if (family.strong || family.whole_line) return false;
  if (RE2::FullMatch(piece, *text_word) || RE2::FullMatch(piece, *requirement)) return true;
  const auto digits = static_cast<std::size_t>(absl::c_count_if(value, IsDigit));
  if (digits > 0 && digits <= family.clear_digits && RE2::FullMatch(piece, *number)) return true;
  return value.size() > 1 && RE2::FullMatch(piece, *path) && !LooksDrawnByLot(value);
}

bool SecretRules::NamesAHash(absl::string_view name) const {
  const auto parts = PartsOf(name);
  return absl::c_any_of(parts.back(), [this](const std::string& word) {
    return hashes_.contains(word) || hashes_.contains(std::string(WithoutDigits(word)));
  });
}

bool SecretRules::IsOf(const std::set<std::string>& words, absl::string_view field) {
  return words.contains(absl::AsciiStrToLower(field.substr(field.rfind('.') + 1)));  // npos + 1 is 0
}

const SecretProgram* SecretRules::ProgramOf(absl::string_view word) const {
  const std::string name(word.substr(word.rfind('/') + 1));  // npos + 1 is 0
  for (const SecretProgram& program : programs_) {
    if (program.programs.contains(name)) return &program;
  }
  return nullptr;
}

absl::StatusOr<SecretRules> ReadSecrets(const DocumentNode& root) {
  SecretRules rules;
  const std::map<std::string, std::set<std::string>*> sets = {{"about", &rules.about_},
                                                              {"endings", &rules.endings_},
                                                              {"hashes", &rules.hashes_},
                                                              {"pair_names", &rules.pair_names_},
                                                              {"pair_values", &rules.pair_values_}};
  for (const auto& [key, value] : root.fields) {
    if (!value.is_list()) return ErrorAt(key, "a list is needed");
    if (key.text == "families") {
      for (const DocumentNode& item : value.items) {
        PARITECT_RETURN_IF_ERROR(ReadFamily(item, rules.families_.emplace_back()));
      }
    } else if (key.text == "programs") {
      for (const DocumentNode& item : value.items) {
        PARITECT_RETURN_IF_ERROR(ReadProgram(item, rules.programs_.emplace_back()));
      }
    } else if (key.text == "inside") {
      PARITECT_RETURN_IF_ERROR(ReadWords(value, [&](std::string word) { rules.inside_.push_back(std::move(word)); }));
    } else if (const auto set = sets.find(key.text); set != sets.end()) {
      PARITECT_RETURN_IF_ERROR(ReadSet(value, *set->second));
    } else if (key.text == "forms" || key.text == "behind") {
      const bool behind = key.text == "behind";
      PARITECT_ASSIGN_OR_RETURN((behind ? rules.behind_ : rules.forms_), ReadForms(value, behind));
    } else {
      return ErrorAt(key, absl::StrCat("unknown key '", key.text, "'"));
    }
  }
  const bool whole = !rules.families_.empty() && rules.forms_ != nullptr && rules.forms_->ok() &&
                     rules.behind_ != nullptr && rules.behind_->ok();
  if (!whole) return ErrorAt(root, "`families`, `forms` and `behind` are needed");
  return rules;
}

const SecretRules& BuiltInSecrets() {
  return BuiltInTable<&ReadSecrets>("secrets.yaml");
}

}  // namespace paritect
