// What the format of a settings document, or its kind, says beyond its keys. Data: rules/data/settings_formats.yaml,
// where each fact is explained.
#ifndef PARITECT_RULES_SETTINGS_FORMATS_H_
#define PARITECT_RULES_SETTINGS_FORMATS_H_

#include "rules/fact_table.h"

namespace paritect {

struct SettingsFormatFacts {
  bool kind_of_plans = false;
  bool no_arguments = false;
  bool printed = false;
  bool in_logs = false;
  bool is_log = false;
  bool launches = false;
  bool document = false;
  bool any_document = false;
  bool decides_type = false;
  bool scales_fp16 = false;
  bool autocast_trainer = false;
  bool deepspeed = false;
  bool samples_of_all_epochs = false;
  bool decay_after_warmup = false;
  bool states_all = false;
};

using SettingsFormatTable = FactTable<SettingsFormatFacts>;

absl::StatusOr<SettingsFormatTable> ReadSettingsFormats(const DocumentNode& root);

// All rows, by the name of a format or kind. Lives for ever.
const SettingsFormatTable& BuiltInSettingsFormats();
// Of a format or kind by its name.
const SettingsFormatFacts& FactsOfSettingsFormat(absl::string_view format);

}  // namespace paritect

#endif  // PARITECT_RULES_SETTINGS_FORMATS_H_
