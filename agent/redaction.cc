#include "agent/redaction.h"

#include <map>
#include <random>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/digest.h"
#include "common/glob.h"
#include "common/utf8.h"
#include "rules/secrets.h"

namespace paritect {
namespace {

constexpr char kMask[] = "***";
constexpr std::size_t kNamesShown = 8;
constexpr int kValueDepthMax = 64;  // the messages' own bound is 100

// Counts what a document lost, for its note.
struct Tally {
  std::vector<std::string> names;
  std::size_t count = 0;
  void Add(absl::string_view name) {
    ++count;
    if (names.size() < kNamesShown) names.push_back(DisplayBytes(name.substr(0, 80)));
  }
};

void Withhold(absl::string_view name, absl::string_view key, v1::Setting& setting) {
  if (!key.empty()) setting.set_keyed_hash(HmacSha256(key, absl::StrCat(name, "=", setting.raw_value())));
  setting.clear_value();
  setting.clear_raw_value();
}

// Lists are command lines as well: ["--api-key", "X"]. Whether anything was masked.
bool CleanTexts(v1::Value& value, int depth) {
  if (value.kind_case() == v1::Value::kText) {
    std::string clean = WithoutSecrets(value.text());
    const bool changed = clean != value.text();
    if (changed) value.set_text(std::move(clean));
    return changed;
  }
  if (value.kind_case() != v1::Value::kList || depth > kValueDepthMax) return false;
  bool changed = false;
  std::vector<std::string> words;
  for (v1::Value& item : *value.mutable_list()->mutable_items()) {
    if (item.kind_case() != v1::Value::kText) changed |= CleanTexts(item, depth + 1);
    words.push_back(item.kind_case() == v1::Value::kText ? item.text() : "");
  }
  const std::vector<std::string> clean = WithoutSecrets(absl::MakeConstSpan(words));
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (clean[i] == words[i]) continue;
    value.mutable_list()->mutable_items(static_cast<int>(i))->set_text(clean[i]);
    changed = true;
  }
  return changed;
}

// Whether all that a value under such a name says is innocent.
bool IsInnocent(const SecretFamily& family, const v1::Value& value, absl::string_view raw, int depth = 0) {
  switch (value.kind_case()) {
    case v1::Value::kBoolean:
    case v1::Value::kNull: return true;
    case v1::Value::kText: return BuiltInSecrets().IsInnocentValue(family, value.text());
    case v1::Value::kList:
      return depth < kValueDepthMax && absl::c_all_of(value.list().items(), [&](const v1::Value& item) {
               return IsInnocent(family, item, ValueToText(item), depth + 1);
             });
    default: return BuiltInSecrets().IsInnocentValue(family, raw);
  }
}

bool LooksDrawn(const v1::Value& value, int depth = 0) {
  if (value.kind_case() == v1::Value::kText) return LooksDrawnByLot(value.text());
  return value.kind_case() == v1::Value::kList && depth < kValueDepthMax &&
         absl::c_any_of(value.list().items(), [&](const v1::Value& item) { return LooksDrawn(item, depth + 1); });
}

class DocumentRedactor {
 public:
  DocumentRedactor(const SettingsRules& rules, const RedactionOptions& options, v1::SettingsDocument& document)
      : rules_(rules), options_(options), document_(document) {}

  void Run() {
    // What the node says of itself is read by us, not written by a person: serial numbers and bus ids are no secrets.
    const absl::string_view kind = document_.kind();
    of_the_node_ = kind == "devices" || kind == "packages" || kind == "versions" || kind == "host" || kind == "process";
    environment_ = document_.format() == "environment" || kind == "environment";
    for (const v1::Setting& setting : document_.settings()) {
      const bool names = setting.value().kind_case() == v1::Value::kText;
      if (names && BuiltInSecrets().NamesAnother(setting.raw_key())) {
        named_[EntryOf(setting.raw_key())] = setting.value().text();
      }
    }
    for (v1::Setting& setting : *document_.mutable_settings()) Clean(setting);
    for (v1::Note& note : *document_.mutable_notes()) note.set_message(WithoutSecrets(note.message()));
    if (tally_.count == 0) return;
    v1::Note& note = *document_.add_notes();
    note.set_kind("secrets_withheld");
    note.set_message(absl::StrCat(tally_.count, " withheld, which look like what stays on a node: ",
                                  absl::StrJoin(tally_.names, ", "), tally_.count > tally_.names.size() ? ", ..." : "",
                                  "; `in_clear` of the plan (on an agent: of its configuration) lets values leave"));
  }

 private:
  bool MayLeave(absl::string_view name) const {
    return absl::c_any_of(options_.in_clear, [name](const std::string& glob) { return GlobMatch(glob, name); });
  }

  // "environ.0" of "environ.0.name"
  static std::string EntryOf(absl::string_view name) {
    const std::size_t dot = name.rfind('.');
    return std::string(dot == absl::string_view::npos ? "" : name.substr(0, dot));
  }

  // Of the value of an entry that names what it is for.
  bool IsSecretOfItsEntry(absl::string_view name, const v1::Setting& setting) const {
    if (!BuiltInSecrets().ValuesAnother(name)) return false;
    const auto named = named_.find(EntryOf(name));
    const SecretFamily* const family = named == named_.end() ? nullptr : BuiltInSecrets().FamilyOf(named->second);
    return family != nullptr && !IsInnocent(*family, setting.value(), setting.raw_value());
  }

  bool IsSecret(absl::string_view name, const v1::Setting& setting) const {
    if (IsSecretOfItsEntry(name, setting)) return true;
    if (const SecretFamily* family = BuiltInSecrets().FamilyOf(name)) {
      return !IsInnocent(*family, setting.value(), setting.raw_value());
    }
    if (of_the_node_ || BuiltInSecrets().NamesAHash(name)) return false;
    return LooksDrawn(setting.value()) && rules_.Canonicalise(document_.format(), setting).empty();
  }

  void Clean(v1::Setting& setting) {
    if (IsWithheld(setting)) return;
    absl::string_view name = setting.raw_key();
    const bool variable = environment_ || absl::ConsumePrefix(&name, "env.");
    if (!MayLeave(name)) {
      if (variable && !rules_.InClear(name)) return Withhold(name, options_.key, setting);
      if (!variable && IsSecret(name, setting)) {
        tally_.Add(name);
        return Withhold(name, options_.key, setting);
      }
    }
    std::string clean = WithoutSecrets(setting.raw_value());
    bool changed = clean != setting.raw_value();
    setting.set_raw_value(std::move(clean));
    if (setting.has_value() && CleanTexts(*setting.mutable_value(), 0)) {
      changed = true;
      setting.set_raw_value(ValueToText(setting.value()));  // the two were masked apart: the stricter one holds
    }
    if (changed) tally_.Add(name);
  }

  const SettingsRules& rules_;
  const RedactionOptions& options_;
  v1::SettingsDocument& document_;
  bool environment_ = false;
  bool of_the_node_ = false;
  std::map<std::string, std::string> named_;  // by entry: what it names
  Tally tally_;
};

template <typename Notes>
void CleanNotes(Notes& notes) {
  for (v1::Note& note : notes) note.set_message(WithoutSecrets(note.message()));
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

void WithholdSecrets(const SettingsRules& rules, v1::SettingsDocument& document, const RedactionOptions& options) {
  DocumentRedactor(rules, options, document).Run();
}

void WithholdSecrets(const SettingsRules& rules, v1::Evidence& evidence, const RedactionOptions& options) {
  CleanNotes(*evidence.mutable_notes());
  if (evidence.has_problem()) {
    for (auto& [name, text] : *evidence.mutable_problem()->mutable_args()) {
      if (name != "source") text = WithoutSecrets(text);
    }
  }
  if (evidence.has_settings()) WithholdSecrets(rules, *evidence.mutable_settings(), options);
  if (evidence.has_shards()) CleanNotes(*evidence.mutable_shards()->mutable_notes());
  if (!evidence.has_run_log()) return;
  WithholdSecrets(*evidence.mutable_run_log());
  for (v1::SettingsDocument& document : *evidence.mutable_run_log()->mutable_settings()) {
    WithholdSecrets(rules, document, options);
  }
}

void WithholdSecrets(v1::RunLog& log) {
  CleanNotes(*log.mutable_notes());
  for (v1::UnparsedLine& line : *log.mutable_unparsed()) line.set_why(WithoutSecrets(line.why()));
  for (v1::StepRecord& record : *log.mutable_records()) CleanNotes(*record.mutable_notes());
  if (log.has_end()) log.mutable_end()->set_evidence(WithoutSecrets(log.end().evidence()));
}

void WithholdSecrets(v1::PlanInfo& plan) {
  for (auto& [name, value] : *plan.mutable_facts()) {
    if (value.kind_case() != v1::Value::kText) continue;
    const SecretFamily* family = BuiltInSecrets().FamilyOf(name);
    const bool secret = family != nullptr && !BuiltInSecrets().IsInnocentValue(*family, value.text());
    value.set_text(secret ? kMask : WithoutSecrets(value.text()));
  }
}

}  // namespace paritect
