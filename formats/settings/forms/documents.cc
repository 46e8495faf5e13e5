// JSON and YAML configurations, told apart by the keys that their frameworks use.
//   deepspeed-json        ds_config.json (config-json.md); "auto" is no value of its own
//   hf-training-args-json TrainingArguments.to_json_string() and JSON given to HfArgumentParser
//   mindformers-yaml      MindFormers configuration (runner_config, parallel_config, context)
//   llamafactory-yaml     LLaMA-Factory (stage, finetuning_type, cutoff_len)
//   hydra                 composed configuration with _target_ or defaults
//   json, yaml            what is none of these
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/settings/builder.h"
#include "formats/settings/forms/interpolation.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

using absl::StrCat;

absl::string_view SkipBlanks(absl::string_view head) {
  absl::ConsumePrefix(&head, "\xEF\xBB\xBF");
  return absl::StripLeadingAsciiWhitespace(head);
}

bool LooksLikeJson(absl::string_view head) {
  head = SkipBlanks(head);
  if (head.empty() || head.front() != '{') return false;
  head = absl::StripLeadingAsciiWhitespace(head.substr(1));
  return !head.empty() && (head.front() == '"' || head.front() == '}');
}

// At least two of the first lines are "key:" at the left margin, and none is prose.
bool LooksLikeYaml(absl::string_view head) {
  int keys = 0;
  bool broken = false;
  int lines = 0;
  ForEachLine(SkipBlanks(head), [&](absl::string_view line, std::int64_t) {
    if (++lines > 60 || broken) return;
    if (line.empty() || line[0] == '#' || line[0] == ' ' || line[0] == '-' || line[0] == '}' || line[0] == '%') return;
    if (line[0] == '\t' || line[0] == ']' || line == "...") return;
    const std::size_t colon = line.find(':');
    const absl::string_view key = absl::StripTrailingAsciiWhitespace(line.substr(0, colon));
    if (colon == absl::string_view::npos || absl::StrContains(key, ' ') ||
        (colon + 1 < line.size() && line[colon + 1] != ' ')) {
      broken = true;
      return;
    }
    ++keys;
  });
  return keys >= 1 && !broken;
}

int SniffDeepSpeed(absl::string_view head) {
  if (!LooksLikeJson(head)) return 0;
  const int keys =
      CountKeys(head, {"train_batch_size", "train_micro_batch_size_per_gpu", "zero_optimization", "gradient_clipping",
                       "steps_per_print", "wall_clock_breakdown", "zero_allow_untested_optimizer"});
  return keys >= 2 ? 80 : keys == 1 && CountKeys(head, {"fp16", "bf16", "optimizer", "scheduler"}) >= 1 ? 70 : 0;
}

int SniffHfJson(absl::string_view head) {
  if (!LooksLikeJson(head)) return 0;
  const int keys = CountKeys(
      head, {"per_device_train_batch_size", "learning_rate", "num_train_epochs", "max_steps", "lr_scheduler_type",
             "warmup_ratio", "warmup_steps", "output_dir", "logging_steps", "gradient_accumulation_steps"});
  return keys >= 3 ? 85 : 0;
}

int SniffMindFormers(absl::string_view head) {
  if (LooksLikeJson(head) || !LooksLikeYaml(head)) return 0;
  const int keys =
      CountKeys(head, {"runner_config", "runner_wrapper", "parallel_config", "ascend_config", "context", "lr_schedule",
                       "load_checkpoint", "micro_batch_interleave_num", "use_parallel", "recompute_config"});
  return keys >= 2 ? 85 : 0;
}

// Its arguments stand at the left margin; others use some of the names in sections of their own (MindSpeed-LLM,
// MindSpeed-MM).
int SniffLlamaFactory(absl::string_view head) {
  if (LooksLikeJson(head) || !LooksLikeYaml(head)) return 0;
  int keys = 0;
  for (absl::string_view key :
       {"finetuning_type:", "cutoff_len:", "stage:", "template:", "dataset_dir:", "model_name_or_path:",
        "per_device_train_batch_size:", "overwrite_output_dir:", "flash_attn:"}) {
    keys += absl::StartsWith(head, key) || absl::StrContains(head, StrCat("\n", key)) ? 1 : 0;
  }
  return keys >= 3 ? 80 : 0;
}

// .hydra/overrides.yaml: "- key=value" a line.
bool LooksLikeOverrides(absl::string_view head) {
  int overrides = 0;
  bool others = false;
  ForEachLine(SkipBlanks(head), [&](absl::string_view line, std::int64_t) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#' || line == "---") return;
    const std::size_t equals = line.find('=');
    const bool override = absl::ConsumePrefix(&line, "- ") && equals != absl::string_view::npos &&
                          line.substr(0, line.find('=')).find_first_of(" :") == absl::string_view::npos;
    overrides += override ? 1 : 0;
    others = others || !override;
  });
  return overrides > 0 && !others;
}

int SniffHydra(absl::string_view head) {
  if (LooksLikeJson(head)) return 0;
  if (LooksLikeOverrides(head)) return 78;
  if (!LooksLikeYaml(head)) return 0;
  if (CountKeys(head, {"actor_rollout_ref"}) >= 1) return 75;
  return CountKeys(head, {"_target_", "hydra", "_recursive_"}) >= 1 ? 75 : 0;
}

int SniffJson(absl::string_view head) {
  return LooksLikeJson(head) ? 30 : 0;
}
int SniffYaml(absl::string_view head) {
  return !LooksLikeJson(head) && LooksLikeYaml(head) ? 25 : 0;
}

// DeepSpeed leaves "auto" to the trainer: not a value of this file.
void DropAuto(v1::SettingsDocument& document) {
  for (v1::Setting& setting : *document.mutable_settings()) {
    if (setting.value().text() == "auto") setting.mutable_value()->set_null(true);
  }
}

void AddOverrides(const DocumentNode& list, SettingsBuilder& builder) {
  for (const DocumentNode& one : list.items) {
    const std::size_t equals = one.text.find('=');
    if (!one.is_scalar() || equals == std::string::npos) continue;
    absl::string_view key = absl::string_view(one.text).substr(0, equals);
    key = key.substr(std::min(key.find_first_not_of("+~"), key.size()));
    builder.Add(key, absl::string_view(one.text).substr(equals + 1), one.line);
  }
}

// A configuration made of several files: the others are not read.
void NoteWhatIsNotRead(const DocumentNode& root, SettingsBuilder& builder) {
  for (absl::string_view key : {"_base_", "inherit_from", "__base__"}) {
    if (const DocumentNode* base = root.Find(key)) {
      builder.AddNote("base_config", base->line,
                      StrCat("what ", key, " names is not read; give the configuration that the run wrote out"));
    }
  }
  const DocumentNode* defaults = root.Find("defaults");
  if (defaults != nullptr && defaults->is_list()) {
    builder.AddNote("defaults_list", defaults->line,
                    "what the defaults list names is not read; give the composed .hydra/config.yaml");
  }
}

absl::StatusOr<v1::SettingsDocument> ParseAs(absl::string_view name, absl::string_view kind, absl::string_view text,
                                             absl::string_view label) {
  DocumentLimits limits;
  limits.bytes_max = kSettingsBytesMax;
  limits.nodes_max = 400'000;
  auto root = ParseDocument(text, limits);
  if (!root.ok()) return absl::DataLossError(root.status().message());
  SettingsBuilder builder(name, kind, label);
  if (root->is_list() && name == "hydra") {
    AddOverrides(*root, builder);
    v1::SettingsDocument overrides = builder.Finish();
    overrides.set_kind("overrides");  // a command line, not a configuration
    return overrides;
  }
  if (!root->is_map()) return absl::DataLossError("not a map of settings");
  builder.AddTree("", *root);
  NoteWhatIsNotRead(*root, builder);
  v1::SettingsDocument document = builder.Finish();
  if (name == "deepspeed-json") DropAuto(document);
  ResolveReferences(document);
  return document;
}

template <const char* kName>
absl::StatusOr<v1::SettingsDocument> Parse(absl::string_view text, absl::string_view label) {
  return ParseAs(kName, "arguments", text, label);
}

constexpr char kDeepSpeedName[] = "deepspeed-json";
constexpr char kHfName[] = "hf-training-args-json";
constexpr char kMindFormersName[] = "mindformers-yaml";
constexpr char kLlamaFactoryName[] = "llamafactory-yaml";
constexpr char kHydraName[] = "hydra";
constexpr char kJsonName[] = "json";
constexpr char kYamlName[] = "yaml";

}  // namespace

#define PARITECT_DOCUMENT_FORMAT(id, sniff)    \
  extern const SettingsFormat k##id##Settings; \
  const SettingsFormat k##id##Settings = {k##id##Name, "arguments", &sniff, &Parse<k##id##Name>}

PARITECT_DOCUMENT_FORMAT(DeepSpeed, SniffDeepSpeed);
PARITECT_DOCUMENT_FORMAT(Hf, SniffHfJson);
PARITECT_DOCUMENT_FORMAT(MindFormers, SniffMindFormers);
PARITECT_DOCUMENT_FORMAT(LlamaFactory, SniffLlamaFactory);
PARITECT_DOCUMENT_FORMAT(Hydra, SniffHydra);
PARITECT_DOCUMENT_FORMAT(Json, SniffJson);
PARITECT_DOCUMENT_FORMAT(Yaml, SniffYaml);

#undef PARITECT_DOCUMENT_FORMAT

}  // namespace paritect
