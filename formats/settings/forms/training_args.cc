// Transformers' training_args.bin: torch.save of a TrainingArguments object (or one derived from it). The pickle is
// walked, nothing in it runs (formats/pickle.h). Kept are the plain values of the object's state, of dictionaries and
// of objects in it (keys joined by '.'); an enum member is its value. Source: Transformers, trainer.py _save.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/archives/zip.h"
#include "formats/pickle.h"
#include "formats/settings/builder.h"
#include "formats/settings/forms/pickle_settings.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

using absl::StrCat;
using Kind = PickleValue::Kind;

constexpr char kName[] = "hf-training-args";
int Sniff(absl::string_view head) {
  const bool torch = LooksLikeZip(head) || absl::StartsWith(head, "\x80");
  if (!torch) return 0;
  return absl::StrContains(head, "TrainingArguments") || absl::StrContains(head, "per_device_train_batch_size") ? 95
                                                                                                                : 0;
}

absl::StatusOr<v1::SettingsDocument> Parse(absl::string_view text, absl::string_view label) {
  const auto bytes = TorchPickleBytes(text);
  if (!bytes.ok()) return absl::DataLossError(bytes.status().message());
  const auto pickle = ReadPickle(*bytes);
  if (!pickle.ok()) return absl::DataLossError(StrCat("pickle: ", pickle.status().message()));
  const PickleValue& root = pickle->at(pickle->root);
  if (root.kind != Kind::kObject && root.kind != Kind::kDict) return absl::DataLossError("no object of arguments");
  SettingsBuilder builder(kName, "arguments", label);
  AddPickle(*pickle, builder);
  return builder.Finish();
}

}  // namespace

extern const SettingsFormat kTrainingArgsSettings;
const SettingsFormat kTrainingArgsSettings = {kName, "arguments", &Sniff, &Parse};

}  // namespace paritect
