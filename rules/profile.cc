#include "rules/profile.h"

#include <cmath>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/date.h"
#include "common/numbers.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

constexpr absl::string_view kLossLowerFails = "loss_lower_fails";

// "site/3": a name, a slash, a version.
bool IsProfileName(absl::string_view text) {
  const std::size_t slash = text.rfind('/');
  return slash != absl::string_view::npos && slash > 0 && slash + 1 < text.size() &&
         text.find_first_of(" \t\n") == absl::string_view::npos;
}

// The largest value that makes sense: points of accuracy end at 100, shares and relative differences at 1. What is
// above 1 as it is built in counts something, and absolute errors have the unit of the loss: they have no end.
double LargestOf(absl::string_view threshold, double built_in) {
  if (threshold == "accuracy_points") return 100;
  const bool any = built_in > 1 || absl::EndsWith(threshold, "_absolute_error");
  return any ? std::numeric_limits<double>::max() : 1;
}

absl::Status UnknownKey(const DocumentNode& key, absl::string_view where, const std::vector<std::string>& known) {
  return ErrorAt(key, absl::StrCat("unknown key '", key.text, "' in ", where, "; known: ", absl::StrJoin(known, ", ")));
}

absl::StatusOr<std::vector<std::string>> ReadStrings(const DocumentNode& node, absl::string_view name) {
  std::vector<std::string> out;
  if (!node.is_list()) return ErrorAt(node, absl::StrCat("`", name, "` must be a list"));
  for (const DocumentNode& item : node.items) {
    if (!item.is_scalar()) return ErrorAt(item, absl::StrCat("`", name, "` must be a list of texts"));
    out.push_back(item.text);
  }
  return out;
}

// Reads the scalar fields of an entry; unknown keys are refused.
absl::Status ReadFields(const DocumentNode& node, absl::string_view where,
                        const std::vector<std::pair<std::string, std::string*>>& slots,
                        std::vector<std::string>* nodes) {
  if (!node.is_map()) return ErrorAt(node, absl::StrCat("an entry of ", where, " must be a map"));
  std::vector<std::string> known;
  for (const auto& slot : slots) known.push_back(slot.first);
  if (nodes != nullptr) known.push_back("nodes");
  for (const auto& [key, value] : node.fields) {
    if (nodes != nullptr && key.text == "nodes") {
      PARITECT_ASSIGN_OR_RETURN(*nodes, ReadStrings(value, "nodes"));
      continue;
    }
    std::string* slot = nullptr;
    for (const auto& [name, target] : slots) {
      if (name == key.text) slot = target;
    }
    if (slot == nullptr) return UnknownKey(key, where, known);
    if (!value.is_scalar()) return ErrorAt(value, absl::StrCat("`", key.text, "` must be a text"));
    *slot = value.text;
  }
  return absl::OkStatus();
}

absl::Status NeedReasonPersonDate(const DocumentNode& node, absl::string_view check, absl::string_view by,
                                  absl::string_view reason, absl::string_view until) {
  if (check.empty()) return ErrorAt(node, "`check` is needed");
  if (by.empty()) return ErrorAt(node, "`by` (who answers for it) is needed");
  if (reason.empty()) return ErrorAt(node, "`reason` is needed");
  if (until.empty()) return ErrorAt(node, "`until` (a date YYYY-MM-DD) is needed");
  if (!IsDate(until)) {
    const DocumentNode* field = node.Find("until");
    return ErrorAt(field == nullptr ? node : *field,
                   absl::StrCat("`until`: there is no date '", until, "' (YYYY-MM-DD)"));
  }
  return absl::OkStatus();
}

absl::Status ReadWaivers(const DocumentNode& node, Profile& profile) {
  if (!node.is_list()) return ErrorAt(node, "`waivers` must be a list");
  for (const DocumentNode& item : node.items) {
    ProfileWaiver w;
    PARITECT_RETURN_IF_ERROR(ReadFields(item, "waivers",
                                        {{"check", &w.check},
                                         {"kind", &w.kind},
                                         {"subject", &w.subject},
                                         {"reason", &w.reason},
                                         {"by", &w.by},
                                         {"until", &w.until},
                                         {"ref", &w.ref}},
                                        &w.nodes));
    PARITECT_RETURN_IF_ERROR(NeedReasonPersonDate(item, w.check, w.by, w.reason, w.until));
    profile.waivers.push_back(std::move(w));
  }
  return absl::OkStatus();
}

absl::Status ReadAttestations(const DocumentNode& node, Profile& profile) {
  if (!node.is_list()) return ErrorAt(node, "`attestations` must be a list");
  for (const DocumentNode& item : node.items) {
    ProfileAttestation a;
    PARITECT_RETURN_IF_ERROR(
        ReadFields(item, "attestations",
                   {{"check", &a.check}, {"by", &a.by}, {"reason", &a.reason}, {"until", &a.until}}, nullptr));
    PARITECT_RETURN_IF_ERROR(NeedReasonPersonDate(item, a.check, a.by, a.reason, a.until));
    profile.attestations.push_back(std::move(a));
  }
  return absl::OkStatus();
}

absl::Status ReadThreshold(const DocumentNode& key, const DocumentNode& value, bool may_add, Profile& profile) {
  if (key.text == kLossLowerFails) {
    if (value.text != "true" && value.text != "false") return ErrorAt(value, "`loss_lower_fails` is true or false");
    profile.loss_lower_fails = value.text == "true";
    return absl::OkStatus();
  }
  if (!may_add && !profile.thresholds.contains(key.text)) {
    std::vector<std::string> known = {std::string(kLossLowerFails)};
    for (const auto& entry : profile.thresholds) known.push_back(entry.first);
    return UnknownKey(key, "thresholds", known);
  }
  auto number = value.is_scalar() && !value.quoted ? ParseDouble(value.text) : std::nullopt;
  if (!number || !std::isfinite(*number) || *number < 0) {
    return ErrorAt(value, absl::StrCat("threshold `", key.text, "` must be a number that is not negative"));
  }
  const double largest = LargestOf(key.text, may_add ? *number : profile.threshold(key.text));
  if (*number > largest) {
    return ErrorAt(value, absl::StrCat("threshold `", key.text, "` must be at most ", FormatDouble(largest),
                                       ": above it nothing could fail"));
  }
  profile.thresholds[key.text] = *number;
  return absl::OkStatus();
}

// A pattern of wildcards alone would let every check of settings pass.
absl::Status CheckIgnoreKeys(const DocumentNode& list) {
  for (const DocumentNode& item : list.items) {
    if (item.text.find_first_not_of("*?.") == std::string::npos) {
      return ErrorAt(
          item, absl::StrCat("`ignore_keys`: '", item.text, "' would ignore every key; name the keys that may differ"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Profile> Read(const DocumentNode& root, Profile profile, bool built_in) {
  if (root.is_null()) return ErrorAt(root, "the profile is empty; it needs at least `profile: NAME/VERSION`");
  if (!root.is_map()) return ErrorAt(root, "a profile must be a map");
  profile.waivers.clear();
  for (const auto& [key, value] : root.fields) {
    if (key.text == "profile") {
      if (!value.is_scalar() || !IsProfileName(value.text)) {
        return ErrorAt(value, "`profile` must be NAME/VERSION, e.g. site/1");
      }
      profile.name = value.text;
    } else if (key.text == "extends") {
      if (value.text != "pre-tuning/1") {
        return ErrorAt(value, absl::StrCat("`extends`: no profile '", value.text, "'; there is pre-tuning/1"));
      }
    } else if (key.text == "thresholds") {
      if (!value.is_map()) return ErrorAt(value, "`thresholds` must be a map");
      for (const auto& [name, number] : value.fields) {
        PARITECT_RETURN_IF_ERROR(ReadThreshold(name, number, built_in, profile));
      }
    } else if (key.text == "ignore_keys") {
      PARITECT_ASSIGN_OR_RETURN(profile.ignore_keys, ReadStrings(value, "ignore_keys"));
      PARITECT_RETURN_IF_ERROR(CheckIgnoreKeys(value));
    } else if (key.text == "waivers") {
      PARITECT_RETURN_IF_ERROR(ReadWaivers(value, profile));
    } else {
      return UnknownKey(key, "a profile", {"profile", "extends", "thresholds", "ignore_keys", "waivers"});
    }
  }
  return profile;
}

}  // namespace

double Profile::threshold(absl::string_view threshold_name) const {
  auto it = thresholds.find(std::string(threshold_name));
  return it == thresholds.end() ? std::nan("") : it->second;
}

absl::StatusOr<Profile> ReadBuiltInProfile(const DocumentNode& root) {
  return Read(root, Profile(), true);
}

absl::StatusOr<Profile> ReadProfile(const DocumentNode& root, const Profile& base) {
  return Read(root, base, false);
}

absl::Status ReadAnswers(const DocumentNode& root, Profile& profile) {
  if (root.is_null()) return ErrorAt(root, "the answers file is empty; it holds `attestations` and `waivers`");
  if (!root.is_map()) return ErrorAt(root, "an answers file must be a map");
  for (const auto& [key, value] : root.fields) {
    if (key.text == "attestations") {
      PARITECT_RETURN_IF_ERROR(ReadAttestations(value, profile));
    } else if (key.text == "waivers") {
      PARITECT_RETURN_IF_ERROR(ReadWaivers(value, profile));
    } else {
      return UnknownKey(key, "an answers file", {"attestations", "waivers"});
    }
  }
  return absl::OkStatus();
}

}  // namespace paritect
