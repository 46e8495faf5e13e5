#include "agent/redaction.h"

#include <random>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/digest.h"
#include "re2/re2.h"

namespace paritect {
namespace {

const std::string& ProcessKey() {
  static const std::string* const key = [] {
    std::random_device device;
    auto* bytes = new std::string;
    for (int i = 0; i < 8; ++i) absl::StrAppend(bytes, device(), ".");
    return bytes;
  }();
  return *key;
}

// HMAC-like: the key on both ends, lengths told apart by the separator.
std::string KeyedHash(absl::string_view name, absl::string_view value) {
  return Sha256(absl::StrCat(ProcessKey(), name, "=", Sha256(absl::StrCat(ProcessKey(), value)), ProcessKey()));
}

// Names whose value is a secret. "tokenizer", "num_tokens", "max_tokens", "key_value" and the like are not.
bool NamesASecret(absl::string_view raw_key) {
  static const RE2* const kSecret = new RE2(
      "(?i)(^|[._-])(password|passwd|pwd|secret|secrets|api[_-]?key|access[_-]?key(_id)?|secret[_-]?key|private[_-]?"
      "key|"
      "credential|credentials|auth|auth[_-]?token|access[_-]?token|(hf|hub|github|wandb|bearer)[_-]?token|token|"
      "session[_-]?token|sk|ak|cookie)$");
  return RE2::PartialMatch(re2::StringPiece(raw_key.data(), raw_key.size()), *kSecret);
}

constexpr char kUrlUser[] = R"(([a-zA-Z][a-zA-Z0-9+.-]*://)[^/\s:@]+(:[^/\s@]*)?@)";
constexpr char kTokenForm[] =
    R"(\b(hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{16,}|glpat-[A-Za-z0-9_-]{12,})"
    R"(|AKIA[A-Z0-9]{12,}|xox[abp]-[A-Za-z0-9-]{10,}|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_.-]{10,}))";
constexpr char kSecretOption[] =
    R"((?i)((?:password|passwd|secret|api[_-]?key|access[_-]?key|auth[_-]?token|access[_-]?token|[?&\s-]token)"
    R"(|x-amz-signature)(?:=|\s+|:\s*))[^\s&"',}]+)";

void Withhold(absl::string_view name, v1::Setting& setting) {
  setting.set_keyed_hash(KeyedHash(name, setting.raw_value()));
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

}  // namespace

std::string WithoutSecrets(absl::string_view text) {
  static const RE2* const url = new RE2(kUrlUser);
  static const RE2* const token = new RE2(kTokenForm);
  static const RE2* const option = new RE2(kSecretOption);
  std::string out(text);
  if (absl::StrContains(out, "://")) RE2::GlobalReplace(&out, *url, "\\1***@");
  RE2::GlobalReplace(&out, *token, "***");
  RE2::GlobalReplace(&out, *option, "\\1***");
  return out;
}

void WithholdSecrets(const SettingsRules& rules, v1::SettingsDocument& document) {
  const bool environment = document.format() == "environment" || document.kind() == "environment";
  for (v1::Setting& setting : *document.mutable_settings()) {
    absl::string_view name = setting.raw_key();
    const bool variable = environment || absl::ConsumePrefix(&name, "env.");
    if (variable ? !rules.InClear(name) : NamesASecret(name)) {
      Withhold(name, setting);
      continue;
    }
    setting.set_raw_value(WithoutSecrets(setting.raw_value()));
    if (setting.has_value()) CleanTexts(*setting.mutable_value());
  }
  for (v1::Note& note : *document.mutable_notes()) note.set_message(WithoutSecrets(note.message()));
}

}  // namespace paritect
