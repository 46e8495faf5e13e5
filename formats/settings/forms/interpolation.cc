#include "formats/settings/forms/interpolation.h"

#include <map>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/numbers.h"
#include "formats/settings/builder.h"
#include "formats/settings/shell/shell_variables.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr int kRoundsMax = 16;
constexpr int kMadeMax = 10'000;
constexpr std::size_t kTextMax = 64 << 10;

std::int64_t LineOf(const v1::Setting& setting) {
  const std::size_t colon = setting.origin().rfind(':');
  return colon == std::string::npos ? 0 : ParseInt(setting.origin().substr(colon + 1)).value_or(0);
}

class Resolver {
 public:
  explicit Resolver(v1::SettingsDocument& document) : document_(document) {}

  void Run() {
    for (int i = 0; i < document_.settings_size(); ++i) places_.emplace(document_.settings(i).raw_key(), i);
    for (int round = 0; round < kRoundsMax && Round(); ++round) {
    }
    for (v1::Setting& setting : *document_.mutable_settings()) {
      if (!setting.has_value() || !Refers(setting)) continue;
      setting.clear_value();
      v1::Note& note = *document_.add_notes();
      note.set_kind("unresolved_reference");
      note.set_line(LineOf(setting));
      note.set_message(StrCat(setting.raw_key(), ": ", setting.raw_value(), " is not known from this file"));
    }
  }

 private:
  static bool Refers(const v1::Setting& setting) {
    return setting.value().kind_case() == v1::Value::kText && absl::StrContains(setting.value().text(), "${");
  }

  // True where a reference was resolved.
  bool Round() {
    bool changed = false;
    std::vector<v1::Setting> made;
    for (int i = 0; i < document_.settings_size(); ++i) {
      v1::Setting& setting = *document_.mutable_settings(i);
      if (Refers(setting)) changed = Resolve(setting, made) || changed;
    }
    for (v1::Setting& one : made) {
      if (places_.emplace(one.raw_key(), document_.settings_size()).second) *document_.add_settings() = std::move(one);
    }
    return changed;
  }

  bool Resolve(v1::Setting& setting, std::vector<v1::Setting>& made) {
    const std::string text = setting.value().text();
    const std::size_t begin = text.find("${");
    const std::size_t end = ClosingBrace(text, begin);
    if (end == std::string::npos) return false;
    const std::string inside = text.substr(begin + 2, end - begin - 2);
    if (absl::StrContains(inside, "${")) return ResolveInner(setting, text, begin + 2);
    const bool whole = begin == 0 && end + 1 == text.size();
    bool fallback = false;
    const std::optional<v1::Value> value = ValueOf(setting.raw_key(), inside, fallback);
    if (!value) return whole && CopyMap(setting, inside, made);
    if (value->kind_case() == v1::Value::kText && absl::StrContains(value->text(), StrCat("${", inside, "}")))
      return false;
    setting.set_is_default(setting.is_default() || fallback);
    if (whole) {
      *setting.mutable_value() = *value;
      return true;
    }
    const std::string joined = StrCat(text.substr(0, begin), Spelled(*value), text.substr(end + 1));
    if (joined.size() > kTextMax) return false;
    *setting.mutable_value() = absl::StrContains(joined, "${") ? TextValue(joined) : ValueOfText(joined);
    return true;
  }

  // "${a.${b}}": the inner reference first.
  bool ResolveInner(v1::Setting& setting, const std::string& text, std::size_t from) {
    const std::size_t begin = text.find("${", from);
    const std::size_t end = ClosingBrace(text, begin);
    if (end == std::string::npos) return false;
    bool fallback = false;
    const auto value = ValueOf(setting.raw_key(), text.substr(begin + 2, end - begin - 2), fallback);
    if (!value) return false;
    const std::string spelled = Spelled(*value);
    if (absl::StrContains(spelled, "${") || text.size() + spelled.size() > kTextMax) return false;
    setting.mutable_value()->set_text(StrCat(text.substr(0, begin), spelled, text.substr(end + 1)));
    setting.set_is_default(setting.is_default() || fallback);
    return true;
  }

  // The key that a reference in `from` names; ".b" starts at the folder of `from`.
  static std::string Absolute(absl::string_view from, absl::string_view name) {
    if (!absl::StartsWith(name, ".")) return std::string(name);
    while (absl::ConsumePrefix(&name, ".")) from = from.substr(0, from.rfind('.') == from.npos ? 0 : from.rfind('.'));
    return from.empty() ? std::string(name) : StrCat(from, ".", name);
  }

  std::optional<v1::Value> ValueOf(absl::string_view from, absl::string_view inside, bool& fallback) const {
    const std::size_t comma = inside.find(',');
    const absl::string_view other =
        comma == inside.npos ? absl::string_view() : absl::StripAsciiWhitespace(inside.substr(comma + 1));
    if (absl::ConsumePrefix(&inside, "oc.env:")) {
      fallback = true;
      if (comma == absl::string_view::npos) return std::nullopt;
      return ValueOfText(other);
    }
    if (absl::ConsumePrefix(&inside, "oc.decode:")) return ValueOfText(inside);
    const bool select = absl::ConsumePrefix(&inside, "oc.select:");
    if (select && comma != absl::string_view::npos) inside = inside.substr(0, inside.find(','));
    if (!select && absl::StrContains(inside, ':')) return std::nullopt;
    auto it = places_.find(Absolute(from, absl::StripAsciiWhitespace(inside)));
    if (it != places_.end() && document_.settings(it->second).has_value())
      return document_.settings(it->second).value();
    if (select && !other.empty()) return ValueOfText(other);
    return std::nullopt;
  }

  bool CopyMap(v1::Setting& setting, const std::string& inside, std::vector<v1::Setting>& made) {
    const std::string prefix = StrCat(Absolute(setting.raw_key(), inside), ".");
    if (absl::StrContains(inside, ':') || absl::StartsWith(StrCat(setting.raw_key(), "."), prefix)) return false;
    bool any = false;
    for (auto it = places_.lower_bound(prefix); it != places_.end() && absl::StartsWith(it->first, prefix); ++it) {
      if (++made_ > kMadeMax) return false;
      v1::Setting copy = document_.settings(it->second);
      copy.set_raw_key(StrCat(setting.raw_key(), ".", it->first.substr(prefix.size())));
      made.push_back(std::move(copy));
      any = true;
    }
    if (any) setting.mutable_value()->set_null(true);
    return any;
  }

  static v1::Value TextValue(const std::string& text) {
    v1::Value value;
    value.set_text(text);
    return value;
  }

  static std::string Spelled(const v1::Value& value) {
    switch (value.kind_case()) {
      case v1::Value::kBoolean: return value.boolean() ? "true" : "false";
      case v1::Value::kInteger: return StrCat(value.integer());
      case v1::Value::kNumber: return FormatDouble(value.number());
      case v1::Value::kText: return value.text();
      default: return "null";
    }
  }

  v1::SettingsDocument& document_;
  std::map<std::string, int> places_;
  int made_ = 0;
};

}  // namespace

void ResolveReferences(v1::SettingsDocument& document) {
  for (const v1::Setting& setting : document.settings()) {
    if (setting.value().kind_case() == v1::Value::kText && absl::StrContains(setting.value().text(), "${")) {
      return Resolver(document).Run();
    }
  }
}

}  // namespace paritect
