// A gradient scaler's state_dict: scaler.pt as torch.save writes it (walked, not run), or printed or dumped as text
// ("{'scale': 65536.0, 'growth_factor': 2.0, ...}"). Source: PyTorch, torch/amp/grad_scaler.py state_dict.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/archives/zip.h"
#include "formats/settings/builder.h"
#include "formats/settings/forms/pickle_settings.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

constexpr char kName[] = "scaler-state";

bool IsBinary(absl::string_view bytes) {
  return LooksLikeZip(bytes) || absl::StartsWith(bytes, "\x80");
}

int Sniff(absl::string_view head) {
  if (!absl::StrContains(head, "_growth_tracker") || !absl::StrContains(head, "growth_interval")) return 0;
  return IsBinary(head) || absl::StripLeadingAsciiWhitespace(head).substr(0, 1) == "{" ? 96 : 0;
}

// The state of a scaler that is not enabled is an empty dict.
void AddOff(SettingsBuilder& builder) {
  builder.Add("enabled", "False", 1);
}

absl::StatusOr<v1::SettingsDocument> Parse(absl::string_view text, absl::string_view label) {
  SettingsBuilder builder(kName, kName, label);
  if (IsBinary(text)) {
    const auto bytes = TorchPickleBytes(text);
    if (!bytes.ok()) return absl::DataLossError(bytes.status().message());
    const auto pickle = ReadPickle(*bytes);
    if (!pickle.ok()) return absl::DataLossError(absl::StrCat("pickle: ", pickle.status().message()));
    const PickleValue& root = pickle->at(pickle->root);
    if (root.kind == PickleValue::Kind::kDict && root.items.empty()) AddOff(builder);
    AddPickle(*pickle, builder);
    return builder.Finish();
  }
  DocumentLimits limits;
  limits.bytes_max = 1 << 20;
  auto root = ParseDocument(text, limits);
  if (!root.ok()) return absl::DataLossError(root.status().message());
  if (!root->is_map()) return absl::DataLossError("not a state of a scaler");
  if (root->fields.empty()) AddOff(builder);
  builder.AddTree("", *root);
  return builder.Finish();
}

}  // namespace

extern const SettingsFormat kScalerStateSettings;
const SettingsFormat kScalerStateSettings = {kName, kName, &Sniff, &Parse};

}  // namespace paritect
