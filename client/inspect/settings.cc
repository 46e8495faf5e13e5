// inspect --as settings: what a configuration file (or a log) states, with canonical names.
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/redaction.h"
#include "client/inspector.h"
#include "common/numbers.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/settings/settings_format.h"
#include "rules/settings_formats.h"

namespace paritect {
namespace {

OrderedJson ValueToJson(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kBoolean: return value.boolean();
    case v1::Value::kInteger: return value.integer();
    case v1::Value::kNumber: return NumberToJson(value.number());
    case v1::Value::kText: return DisplayBytes(value.text());
    case v1::Value::kList: {
      OrderedJson list = OrderedJson::array();
      for (const v1::Value& item : value.list().items()) {
        list.push_back(item.kind_case() == v1::Value::kList ? OrderedJson(ValueToText(item)) : ValueToJson(item));
      }
      return list;
    }
    default: return nullptr;
  }
}

// The value in the type of its canonical key where one raw key is one canonical key of the same meaning.
OrderedJson TypedJson(const v1::Setting& setting, const std::vector<CanonicalSetting>& canonical) {
  if (canonical.size() == 1 && canonical[0].key->type != SettingType::kWord) {
    const v1::Value typed = TypedValue(canonical[0].key->type, setting.value());
    if (canonical[0].key->type != SettingType::kVersion) return ValueToJson(typed);
  }
  return ValueToJson(setting.value());
}

std::int64_t LineOf(absl::string_view origin) {
  const std::size_t colon = origin.rfind(':');
  return colon == absl::string_view::npos ? 0 : ParseInt(origin.substr(colon + 1)).value_or(0);
}

// A numeric setting with a text for a value.
OrderedJson NoNumber(const v1::Setting& setting, const CanonicalSetting& canonical) {
  v1::Note note;
  note.set_kind("no_number");
  note.set_line(LineOf(setting.origin()));
  note.set_message(absl::StrCat(setting.raw_key(), " (", canonical.key->key, ") should be a number, not '",
                                setting.raw_value(), "'"));
  return NoteToJson(note);
}

void AppendDocument(const Rules& rules, const v1::SettingsDocument& document, OrderedJson& list, OrderedJson& notes) {
  for (const v1::Setting& setting : document.settings()) {
    const auto canonical = rules.settings.Canonicalise(document.format(), setting);
    for (const CanonicalSetting& key : canonical) {
      if (IsNoNumber(key)) notes.push_back(NoNumber(setting, key));
    }
    OrderedJson one;
    one["key"] = canonical.empty() ? "" : canonical[0].key->key;
    one["raw_key"] = DisplayBytes(setting.raw_key());
    one["value"] = TypedJson(setting, canonical);
    one["raw_value"] = IsWithheld(setting) ? OrderedJson(nullptr) : OrderedJson(DisplayBytes(setting.raw_value()));
    one["origin"] = setting.origin();
    one["default"] = setting.is_default();
    if (!setting.scope().empty()) one["scope"] = DisplayBytes(setting.scope());
    list.push_back(std::move(one));
  }
}

OrderedJson Unknown(absl::string_view kind, absl::string_view message) {
  v1::Note note;
  note.set_kind(std::string(kind));
  note.set_message(std::string(message));
  OrderedJson json;
  json["format"] = "unknown";
  json["notes"] = OrderedJson::array({NoteToJson(note)});
  json["settings"] = OrderedJson::array();
  return json;
}

absl::StatusOr<OrderedJson> Inspect(CommandEnv& env, const InspectRequest& request) {
  OrderedJson notes = OrderedJson::array();
  OrderedJson settings = OrderedJson::array();
  std::string format;
  for (const std::string& file : request.files) {
    PARITECT_ASSIGN_OR_RETURN(std::string text, ReadWholeFile(env.fs, file, kSettingsBytesMax));
    auto documents = ReadSettings(text, DisplayBytes(BaseName(file)), "");
    if (absl::IsFailedPrecondition(documents.status())) {
      return Unknown("stand_in", absl::StrCat("no content of its own: ", documents.status().message()));
    }
    if (absl::IsUnimplemented(documents.status())) return Unknown("not_recognised", documents.status().message());
    if (!documents.ok()) return documents.status();
    for (v1::SettingsDocument& document : *documents) {
      WithholdSecrets(env.rules.settings, document, RedactionOptions());
      if (format.empty()) format = document.format();
      for (const v1::Note& note : document.notes()) notes.push_back(NoteToJson(note));
      AppendDocument(env.rules, document, settings, notes);
    }
  }
  OrderedJson json;
  json["format"] = format;
  json["notes"] = std::move(notes);
  if (request.summary) {
    json["count"] = settings.size();
  } else {
    json["settings"] = std::move(settings);
  }
  return json;
}

// Options that a script sets are a part of what it says: it is read as a script, as in folders without a plan. A
// configuration in Python is one.
bool IsScript(absl::string_view path, const SettingsFormat& format) {
  return absl::EndsWith(path, ".py") && format.name != "mmengine-config";
}

// Sure recognition only: a file of settings must not be taken for one of another kind, nor a log for one.
bool Recognises(absl::string_view path, bool is_folder, absl::string_view head) {
  if (is_folder) return false;
  int surely = 0;
  const SettingsFormat* format = SniffSettings(head, &surely);
  if (format != nullptr && IsScript(path, *format)) return false;
  return format != nullptr && surely >= 50 && !FactsOfSettingsFormat(format->name).is_log;
}

// A plain JSON, YAML or TOML file of which nobody else knew what it is; environment and package lists.
bool RecognisesPlain(absl::string_view path, bool is_folder, absl::string_view head) {
  const SettingsFormat* format = is_folder ? nullptr : SniffSettings(head);
  return format != nullptr && !IsScript(path, *format);
}

}  // namespace

extern const Inspector kSettingsInspector;
const Inspector kSettingsInspector = {"settings", &Recognises, &Inspect};
extern const Inspector kPlainSettingsInspector;
const Inspector kPlainSettingsInspector = {"settings", &RecognisesPlain, &Inspect};

}  // namespace paritect
