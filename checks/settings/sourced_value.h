// One value of one setting, and where it was read.
#ifndef PARITECT_CHECKS_SETTINGS_SOURCED_VALUE_H_
#define PARITECT_CHECKS_SETTINGS_SOURCED_VALUE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "paritect/v1/settings.pb.h"

namespace paritect {

// kScript: what the code of the training scripts says; everything that is stated elsewhere knows better what ran.
enum class SettingSource { kScript = -1, kDefault, kFact, kFile, kLaunch, kLog, kDerived };

struct SourcedValue {
  v1::Value value;   // typed by the canonical key
  std::string text;  // as written, for messages
  std::string raw_key;
  std::string origin;  // "file:line"; of a default: its description and source
  std::string format;  // "megatron-args", ...
  std::string node;
  std::string scope;  // optimizer group, engine, ...; "" where there is one
  SettingSource source = SettingSource::kFile;
  // The source gives it as a default that something else may have replaced (${LR:-0.1} of a script): it counts where
  // nothing else is stated, and contradicts nothing.
  bool replaceable = false;
  bool converted = false;  // `value` is another number or word than `text` (keep_prob)

  // The name as a reader knows it: "banner." says to the reader of logs alone that a trainer printed it as it began.
  absl::string_view shown_key() const { return absl::StripPrefix(raw_key, "banner."); }
};

}  // namespace paritect

#endif  // PARITECT_CHECKS_SETTINGS_SOURCED_VALUE_H_
