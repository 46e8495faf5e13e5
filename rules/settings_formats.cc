#include "rules/settings_formats.h"

#include "rules/built_in.h"

namespace paritect {
namespace {

constexpr FactName<SettingsFormatFacts> kFacts[] = {
    {"kind_of_plans", &SettingsFormatFacts::kind_of_plans},
    {"no_arguments", &SettingsFormatFacts::no_arguments},
    {"printed", &SettingsFormatFacts::printed},
    {"in_logs", &SettingsFormatFacts::in_logs},
    {"is_log", &SettingsFormatFacts::is_log},
    {"launches", &SettingsFormatFacts::launches},
    {"document", &SettingsFormatFacts::document},
    {"any_document", &SettingsFormatFacts::any_document},
    {"decides_type", &SettingsFormatFacts::decides_type},
    {"scales_fp16", &SettingsFormatFacts::scales_fp16},
    {"autocast_trainer", &SettingsFormatFacts::autocast_trainer},
    {"deepspeed", &SettingsFormatFacts::deepspeed},
    {"samples_of_all_epochs", &SettingsFormatFacts::samples_of_all_epochs},
    {"decay_after_warmup", &SettingsFormatFacts::decay_after_warmup},
    {"states_all", &SettingsFormatFacts::states_all},
};

}  // namespace

absl::StatusOr<SettingsFormatTable> ReadSettingsFormats(const DocumentNode& root) {
  return ReadFactTable<SettingsFormatFacts>(root, kFacts);
}

const SettingsFormatTable& BuiltInSettingsFormats() {
  return BuiltInTable<&ReadSettingsFormats>("settings_formats.yaml");
}

const SettingsFormatFacts& FactsOfSettingsFormat(absl::string_view format) {
  return FactsOf(BuiltInSettingsFormats(), format);
}

}  // namespace paritect
