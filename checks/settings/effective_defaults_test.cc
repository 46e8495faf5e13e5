// What counts where nothing is set: product x framework x version x key, against a table written by hand from the
// vendors' documents, not from rules/data. "?" says that nobody knows for certain, so that nothing is assumed.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "checks/settings/fixture.h"
#include "checks/settings/view.h"

namespace paritect {
namespace {

struct Row {
  const char* product;
  const char* framework;
  const char* version;
  const char* library;  // the format of a document that the run has; "" none
  const char* key;
  const char* expected;  // "?" not known
  const char* source;
};

// TF Adapter: session_config/accuracy_tuning.md. torch_npu: npu_config.py, LazyInitAclops.cpp. PyTorch: notes/cuda.rst.
constexpr Row kTable[] = {
    // Precision mode by product.
    {"atlas-training", "tensorflow", "1.15.0", "", "precision_mode", "allow_fp32_to_fp16", "TF Adapter, training"},
    {"atlas-training", "tensorflow", "1.15.0", "", "precision_mode_v2", "?", "TF Adapter: no default on this product"},
    {"atlas-a2", "tensorflow", "1.15.0", "", "precision_mode_v2", "origin", "TF Adapter, training"},
    {"atlas-a3", "tensorflow", "2.6.5", "", "precision_mode_v2", "origin", "TF Adapter, training"},
    {"ascend-950", "tensorflow", "2.6.5", "", "precision_mode_v2", "origin", "TF Adapter, training"},
    {"nvidia", "tensorflow", "2.6.5", "", "precision_mode_v2", "?", "an option of NPUs"},
    {"nvidia", "tensorflow", "2.6.5", "", "precision_mode", "?", "an option of NPUs"},
    {"", "tensorflow", "2.6.5", "", "precision_mode_v2", "?", "product not known"},
    {"atlas-training", "pytorch", "2.1.0", "", "precision_mode", "allow_fp32_to_fp16", "torch_npu, SoC below 910B1"},
    {"atlas-a2", "pytorch", "2.1.0", "", "precision_mode", "must_keep_origin_dtype", "torch_npu, SoC from 910B1"},
    {"atlas-a3", "pytorch", "2.1.0", "", "precision_mode", "must_keep_origin_dtype", "torch_npu, SoC from 910B1"},
    {"ascend-950", "pytorch", "2.7.1", "", "precision_mode", "must_keep_origin_dtype", "torch_npu, SoC from 910B1"},
    {"", "pytorch", "2.1.0", "", "precision_mode", "?", "product not known"},
    {"atlas-training", "mindspore", "2.2.0", "", "precision_mode", "?", "MindSpore's documents disagree"},
    {"atlas-a2", "mindspore", "2.2.0", "", "precision_mode", "must_keep_origin_dtype", "MindSpore op_precision"},
    {"atlas-a3", "mindspore", "2.5.0", "", "precision_mode", "must_keep_origin_dtype", "MindSpore op_precision"},
    {"ascend-950", "mindspore", "2.7.0", "", "precision_mode", "must_keep_origin_dtype", "MindSpore op_precision"},
    {"ascend-inference", "mindspore", "2.2.0", "", "precision_mode", "?", "no training product"},
    // Matrix products.
    {"nvidia", "pytorch", "1.6.0", "", "matmul_low_precision", "?", "PyTorch: no TF32 before 1.7"},
    {"nvidia", "pytorch", "1.7.0", "", "matmul_low_precision", "true", "PyTorch cuda.rst, 1.7 to 1.11"},
    {"nvidia", "pytorch", "1.11.0+cu113", "", "matmul_low_precision", "true", "PyTorch cuda.rst, 1.7 to 1.11"},
    {"nvidia", "pytorch", "1.12.0", "", "matmul_low_precision", "false", "PyTorch cuda.rst, from 1.12"},
    {"nvidia", "pytorch", "2.5.1+cu124", "", "matmul_low_precision", "false", "PyTorch cuda.rst, from 1.12"},
    {"nvidia", "pytorch", "", "", "matmul_low_precision", "?", "version not known"},
    {"nvidia", "tensorflow", "1.15.0", "", "matmul_low_precision", "?", "TensorFlow: TF32 from 2.4"},
    {"nvidia", "tensorflow", "2.3.0", "", "matmul_low_precision", "?", "TensorFlow: TF32 from 2.4"},
    {"nvidia", "tensorflow", "2.4.0", "", "matmul_low_precision", "true", "TensorFlow: enable_tensor_float_32"},
    {"nvidia", "tensorflow", "2.15.0", "", "matmul_low_precision", "true", "TensorFlow: enable_tensor_float_32"},
    {"nvidia", "mindspore", "2.2.0", "", "matmul_low_precision", "false", "MindSpore gpu.op_precision"},
    {"atlas-training", "pytorch", "2.1.0", "", "matmul_low_precision", "false", "torch_npu matmul.allow_hf32"},
    {"atlas-a2", "pytorch", "2.1.0", "", "matmul_low_precision", "false", "torch_npu matmul.allow_hf32"},
    {"atlas-a3", "pytorch", "2.1.0", "", "matmul_low_precision", "false", "torch_npu matmul.allow_hf32"},
    {"ascend-950", "pytorch", "2.7.1", "", "matmul_low_precision", "false", "torch_npu matmul.allow_hf32"},
    {"atlas-a2", "tensorflow", "1.15.0", "", "matmul_low_precision", "false", "ENABLE_HF32_EXECUTION.md"},
    {"atlas-a3", "tensorflow", "1.15.0", "", "matmul_low_precision", "false", "ENABLE_HF32_EXECUTION.md"},
    {"ascend-950", "tensorflow", "1.15.0", "", "matmul_low_precision", "false", "ENABLE_HF32_EXECUTION.md"},
    {"atlas-training", "tensorflow", "1.15.0", "", "matmul_low_precision", "?", "ENABLE_HF32_EXECUTION.md: not there"},
    {"atlas-a2", "mindspore", "2.2.0", "", "matmul_low_precision", "false", "MindSpore matmul_allow_hf32"},
    {"atlas-a3", "mindspore", "2.2.0", "", "matmul_low_precision", "false", "MindSpore matmul_allow_hf32"},
    {"ascend-950", "mindspore", "2.7.0", "", "matmul_low_precision", "false", "MindSpore matmul_allow_hf32"},
    {"", "pytorch", "2.1.0", "", "matmul_low_precision", "?", "product not known"},
    // Convolutions.
    {"nvidia", "pytorch", "1.6.0", "", "conv_low_precision", "?", "PyTorch: no TF32 before 1.7"},
    {"nvidia", "pytorch", "1.10.0", "", "conv_low_precision", "true", "PyTorch cudnn.allow_tf32"},
    {"nvidia", "pytorch", "2.5.1", "", "conv_low_precision", "true", "PyTorch cudnn.allow_tf32"},
    {"nvidia", "tensorflow", "2.4.0", "", "conv_low_precision", "true", "TensorFlow: enable_tensor_float_32"},
    {"nvidia", "tensorflow", "1.15.0", "", "conv_low_precision", "?", "TensorFlow: TF32 from 2.4"},
    {"atlas-training", "pytorch", "2.1.0", "", "conv_low_precision", "?", "no HF32 on this product"},
    {"atlas-a2", "pytorch", "2.1.0", "", "conv_low_precision", "true", "torch_npu conv.allow_hf32"},
    {"atlas-a3", "pytorch", "2.1.0", "", "conv_low_precision", "true", "torch_npu conv.allow_hf32"},
    {"ascend-950", "pytorch", "2.7.1", "", "conv_low_precision", "true", "torch_npu conv.allow_hf32"},
    {"atlas-a2", "tensorflow", "1.15.0", "", "conv_low_precision", "true", "ENABLE_HF32_EXECUTION.md"},
    {"atlas-a3", "tensorflow", "1.15.0", "", "conv_low_precision", "true", "ENABLE_HF32_EXECUTION.md"},
    {"ascend-950", "tensorflow", "1.15.0", "", "conv_low_precision", "true", "ENABLE_HF32_EXECUTION.md"},
    {"atlas-a2", "mindspore", "2.2.0", "", "conv_low_precision", "true", "MindSpore conv_allow_hf32"},
    {"atlas-a3", "mindspore", "2.2.0", "", "conv_low_precision", "true", "MindSpore conv_allow_hf32"},
    {"ascend-950", "mindspore", "2.7.0", "", "conv_low_precision", "true", "MindSpore conv_allow_hf32"},
    // INF/NaN mode.
    {"atlas-a2", "pytorch", "2.1.0", "", "inf_nan_mode", "true", "INF_NAN_MODE_ENABLE.md"},
    {"atlas-a3", "pytorch", "2.1.0", "", "inf_nan_mode", "true", "INF_NAN_MODE_ENABLE.md"},
    {"atlas-training", "pytorch", "2.1.0", "", "inf_nan_mode", "?", "saturation only"},
    {"ascend-950", "pytorch", "2.7.1", "", "inf_nan_mode", "?", "no effect there"},
    {"atlas-a2", "tensorflow", "1.15.0", "", "inf_nan_force_disable", "false", "INF_NAN_MODE_FORCE_DISABLE.md"},
    {"atlas-a3", "tensorflow", "1.15.0", "", "inf_nan_force_disable", "false", "INF_NAN_MODE_FORCE_DISABLE.md"},
    // Schedules, adapters and what is off by itself.
    {"nvidia", "pytorch", "2.1.0", "hf-training-args-json", "lr_min", "0", "Transformers optimization.py"},
    {"nvidia", "pytorch", "2.1.0", "hf-training-args", "lr_min", "0", "Transformers optimization.py"},
    {"nvidia", "pytorch", "2.1.0", "llamafactory-yaml", "lr_min", "0", "Transformers optimization.py"},
    {"atlas-a2", "mindspore", "2.2.0", "mindformers-yaml", "lr_min", "0", "MindFormers lr_schedule.py"},
    {"nvidia", "pytorch", "2.1.0", "megatron-args", "lr_min", "0", "Megatron arguments.py"},
    {"nvidia", "pytorch", "2.1.0", "llamafactory-yaml", "finetuning_type", "lora", "LLaMA-Factory hparams"},
    {"nvidia", "pytorch", "2.1.0", "llamafactory-yaml", "lora_rank", "8", "LLaMA-Factory hparams"},
    {"nvidia", "pytorch", "2.1.0", "llamafactory-yaml", "lora_dropout", "0", "LLaMA-Factory hparams"},
    {"nvidia", "pytorch", "2.1.0", "llamafactory-yaml", "lora_target_modules", "all", "LLaMA-Factory hparams"},
    {"nvidia", "pytorch", "2.1.0", "llamafactory-yaml", "use_rslora", "false", "LLaMA-Factory hparams"},
    {"nvidia", "pytorch", "2.1.0", "llamafactory-yaml", "use_dora", "false", "LLaMA-Factory hparams"},
    {"nvidia", "pytorch", "2.1.0", "llamafactory-yaml", "pissa_init", "false", "LLaMA-Factory hparams"},
    {"nvidia", "pytorch", "2.1.0", "llamafactory-yaml", "freeze_trainable_layers", "2", "LLaMA-Factory hparams"},
    {"nvidia", "pytorch", "2.1.0", "llamafactory-yaml", "rope_scaling", "off", "LLaMA-Factory hparams"},
    {"nvidia", "pytorch", "2.1.0", "", "neftune_noise_alpha", "0", "TrainingArguments"},
    {"nvidia", "pytorch", "2.1.0", "", "loraplus_lr_ratio", "1", "LLaMA-Factory hparams"},
    {"nvidia", "pytorch", "2.1.0", "", "rampup_batch_size", "off", "Megatron arguments.py"},
    {"nvidia", "pytorch", "2.1.0", "", "pure_bf16", "false", "LLaMA-Factory hparams"},
    {"atlas-a2", "mindspore", "2.2.0", "mindformers-yaml", "use_clip_grad", "false", "MindFormers wrapper.py"},
    // Determinism and graph options.
    {"nvidia", "pytorch", "2.1.0", "", "deterministic", "false", "PyTorch use_deterministic_algorithms"},
    {"atlas-a2", "pytorch", "2.1.0", "", "deterministic", "false", "PyTorch use_deterministic_algorithms"},
    {"atlas-a2", "mindspore", "2.2.0", "", "deterministic", "false", "MindSpore deterministic OFF"},
    {"atlas-a2", "tensorflow", "1.15.0", "", "deterministic", "false", "TF Adapter deterministic 0"},
    {"atlas-a2", "tensorflow", "1.15.0", "", "enable_reduce_precision", "false", "NPURunConfig"},
    // Loss scalers of the libraries.
    {"nvidia", "pytorch", "2.1.0", "megatron-args", "loss_scale_init", "4294967296", "Megatron arguments.py"},
    {"nvidia", "pytorch", "2.1.0", "megatron-args", "loss_scale_window", "1000", "Megatron arguments.py"},
    {"nvidia", "pytorch", "2.1.0", "megatron-args", "loss_scale_hysteresis", "2", "Megatron arguments.py"},
    {"nvidia", "pytorch", "2.1.0", "megatron-args", "loss_scale_min", "1", "Megatron arguments.py"},
    {"atlas-a2", "pytorch", "2.1.0", "megatron-args", "loss_scale_growth_factor", "2", "Megatron grad_scaler.py"},
    {"atlas-a2", "pytorch", "2.1.0", "megatron-args", "loss_scale_backoff_factor", "0.5", "Megatron grad_scaler.py"},
    {"nvidia", "pytorch", "2.1.0", "deepspeed-json", "loss_scale_init", "65536", "DeepSpeed config-json.md"},
    {"nvidia", "pytorch", "2.1.0", "deepspeed-json", "loss_scale_window", "1000", "DeepSpeed config-json.md"},
    {"nvidia", "pytorch", "2.1.0", "deepspeed-json", "loss_scale_hysteresis", "2", "DeepSpeed config-json.md"},
    {"nvidia", "pytorch", "2.1.0", "deepspeed-json", "loss_scale_min", "1", "DeepSpeed config-json.md"},
    {"nvidia", "pytorch", "2.1.0", "deepspeed-json", "loss_scale_growth_factor", "2", "DeepSpeed loss_scaler.py"},
    {"nvidia", "pytorch", "2.1.0", "deepspeed-json", "loss_scale_backoff_factor", "0.5", "DeepSpeed loss_scaler.py"},
    {"nvidia", "pytorch", "2.1.0", "hf-training-args", "loss_scale_init", "65536", "PyTorch GradScaler"},
    {"nvidia", "pytorch", "2.1.0", "hf-training-args", "loss_scale_window", "2000", "PyTorch GradScaler"},
    {"nvidia", "pytorch", "2.1.0", "hf-training-args", "loss_scale_growth_factor", "2", "PyTorch GradScaler"},
    {"nvidia", "pytorch", "2.1.0", "hf-training-args", "loss_scale_backoff_factor", "0.5", "PyTorch GradScaler"},
    {"atlas-a2", "pytorch", "2.1.0", "hf-training-args-json", "loss_scale_init", "65536", "torch_npu GradScaler"},
    {"atlas-a2", "pytorch", "2.1.0", "hf-training-args-json", "loss_scale_window", "2000", "torch_npu GradScaler"},
    {"atlas-a2", "pytorch", "2.1.0", "hf-training-args-json", "loss_scale_growth_factor", "2", "torch_npu GradScaler"},
    {"atlas-a2", "pytorch", "2.1.0", "hf-training-args-json", "loss_scale_backoff_factor", "0.5",
     "torch_npu GradScaler"},
    {"nvidia", "pytorch", "2.1.0", "yaml", "loss_scale_init", "?", "whose scaler is not known"},
    {"atlas-a2", "mindspore", "2.2.0", "yaml", "loss_scale_init", "?", "whose scaler is not known"},
    // Batch parts that a library takes as one.
    {"nvidia", "pytorch", "2.1.0", "deepspeed-json", "gradient_accumulation_steps", "1", "DeepSpeed config-json.md"},
    {"nvidia", "pytorch", "2.1.0", "llamafactory-yaml", "gradient_accumulation_steps", "1", "TrainingArguments"},
    {"nvidia", "pytorch", "2.1.0", "hf-training-args-json", "gradient_accumulation_steps", "1", "TrainingArguments"},
    {"nvidia", "pytorch", "2.1.0", "mmengine-config", "gradient_accumulation_steps", "1", "MMEngine OptimWrapper"},
    {"atlas-a2", "mindspore", "2.2.0", "mindformers-yaml", "gradient_accumulation_steps", "1", "MindFormers"},
    {"atlas-a2", "mindspore", "2.2.0", "mindformers-yaml", "micro_batch_num", "1", "MindFormers parallel_config"},
    {"atlas-a2", "mindspore", "2.2.0", "mindformers-yaml", "micro_batch_interleave_num", "1", "MindFormers"},
    {"nvidia", "pytorch", "2.1.0", "yaml", "gradient_accumulation_steps", "?", "a library that is not known"},
    // Weight decay of a plain "adam".
    {"nvidia", "pytorch", "2.1.0", "megatron-args", "weight_decay_form", "decoupled", "Megatron FusedAdam"},
    {"nvidia", "pytorch", "2.1.0", "deepspeed-json", "weight_decay_form", "decoupled", "DeepSpeed adam_w_mode"},
    {"nvidia", "pytorch", "2.1.0", "mmengine-config", "weight_decay_form", "l2", "torch.optim.Adam"},
    {"atlas-a2", "mindspore", "2.2.0", "yaml", "weight_decay_form", "l2", "MindSpore nn.Adam"},
    {"nvidia", "tensorflow", "2.6.5", "yaml", "weight_decay_form", "?", "Keras Adam has none"},
    // TrainingArguments behind a LLaMA-Factory file.
    {"nvidia", "pytorch", "2.1.0", "llamafactory-yaml", "lr_base", "5e-5", "TrainingArguments learning_rate"},
    {"nvidia", "pytorch", "2.1.0", "llamafactory-yaml", "lr_style", "linear", "TrainingArguments lr_scheduler_type"},
    {"nvidia", "pytorch", "2.1.0", "llamafactory-yaml", "weight_decay", "0", "TrainingArguments weight_decay"},
    {"nvidia", "pytorch", "2.1.0", "llamafactory-yaml", "adam_beta1", "0.9", "TrainingArguments adam_beta1"},
    {"nvidia", "pytorch", "2.1.0", "llamafactory-yaml", "adam_beta2", "0.999", "TrainingArguments adam_beta2"},
    {"nvidia", "pytorch", "2.1.0", "llamafactory-yaml", "adam_eps", "1e-8", "TrainingArguments adam_epsilon"},
    {"nvidia", "pytorch", "2.1.0", "llamafactory-yaml", "clip_grad", "1", "TrainingArguments max_grad_norm"},
    {"nvidia", "pytorch", "2.1.0", "llamafactory-yaml", "seed", "42", "TrainingArguments seed"},
    {"nvidia", "pytorch", "2.1.0", "llamafactory-yaml", "label_smoothing", "0", "TrainingArguments"},
    {"nvidia", "pytorch", "2.1.0", "llamafactory-yaml", "drop_last", "false", "TrainingArguments"},
    {"nvidia", "pytorch", "2.1.0", "llamafactory-yaml", "dataloader_workers", "0", "TrainingArguments"},
    {"nvidia", "pytorch", "2.1.0", "yaml", "weight_decay", "?", "a library that is not known"},
    // Layers (looked up in the table alone: they count per layer).
    {"nvidia", "pytorch", "2.1.0", "", "batchnorm_eps", "1e-5", "nn.BatchNorm2d"},
    {"atlas-a2", "mindspore", "2.2.0", "", "batchnorm_eps", "1e-5", "MindSpore nn.BatchNorm2d"},
    {"nvidia", "tensorflow", "2.6.5", "", "batchnorm_eps", "1e-3", "Keras BatchNormalization"},
    {"nvidia", "pytorch", "2.1.0", "", "batchnorm_momentum", "0.1", "nn.BatchNorm2d"},
    {"atlas-a2", "mindspore", "2.2.0", "", "batchnorm_momentum", "0.9", "MindSpore nn.BatchNorm2d"},
    {"nvidia", "tensorflow", "2.6.5", "", "batchnorm_momentum", "0.99", "Keras BatchNormalization"},
};

std::string NameOf(const Row& row) {
  return absl::StrCat(row.product, " ", row.framework, " ", row.version, " ", row.library, " ", row.key);
}

// What shows that a run used the library that a format configures.
KeysAndTexts PackageOf(const std::string& format) {
  static const std::map<std::string, std::string> kPackages = {{"llamafactory-yaml", "llamafactory"},
                                                               {"deepspeed-json", "deepspeed"},
                                                               {"hf-training-args-json", "transformers"},
                                                               {"mindformers-yaml", "mindformers"},
                                                               {"mmengine-config", "mmengine"}};
  const auto found = kPackages.find(format);
  return found == kPackages.end() ? KeysAndTexts{} : KeysAndTexts{{absl::StrCat("package.", found->second), "1.0"}};
}

// The value as a check sees it.
std::string Effective(const Row& row) {
  const SettingKey* key = BuiltInRules().settings.FindKey(row.key);
  if (key == nullptr) return "no such key";
  if (key->group == "layers") {
    const DefaultValue* found =
        BuiltInRules().defaults.Find(row.key, row.product, row.framework, row.library, row.version);
    return found == nullptr ? "?" : found->text;
  }
  std::vector<v1::SettingsDocument> documents;
  const std::string package = row.framework == std::string("pytorch") ? "torch" : row.framework;
  if (*row.version != 0) documents.push_back(PackagesOf({{absl::StrCat("package.", package), row.version}}));
  if (*row.library != 0) {
    documents.push_back(Arguments(row.library, {{"some_other_key", "1"}}));
    documents.push_back(PackagesOf(PackageOf(row.library)));  // without it nothing shows that the run used the library
  }
  const EvidenceSet evidence({}, {NodeOf("run", "n1", row.product, row.framework, std::move(documents))});
  const CheckContext context = {evidence, BuiltInRules().profile, BuiltInRules()};
  const SettingsView& view = SettingsView::Of(context, Side::kMigrated, evidence.Runs(Side::kMigrated)[0]);
  const EffectiveValue* found = view.Find(row.key);
  return found == nullptr ? "?" : found->value.text;
}

TEST(EffectiveDefaults, AsTheDocumentsSay) {
  EXPECT_GE(std::size(kTable), 80u);
  for (const Row& row : kTable) {
    EXPECT_EQ(Effective(row), row.expected) << NameOf(row);
    EXPECT_STRNE(row.source, "") << NameOf(row);
  }
}

// A default that no row of the table above looks at is not known to be right.
TEST(EffectiveDefaults, EveryRowOfTheRulesIsExercised) {
  const Defaults& defaults = BuiltInRules().defaults;
  std::set<const DefaultValue*> seen;
  for (const Row& row : kTable) {
    std::string version(row.version);
    version = version.substr(0, version.find('+'));
    seen.insert(defaults.Find(row.key, row.product, row.framework, row.library, version));
  }
  for (const DefaultValue& entry : defaults.all()) {
    EXPECT_TRUE(seen.contains(&entry)) << entry.key << " " << entry.product << " " << entry.framework << " "
                                       << entry.library << " " << entry.versions;
    EXPECT_FALSE(entry.source.empty()) << entry.key;
  }
}

// --- knowledge comes from files: what an override brings needs no change in the program.

Rules With(const std::string& file, const std::string& bytes) {
  const RulesFile override = {file, bytes};
  auto rules = LoadRules(EmbeddedRules(), absl::MakeSpan(&override, 1));
  EXPECT_TRUE(rules.ok()) << rules.status();
  return rules.ok() ? *std::move(rules) : Rules();
}

std::string VerdictBy(const Rules& rules, absl::string_view id, v1::Bundle baseline, v1::Bundle migrated) {
  const EvidenceSet evidence({std::move(baseline)}, {std::move(migrated)});
  AuditOptions options;
  options.today = "2026-06-01";
  const v1::Report report = RunAudit(evidence, rules.profile, rules, options);
  for (const v1::ItemResult& item : report.items()) {
    for (const v1::CheckResult& check : item.checks()) {
      if (check.id() == id) return Told(check);
    }
  }
  return "";
}

TEST(OverrideFiles, ANewAlias) {
  const v1::Bundle gpu = Gpu({Arguments("yaml", {{"our_decay", "0.1"}, {"seed", "1"}})});
  const v1::Bundle npu = Npu({Arguments("yaml", {{"weight_decay", "0.01"}, {"seed", "1"}})});
  constexpr absl::string_view kValues = "model.hyperparameters.values";
  EXPECT_EQ(VerdictBy(BuiltInRules(), kValues, gpu, npu), "not_performed: ~unknown_key_one_sided baseline: npu, !gpu");
  const Rules rules = With("settings.yaml", "keys: [{key: weight_decay, aliases: [our_decay]}]\n");
  EXPECT_EQ(VerdictBy(rules, kValues, gpu, npu), "fail: value_differs weight_decay");
}

TEST(OverrideFiles, ANewDefault) {
  const v1::Bundle gpu = Gpu({Arguments("yaml", {{"lr", "1"}})});
  const v1::Bundle npu = Npu({Arguments("yaml", {{"lr", "1"}})}, "mindspore", "atlas-training");
  constexpr absl::string_view kMode = "migrated.mixed-precision.precision-mode";
  EXPECT_EQ(VerdictBy(BuiltInRules(), kMode, gpu, npu), "not_performed: !npu");
  const Rules rules = With("defaults.yaml",
                           "defaults: [{key: precision_mode, product: atlas-training, framework: mindspore, "
                           "value: force_fp16, source: our measurement}]\n");
  EXPECT_EQ(VerdictBy(rules, kMode, gpu, npu), "fail: precision_mode_wrong precision_mode");
}

TEST(OverrideFiles, ANewChip) {
  const v1::Bundle gpu = Gpu({Arguments("yaml", {{"lr", "1"}})});
  const v1::Bundle npu = Npu({SettingsOf("npu-smi", "devices", {{"npu.name", "777X"}})}, "pytorch", "auto");
  constexpr absl::string_view kMode = "migrated.mixed-precision.precision-mode";
  EXPECT_EQ(VerdictBy(BuiltInRules(), kMode, gpu, npu), "not_performed: !npu");
  const Rules rules = With("products.yaml", "chips: [{name: 777*, family: atlas-a3}]\n");
  EXPECT_EQ(VerdictBy(rules, kMode, gpu, npu), "pass");
}

TEST(OverrideFiles, ARowWithoutSourceIsRefused) {
  const RulesFile bad = {"defaults.yaml", "defaults: [{key: seed, framework: pytorch, value: '1'}]\n"};
  EXPECT_TRUE(absl::IsInvalidArgument(LoadRules(EmbeddedRules(), absl::MakeSpan(&bad, 1)).status()));
  const RulesFile row = {"differences.yaml", "differences: [{id: x, layer: conv, severity: note}]\n"};
  EXPECT_TRUE(absl::IsInvalidArgument(LoadRules(EmbeddedRules(), absl::MakeSpan(&row, 1)).status()));
}

}  // namespace
}  // namespace paritect
