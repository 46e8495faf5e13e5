// What must not leave a node: values of environment variables outside the allow-list, secrets in any other setting,
// in command lines and in texts that quote input. What a secret is: rules/secrets.h.
#ifndef PARITECT_AGENT_REDACTION_H_
#define PARITECT_AGENT_REDACTION_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "paritect/v1/evidence.pb.h"
#include "paritect/v1/settings.pb.h"
#include "rules/settings_rules.h"

namespace paritect {

struct RedactionOptions {
  std::string key;  // of the audit, given by who audits; empty: withheld values leave no hash
  // Globs over names of settings that a person of this node lets leave in clear. Secrets that their form gives away
  // (a private key, a GitHub token, a password in a URL) are masked all the same.
  std::vector<std::string> in_clear;
};

// Withholds in place: an environment variable (kind "environment", or "env.NAME" of a launch script) outside the
// allow-list, a value under a name of a secret, and under a name that no rule knows a value that looks drawn by lot. A
// withheld setting has neither value nor raw_value. With a key its keyed_hash is HMAC-SHA256(key, "NAME=VALUE"), so
// that equal values are equal within the audit and nothing can be tried out without the key. What stays is cleaned by
// WithoutSecrets. A note "secrets_withheld" tells how many settings were withheld or cleaned, and which.
void WithholdSecrets(const SettingsRules& rules, v1::SettingsDocument& document, const RedactionOptions& options);

// The same for everything in a piece of evidence that quotes input: settings, notes, the end of a log, lines that were
// not read, reasons. Paths and names of files stay: they are what is compared. To be done twice changes nothing.
void WithholdSecrets(const SettingsRules& rules, v1::Evidence& evidence, const RedactionOptions& options);

// Texts of a log that quote it: notes, its end, lines that were not read. Its settings: see above.
void WithholdSecrets(v1::RunLog& log);

// What a plan states by itself (facts).
void WithholdSecrets(v1::PlanInfo& plan);

// Whether a value was taken out (a value that a script does not tell has its raw text).
inline bool IsWithheld(const v1::Setting& setting) {
  return !setting.has_value() && setting.raw_value().empty();
}

// A random key for an audit within this process: nothing outside can make or check its hashes.
const std::string& ProcessRedactionKey();

// The text with "***" for users and passwords in URLs, secrets that their form gives away, addresses of web hooks,
// values of options, fields and variables that name a secret ("--api-key X", "token=X", "密码: X", `"tokens": ["X"]`,
// `["--api-key", "X"]`), and what programs are given by short options ("sshpass -p X", "mysql -pX").
std::string WithoutSecrets(absl::string_view text);

// A command line: the same over its words, where an option's value may be the next word.
std::vector<std::string> WithoutSecrets(absl::Span<const std::string> words);

}  // namespace paritect

#endif  // PARITECT_AGENT_REDACTION_H_
