#include "agent/redaction.h"

#include <random>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/digest.h"
#include "re2/re2.h"

namespace paritect {
namespace {

constexpr char kMask[] = "***";

re2::StringPiece Piece(absl::string_view text) {
  return re2::StringPiece(text.data(), text.size());
}

// "--hubToken", "HF-TOKEN", "a.api_key" as "hub_token", "hf_token", "a_api_key".
std::string SnakeName(absl::string_view name) {
  while (absl::StartsWith(name, "-")) name.remove_prefix(1);
  std::string snake;
  bool after_lower = false;
  for (char c : name) {
    const bool upper = absl::ascii_isupper(static_cast<unsigned char>(c));
    if (upper && after_lower) snake.push_back('_');
    after_lower = absl::ascii_islower(static_cast<unsigned char>(c));
    snake.push_back(c == '-' || c == '.' ? '_' : absl::ascii_tolower(static_cast<unsigned char>(c)));
  }
  return snake;
}

// Whether `snake` is `word` or ends in "_word"; `before` is what stands before it.
bool EndsInWord(absl::string_view snake, absl::string_view word, absl::string_view& before) {
  before = snake;
  return absl::ConsumeSuffix(&before, word) && (before.empty() || absl::ConsumeSuffix(&before, "_"));
}

// Names whose value is a secret. "tokenizer", "num_tokens", "key_value" are not; nor are the tokens of a tokenizer.
bool NamesASecret(absl::string_view name) {
  static constexpr absl::string_view kSecret[] = {
      "password", "passwd", "passphrase", "pwd",           "secret",      "secrets",    "secret_key",  "secretkey",
      "api_key",  "apikey", "access_key", "access_key_id", "private_key", "credential", "credentials", "authorization",
      "auth",     "token",  "apitoken",   "cookie",        "signature",   "sig",        "sk",          "ak",
      "wandb_key", "swanlab_key", "comet_key", "hub_key", "ssh_key", "account_key", "client_key", "master_key",
      "encryption_key", "license_key", "deploy_key", "service_key", "storage_key", "signing_key", "session_key"};
  static constexpr absl::string_view kTokensOfText[] = {
      "bos",     "eos",        "pad",    "unk",    "cls",    "sep",    "mask",  "image", "video", "audio",
      "special", "additional", "stop",   "start",  "end",    "begin",  "last",  "first", "next",  "new",
      "sink",    "per",        "drop",   "eot",    "eod",    "boi",    "eoi",   "by",    "extra", "reserved",
      "fill",    "prefix",     "suffix", "middle", "speech", "vision", "prompt"};
  std::string snake = SnakeName(name);
  while (!snake.empty() && (absl::ascii_isdigit(static_cast<unsigned char>(snake.back())) || snake.back() == '_')) {
    snake.pop_back();  // "password_2"
  }
  absl::string_view before;
  for (absl::string_view word : kSecret) {
    if (!EndsInWord(snake, word, before)) continue;
    if (word != "token") return true;
    const absl::string_view kind = before.substr(before.rfind('_') + 1);  // npos + 1 is 0
    if (!absl::c_linear_search(kTokensOfText, kind)) return true;
  }
  return false;
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

constexpr char kTokenForm[] =
    R"(-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*)|\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,})"
    R"(|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{12,})"
    R"(|A(?:KIA|SIA|ROA|IDA)[A-Z0-9]{12,}|xox[abeprs]-[A-Za-z0-9-]{10,}|AIza[0-9A-Za-z_-]{30,})"
    R"(|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_.-]{10,}))";

// Neither leaps over the end of a line: what stands there may be the name of another secret.
constexpr char kAuthorization[] =
    R"((?i)(\bauthorization["']?[ \t]*[:=][ \t]*["']?(?:[a-z]+[ \t]+)?|\bbearer[ \t]+|-u[ \t]+[^\s:"']+:)[^\s"',;}-])"
    R"([^\s"',;}]*)";

struct Counts {
  int upper = 0, lower = 0, digits = 0, slashes = 0, others = 0;
};

Counts Count(absl::string_view word) {
  Counts counts;
  for (char c : word) {
    const auto u = static_cast<unsigned char>(c);
    ++(absl::ascii_isupper(u)   ? counts.upper
       : absl::ascii_islower(u) ? counts.lower
       : absl::ascii_isdigit(u) ? counts.digits
       : c == '/'               ? counts.slashes
                                : counts.others);
  }
  return counts;
}

// Access keys of AWS and Huawei Cloud: 20 capitals and digits; secret keys: 40 letters and digits of both cases
// (AWS: also '/' and '+'). Digests are hexadecimal, version words ("V100R001C18") have their own shape.
bool LooksLikeCloudKey(absl::string_view word) {
  static const RE2* const kVersionWord = new RE2(R"(V\d+R\d+C\d+\w*)");
  const Counts n = Count(word);
  if (word.size() == 20) {
    return n.digits >= 1 && n.upper >= 5 && n.upper + n.digits == 20 && !RE2::FullMatch(Piece(word), *kVersionWord);
  }
  return word.size() == 40 && n.upper >= 5 && n.lower >= 5 && n.digits >= 1 && n.slashes <= 4 && word[0] != '/';
}

bool IsNameChar(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
}

std::size_t SkipBlanks(absl::string_view text, std::size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
  return at;
}

// A name and what stands between it and its value: "--api-key X", "token=X", "'password': 'X Y'".
struct Named {
  absl::string_view name;
  std::size_t value = 0;  // where the value begins; 0: this name has none
  bool assigned = false;  // by '=' or ':', not by a blank alone
};

Named ReadNamed(absl::string_view text, std::size_t start, std::size_t end) {
  Named named;
  named.name = text.substr(start, end - start);
  const bool quoted = end < text.size() && (text[end] == '"' || text[end] == '\'');
  const std::size_t mark = SkipBlanks(text, end + (quoted ? 1 : 0));
  if (mark >= text.size()) return named;
  if (text[mark] == '=' || text[mark] == ':') {
    named.assigned = true;
    named.value = SkipBlanks(text, mark + 1);
  } else if (!quoted && mark > end) {
    named.value = mark;
  }
  return named;
}

bool MustMask(const Named& named, absl::string_view value) {
  // The next option is no value.
  if (absl::StartsWith(value, "--") || !NamesASecret(named.name)) return false;
  if (named.assigned) return true;
  // In prose a name is followed by a word that is no value.
  const std::string snake = SnakeName(named.name);
  return absl::StartsWith(named.name, "-") || absl::EndsWith(snake, "password") || absl::EndsWith(snake, "key");
}

// A quoted value with its quotes (an open quote ends with the line), else up to what ends a word.
std::size_t ValueSize(absl::string_view text) {
  if (text.empty()) return 0;
  if (text[0] != '"' && text[0] != '\'') return std::min(text.find_first_of(" \t\r\n&\"',;})]"), text.size());
  const std::size_t close = text.find(text[0], 1);
  if (close != absl::string_view::npos) return close + 1;
  return std::min(text.find('\n'), text.size());
}

// By hand and in one pass: a pattern that holds the value would be matched again from every name within a long one.
std::string WithoutNamed(absl::string_view text) {
  std::string out;
  std::size_t copied = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (!IsNameChar(text[at])) {
      ++at;
      continue;
    }
    const std::size_t start = at;
    while (at < text.size() && IsNameChar(text[at])) ++at;
    const Named named = ReadNamed(text, start, at);
    if (named.value == 0 || named.value >= text.size() || !MustMask(named, text.substr(named.value))) continue;
    const std::size_t size = ValueSize(text.substr(named.value));
    if (size == 0) continue;
    absl::StrAppend(&out, text.substr(copied, named.value - copied), kMask);
    copied = at = named.value + size;
  }
  return absl::StrCat(out, text.substr(copied));
}

std::string WithoutCloudKeys(absl::string_view text) {
  static const RE2* const kWord = new RE2(R"([A-Za-z0-9/+]{20,})");
  std::string out;
  re2::StringPiece word;
  std::size_t copied = 0;
  std::size_t from = 0;
  while (from < text.size() && kWord->Match(Piece(text), from, text.size(), RE2::UNANCHORED, &word, 1)) {
    const auto start = static_cast<std::size_t>(word.data() - text.data());
    from = start + word.size();
    if (!LooksLikeCloudKey(absl::string_view(word.data(), word.size()))) continue;
    absl::StrAppend(&out, text.substr(copied, start - copied), kMask);
    copied = from;
  }
  return absl::StrCat(out, text.substr(copied));
}

void Withhold(absl::string_view name, absl::string_view key, v1::Setting& setting) {
  if (!key.empty()) setting.set_keyed_hash(HmacSha256(key, absl::StrCat(name, "=", setting.raw_value())));
  setting.clear_value();
  setting.clear_raw_value();
}

void CleanTexts(v1::Value& value) {
  if (value.kind_case() == v1::Value::kText) value.set_text(WithoutSecrets(value.text()));
  if (value.kind_case() != v1::Value::kList) return;
  for (v1::Value& item : *value.mutable_list()->mutable_items()) {
    if (item.kind_case() == v1::Value::kText) item.set_text(WithoutSecrets(item.text()));
    if (item.kind_case() != v1::Value::kList) continue;
    for (v1::Value& inner : *item.mutable_list()->mutable_items()) {
      if (inner.kind_case() == v1::Value::kText) inner.set_text(WithoutSecrets(inner.text()));
    }
  }
}

bool IsFlag(const v1::Value& value) {
  return value.kind_case() == v1::Value::kBoolean || value.kind_case() == v1::Value::kNull;
}

}  // namespace

const std::string& ProcessRedactionKey() {
  static const std::string* const key = [] {
    std::random_device device;
    auto* bytes = new std::string;
    for (int i = 0; i < 8; ++i) absl::StrAppend(bytes, device(), ".");
    return bytes;
  }();
  return *key;
}

std::string WithoutSecrets(absl::string_view text) {
  static const RE2* const token = new RE2(kTokenForm);
  static const RE2* const authorization = new RE2(kAuthorization);
  if (text.size() < 2) return std::string(text);
  std::string out = WithoutUrlUsers(text);
  RE2::GlobalReplace(&out, *token, kMask);
  RE2::GlobalReplace(&out, *authorization, absl::StrCat("\\1", kMask));
  return WithoutCloudKeys(WithoutNamed(out));
}

std::vector<std::string> WithoutSecrets(absl::Span<const std::string> words) {
  std::vector<std::string> out;
  bool value_follows = false;
  bool short_password = false;  // a program whose -p is a password
  for (const std::string& word : words) {
    const bool option = absl::StartsWith(word, "--") || (word.size() == 2 && word[0] == '-');
    const std::size_t equals = word.find('=');
    if (std::exchange(value_follows, false) && !option) {
      out.push_back(kMask);
    } else if (equals != std::string::npos && NamesASecret(absl::string_view(word).substr(0, equals))) {
      out.push_back(absl::StrCat(word.substr(0, equals + 1), kMask));
    } else if (!out.empty() && out.back() == "-u" && absl::StrContains(word, ':')) {
      out.push_back(absl::StrCat(word.substr(0, word.find(':') + 1), kMask));
    } else if (short_password && absl::StartsWith(word, "-p") && word.size() > 2) {
      out.push_back(absl::StrCat("-p", kMask));
    } else {
      out.push_back(WithoutSecrets(word));
      value_follows = (absl::StartsWith(word, "-") && equals == std::string::npos && NamesASecret(word)) ||
                      (short_password && word == "-p");
    }
    short_password = short_password || absl::EndsWith(word, "sshpass") || absl::EndsWith(word, "mysql");
  }
  return out;
}

void WithholdSecrets(const SettingsRules& rules, v1::SettingsDocument& document, absl::string_view key) {
  const bool environment = document.format() == "environment" || document.kind() == "environment";
  for (v1::Setting& setting : *document.mutable_settings()) {
    absl::string_view name = setting.raw_key();
    const bool variable = environment || absl::ConsumePrefix(&name, "env.");
    if (variable ? !rules.InClear(name) : NamesASecret(name) && !IsFlag(setting.value())) {
      Withhold(name, key, setting);
      continue;
    }
    setting.set_raw_value(WithoutSecrets(setting.raw_value()));
    if (setting.has_value()) CleanTexts(*setting.mutable_value());
  }
  for (v1::Note& note : *document.mutable_notes()) note.set_message(WithoutSecrets(note.message()));
}

}  // namespace paritect
