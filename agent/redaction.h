// What must not leave a node: values of environment variables outside the allow-list, secrets in any other setting.
#ifndef PARITECT_AGENT_REDACTION_H_
#define PARITECT_AGENT_REDACTION_H_

#include <string>

#include "absl/strings/string_view.h"
#include "paritect/v1/settings.pb.h"
#include "rules/settings_rules.h"

namespace paritect {

// Withholds in place: an environment variable (kind "environment", or "env.NAME" of a launch script) outside the
// allow-list, a key that names a secret (token, password, api_key ...), user and password in a URL, a value in the form
// of a known token. A withheld value is cleared, its keyed hash stands instead: equal values within this
// process have equal hashes, and without the key (random, never stored) nothing can be tried out on them.
void WithholdSecrets(const SettingsRules& rules, v1::SettingsDocument& document);

// The text without user:password in URLs, without known token forms and without values of secret options
// ("--api-key X", "token=X"): for notes and messages that quote input.
std::string WithoutSecrets(absl::string_view text);

}  // namespace paritect

#endif  // PARITECT_AGENT_REDACTION_H_
