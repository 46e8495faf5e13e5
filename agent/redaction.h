// What must not leave a node: values of environment variables outside the allow-list, secrets in any other setting,
// in command lines and in texts that quote input.
#ifndef PARITECT_AGENT_REDACTION_H_
#define PARITECT_AGENT_REDACTION_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "paritect/v1/settings.pb.h"
#include "rules/settings_rules.h"

namespace paritect {

// Withholds in place: an environment variable (kind "environment", or "env.NAME" of a launch script) outside the
// allow-list, and a key that names a secret (token, password, api_key ...) unless its value is a boolean or null.
// A withheld setting has neither value nor raw_value. With a `key` (one per audit, given by who audits) its
// keyed_hash is HMAC-SHA256(key, "NAME=VALUE"), so that equal values are equal within the audit and nothing
// can be tried out without the key; without a key there is no hash at all. What stays is cleaned by WithoutSecrets.
void WithholdSecrets(const SettingsRules& rules, v1::SettingsDocument& document, absl::string_view key);

// Whether a value was taken out (a value that a script does not tell has its raw text).
inline bool IsWithheld(const v1::Setting& setting) {
  return !setting.has_value() && setting.raw_value().empty();
}

// A random key for an audit within this process: nothing outside can make or check its hashes.
const std::string& ProcessRedactionKey();

// The text with "***" for users and passwords in URLs, tokens of known forms (Hugging Face, GitHub, GitLab, OpenAI,
// AWS, Huawei Cloud, Slack, JWT ...), private keys in PEM, authorization headers, and values of options, fields and
// variables that name a secret ("--api-key X", "token=X", "password: X"). For notes and messages that quote input.
std::string WithoutSecrets(absl::string_view text);

// A command line: the same over its words, where an option's value may be the next word.
std::vector<std::string> WithoutSecrets(absl::Span<const std::string> words);

}  // namespace paritect

#endif  // PARITECT_AGENT_REDACTION_H_
