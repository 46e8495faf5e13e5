#include "checks/scripts/one_process.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "rules/launchers.h"
#include "rules/one_process.h"
#include "rules/settings_rules.h"

namespace paritect {
namespace {

// The notes of formats/python/process_proof.h.
constexpr absl::string_view kOneProcessNote = "one_process";
constexpr absl::string_view kOtherProcessesNote = "other_processes";
constexpr absl::string_view kVendorFolder = "/Ascend/";  // CANN's own modules (set_env.sh)

const v1::Note* ProcessNote(const v1::ScriptTree& tree) {
  for (const v1::Note& note : tree.notes()) {
    if (note.kind() == kOneProcessNote || note.kind() == kOtherProcessesNote) return &note;
  }
  return nullptr;
}

// A search path that holds the vendor's folders only.
bool IsOfVendor(absl::string_view path) {
  const std::vector<absl::string_view> parts = absl::StrSplit(path, ':', absl::SkipEmpty());
  return !parts.empty() && std::all_of(parts.begin(), parts.end(), [](absl::string_view part) {
    return absl::StrContains(absl::StrCat(part, "/"), kVendorFolder);
  });
}

// Whether a setting speaks of other processes, or of other code than what was read.
bool Speaks(const v1::SettingsDocument& document, const v1::Setting& setting) {
  absl::string_view name = setting.raw_key();
  const bool variable =
      absl::ConsumePrefix(&name, "env.") || document.format() == "environment" || document.kind() == "environment";
  if (variable) {
    if (BuiltInLaunchers().Tells(name)) return true;
    return BuiltInOneProcessRules().variables.contains(name) && !IsOfVendor(setting.raw_value());
  }
  const std::string key = NormaliseSettingKey(name.substr(name.rfind('.') + 1));
  return BuiltInOneProcessRules().ranks.contains(key);
}

class Collector {
 public:
  bool Take(const v1::Evidence& evidence) {
    const bool needed = evidence.kind() == v1::EVIDENCE_KIND_SCRIPTS || evidence.kind() == v1::EVIDENCE_KIND_SETTINGS;
    if (evidence.outcome() != v1::OUTCOME_COLLECTED) return !needed;
    if (evidence.rank() > 0 || evidence.shards().world_size() > 1) return false;
    for (const v1::StepRecord& record : evidence.run_log().records()) {
      if (record.rank() > 0) return false;
    }
    for (const v1::SettingsDocument& document : evidence.run_log().settings()) {
      if (!TakeDocument(document)) return false;
    }
    if (evidence.has_settings() && !TakeDocument(evidence.settings())) return false;
    if (!evidence.has_script_tree()) return true;
    if (tree_ != nullptr) return false;
    tree_ = &evidence.script_tree();
    return true;
  }

  std::optional<v1::Setting> Finish() const {
    if (tree_ == nullptr || alone_ == nullptr || tree_->entries_size() != 1) return std::nullopt;
    const v1::Note* note = ProcessNote(*tree_);
    if (note == nullptr || note->kind() != kOneProcessNote) return std::nullopt;
    absl::string_view script = alone_->raw_value();
    script = script.substr(script.rfind(' ') + 1);
    while (absl::ConsumePrefix(&script, "./")) {
    }
    const std::string& entry = tree_->entries(0);
    if (entry != script && !absl::EndsWith(entry, absl::StrCat("/", script))) return std::nullopt;
    v1::Setting setting;
    setting.set_raw_key("world_size");
    setting.set_raw_value("1");
    setting.mutable_value()->set_integer(1);
    setting.set_origin(absl::StrCat(alone_->origin(), " · ", alone_->raw_value(), " · ", note->message()));
    return setting;
  }

 private:
  bool TakeDocument(const v1::SettingsDocument& document) {
    const bool launch = document.format() == "launch-script";
    if (launch && launched_) return false;
    launched_ = launched_ || launch;
    for (const v1::Setting& setting : document.settings()) {
      if (launch && setting.raw_key() == "launch.alone") alone_ = &setting;
      if (Speaks(document, setting)) return false;
    }
    return true;
  }

  const v1::ScriptTree* tree_ = nullptr;
  const v1::Setting* alone_ = nullptr;
  bool launched_ = false;
};

}  // namespace

std::optional<v1::Setting> ProvenOneProcess(const RunView& run) {
  if (run.nodes.size() != 1) return std::nullopt;
  Collector collector;
  for (const v1::Evidence& evidence : run.nodes[0]->evidence()) {
    if (!collector.Take(evidence)) return std::nullopt;
  }
  return collector.Finish();
}

std::string WhyNotOneProcess(const RunView& run) {
  for (const v1::Bundle* bundle : run.nodes) {
    for (const v1::Evidence& evidence : bundle->evidence()) {
      const v1::Note* note = evidence.has_script_tree() ? ProcessNote(evidence.script_tree()) : nullptr;
      if (note != nullptr && note->kind() == kOtherProcessesNote) return note->message();
    }
  }
  return "";
}

}  // namespace paritect
