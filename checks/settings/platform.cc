#include "checks/settings/platform.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace paritect {
namespace {

using absl::StrCat;

struct Seen {
  const ProductFamily* family;
  std::string evidence;
  bool by_chip_name = false;
};

class Reader {
 public:
  explicit Reader(const Rules& rules) : rules_(rules) {}

  void Document(const v1::SettingsDocument& document) {
    const bool phy_id = HasPhyId(document);
    for (const v1::Setting& setting : document.settings()) {
      if (setting.raw_key() == "npu.board_id") Board(setting.raw_value(), setting.origin());
      for (const CanonicalSetting& one : rules_.settings.Canonicalise(document.format(), setting)) {
        if (one.key->key == "chip_name") Chip(ValueToText(one.value), phy_id, setting.origin());
        if (one.key->key == "pci_id") Pci(ValueToText(one.value), setting.origin());
      }
    }
  }

  // A board id tells the product whatever the chip is called; other products share chip names.
  void EndOfNode() {
    if (board_seen_) {
      seen_.erase(std::remove_if(seen_.begin() + static_cast<std::ptrdiff_t>(node_begins_), seen_.end(),
                                 [](const Seen& one) { return one.by_chip_name; }),
                  seen_.end());
    }
    board_seen_ = false;
    node_begins_ = seen_.size();
  }

  void Stated(const v1::PlanInfo& plan) {
    if (plan.platform().empty() || plan.platform() == "auto") return;
    const ProductFamily* family = rules_.products.FindFamily(plan.platform());
    if (family != nullptr)
      seen_.push_back({family, StrCat(plan.plan_file(), ": platform: ", plan.platform())});
    else
      unknown_.insert(plan.platform());
  }

  Platform Result() const {
    Platform platform;
    platform.unknown_names.assign(unknown_.begin(), unknown_.end());
    std::set<std::string> families;
    for (const Seen& one : seen_) families.insert(one.family->id);
    if (families.size() == 1) {
      platform.family = seen_[0].family;
      platform.evidence = seen_[0].evidence;
    }
    if (families.size() > 1) {
      std::set<std::string> told;
      for (const Seen& one : seen_) {
        if (told.insert(one.family->id).second)
          platform.conflicts.push_back(StrCat(one.family->name, " (", one.evidence, ")"));
      }
    }
    return platform;
  }

 private:
  static bool HasPhyId(const v1::SettingsDocument& document) {
    for (const v1::Setting& setting : document.settings()) {
      if (setting.raw_key() == "npu.layout" && setting.raw_value() == "phy-id") return true;
    }
    return false;
  }

  // npu-smi shows Atlas A3 as a bare "Ascend910" in a table with a Phy-ID column, which no other product has.
  void Chip(const std::string& name, bool phy_id, const std::string& origin) {
    const ProductFamily* family = rules_.products.FamilyOfChip(name);
    if (family == nullptr && phy_id && name == "Ascend910") family = rules_.products.FindFamily("atlas-a3");
    if (family == nullptr) {
      unknown_.insert(name);
    } else {
      seen_.push_back({family, StrCat(origin, ": ", name), family->npu});
    }
  }

  // Boards stand in the table of PCI ids, as "board:b0".
  void Board(absl::string_view id, const std::string& origin) {
    std::string lower = absl::AsciiStrToLower(id);
    absl::string_view digits = lower;
    absl::ConsumePrefix(&digits, "0x");
    const ProductFamily* family = rules_.products.FamilyOfPciId(StrCat("board:", digits));
    if (family == nullptr) return;
    board_seen_ = true;
    seen_.push_back({family, StrCat(origin, ": board ", id)});
  }

  // A list of PCI devices holds many others; an Ascend id that is not in the table is one to tell of.
  void Pci(const std::string& id, const std::string& origin) {
    if (const ProductFamily* family = rules_.products.FamilyOfPciId(id)) {
      seen_.push_back({family, StrCat(origin, ": ", id)});
    } else if (absl::StartsWith(id, "19e5:d")) {
      unknown_.insert(StrCat("PCI ", id));
    }
  }

  const Rules& rules_;
  std::vector<Seen> seen_;
  std::size_t node_begins_ = 0;  // in seen_
  bool board_seen_ = false;      // of the node that is being read
  std::set<std::string> unknown_;
};

}  // namespace

Platform PlatformOf(const Rules& rules, const RunView& run) {
  Reader reader(rules);
  for (const v1::Bundle* bundle : run.nodes) {
    for (const v1::Evidence& evidence : bundle->evidence()) {
      if (evidence.outcome() != v1::OUTCOME_COLLECTED) continue;
      if (evidence.has_settings()) reader.Document(evidence.settings());
      for (const v1::SettingsDocument& document : evidence.run_log().settings()) reader.Document(document);
    }
    reader.EndOfNode();
  }
  // After the devices: what a device shows is the better evidence of the two.
  for (const v1::Bundle* bundle : run.nodes) reader.Stated(bundle->plan());
  return reader.Result();
}

bool RequireTrainingNpu(const CheckContext& context, v1::CheckResult& result, const RunView& run,
                        const Platform& platform) {
  if (platform.family != nullptr) {
    if (platform.family->npu && platform.family->trains) return true;
    AddMissing(context, result, "no_training_npu", run.name,
               {{"product", platform.family->name}, {"evidence", platform.evidence}});
  } else if (!platform.conflicts.empty()) {
    AddError(context, result, "conflict_within_side", StrCat("migrated: platform of ", run.name),
             {{"key", "platform"}, {"values", absl::StrJoin(platform.conflicts, "; ")}});
  } else if (platform.unknown_names.empty()) {
    AddMissing(context, result, "product_unknown", run.name);
  } else {
    AddMissing(context, result, "product_unknown/name", run.name,
               {{"names", absl::StrJoin(platform.unknown_names, ", ")}});
  }
  return false;
}

}  // namespace paritect
