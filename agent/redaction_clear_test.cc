// Values and texts that look like secrets and are none: all of them must leave a node as they are. The other side:
// redaction_corpus_test.cc.
#include <gtest/gtest.h>

#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/redaction.h"
#include "rules/rules.h"

namespace paritect {
namespace {

// NAME=VALUE pairs whose values must stay.
constexpr const char* kInnocentSettings[][2] = {
    {"tokenizer", "bpe"},
    {"tokenizer_type", "SentencePiece"},
    {"tokenizer_path", "/models/llama/tokenizer.model"},
    {"tokenizer_name_or_path", "meta-llama/Llama-2-7b-hf"},
    {"max_tokens", "4096"},
    {"num_tokens", "1000000"},
    {"pad_token", "<pad>"},
    {"eos_token", "</s>"},
    {"bos_token", "<s>"},
    {"unk_token", "[UNK]"},
    {"cls_token", "[CLS]"},
    {"mask_token", "[MASK]"},
    {"eos_token_id", "151645"},
    {"pad_token_id", "0"},
    {"image_token", "<image>"},
    {"image_token_id", "32000"},
    {"tokens_per_batch", "8192"},
    {"max_tokens_per_mb", "16384"},
    {"train_tokens", "1e9"},
    {"tokens", "300000000000"},
    {"special_tokens", "<a> <b>"},
    {"additional_special_tokens", "<tool>"},
    {"token_type_ids", "true"},
    {"moe_token_dispatcher_type", "alltoall"},
    {"moe_token_drop_policy", "probs"},
    {"token_mixer", "attention"},
    {"token_dropout", "0.1"},
    {"start_token", "boi"},
    {"decoder_start_token_id", "2"},
    {"forced_bos_token", "zh_CN"},
    {"stop_tokens", "end"},
    {"new_tokens", "x y"},
    {"added_tokens_decoder", "none"},
    {"seen_tokens", "12B"},
    {"token_embedding_size", "512"},
    {"tokens_per_second", "123.4"},
    {"password_file", "/run/secrets/db"},
    {"secret_name", "training-credentials"},
    {"credentials_path", "/home/me/.aws"},
    {"token_file", "/run/secrets/hf"},
    {"api_key_env", "OPENAI_VARIABLE"},
    {"auth_type", "kerberos"},
    {"auth_method", "ldap"},
    {"use_auth", "false"},
    {"use_auth_token", "true"},
    {"hub_token", "None"},
    {"token", "null"},
    {"password", ""},
    {"api_key", "***"},
    {"key", "image"},
    {"keys", "img label"},
    {"key_dim", "64"},
    {"num_key_value_heads", "8"},
    {"cache_key", "train_v1"},
    {"sort_key", "length"},
    {"query_key", "qk"},
    {"primary_key", "id_column"},
    {"label_key", "gt_label"},
    {"public_key_type", "rsa"},
    {"pass_through", "yes please"},
    {"num_pass", "2"},
    {"forward_pass", "fused"},
    {"single_pass", "greedy"},
    {"bypass", "adapter"},
    {"compass", "north"},
    {"passes", "three"},
    {"hooks", "CheckpointHook"},
    {"custom_hooks", "EMAHook"},
    {"signature_def", "serving_default"},
    {"sketch", "a"},
    {"skip", "first"},
    {"task", "causal-lm"},
    {"mask", "causal"},
    {"ask", "why"},
    {"akg", "on line"},
    {"author", "someone"},
    {"authors", "Chen, Li"},
    {"sigma", "0.1"},
    {"sigmoid", "hard"},
    {"significance", "high"},
    {"secretary", "bird"},
    {"cookiecutter", "x"},
    {"monkey", "patch"},
    {"turkey", "x"},
    {"keyboard", "us"},
    {"git_commit", "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
    {"commit", "3f9a1c0b7d2e4f5a6b7c8d9e0f1a2b3c4d5e6f70"},
    {"sha256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"md5", "d41d8cd98f00b204e9800998ecf8427e"},
    {"config_hash", "d41d8cd98f00b204e9800998ecf8427e"},
    {"dataset_digest", "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"model.revision", "3f9a1c0b7d2e4f5a6b7c8d9e0f1a2b3c4d5e6f70"},
    {"_commit_hash", "3f9a1c0b7d2e4f5a6b7c8d9e0f1a2b3c"},
    {"run_id", "550e8400-e29b-41d4-a716-446655440000"},
    {"uuid", "GPU-5a3b7c1d-0000-1111-2222-333344445555"},
    {"wandb_run_id", "3kq9x7z2"},
    {"mlflow.run_id", "3f9a1c0b7d2e4f5a6b7c8d9e0f1a2b3c"},
    {"experiment", "550e8400-e29b-41d4-a716-446655440000"},
    {"image_tag", "nvcr.io/nvidia/pytorch:24.05-py3"},
    {"checksum", "0123456789abcdef0123456789abcdef"},
    {"fingerprint", "aa0123456789abcdef0123456789abcd"},
    {"model_name", "Qwen2.5-72B-Instruct-AWQ-20240912"},
    {"backbone", "resnet50_8xb256-rsb-a1-600e_in1k"},
    {"weights_name", "vit_base_patch16_224.augreg2_in21k_ft_in1k"},
    {"arch", "DeepSeek-Coder-V2-Lite-Instruct"},
    {"pretrained", "convnextv2_base.fcmae_ft_in22k_in1k_384"},
    {"block", "Qwen2MoeDecoderLayerWithSharedExperts64"},
    {"wrap_class", "LlamaDecoderLayer"},
    {"data_path", "/data/pile/00_text_document"},
    {"output_dir", "./out/run-2024-05-08T10"},
    {"save", "s3://bucket/checkpoints/llama2-7b/iter_0005000"},
    {"base_url", "https://host:8080/v1/models"},
    {"cfg", "configs/_base_/schedules/schedule_1x.py"},
    {"driver", "V100R001C18SPC001B23"},
    {"torch", "2.1.0+cu121"},
    {"hostfile", "/job/hostfile"},
    {"master", "10.0.0.1:29500"},
    {"label", "TransformerBigWmt14EnDe2048Hidden16Heads"},
    {"pattern", "step (?P<step>\\d+)"},
    {"date", "2024-05-08T10:21:10.123456Z"},
    {"phone", "none"},
    {"dtype", "bfloat16"},
    {"order", "abcdefghijklmnopqrstuvwxyz"},
    {"alphabet", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"},
    {"prompt_template", "### Instruction: {x}"},
    {"optimizer", "adamw_torch_fused"},
    {"split", "train[:90%]"},
    {"collective", "nccl"},
    {"ratio", "949:50:1"},
    {"ids", "1,2,3"},
    {"seed_text", "0x1234abcd"},
    {"pin_memory", "auto"},
    {"pin_memory_device", "npu:0"},
    {"dataloader_pin_memory", "cpu-side"},
    {"pin", "true"},
    {"cpu_pin", "0-7,16-23"},
    {"ca_pin", "sha256:abc"},
    {"pass_rate", "0.9314"},
    {"token_count", "1234567"},
    {"max_tokens", "4096"},
    {"eos_token", "</s>"},
    {"code_length", "2048"},
    {"code", "src-v2"},
    {"opcode", "MatMulV2"},
    {"encode", "utf-8"},
    {"exit_code", "137000"},
    {"error_code", "EI0002"},
    {"language_code", "zh-CN1"},
    {"trust_remote_code", "models/a1"},
    {"security_code_length", "2048"},
    {"auth_code", "401"},
    {"wake_word", "hey-2"},
    {"stop_words", "a1,b2"},
    {"spin", "up-1234"},
    {"unpin", "all-1234"},
    {"验证码识别准确率", "0.9512"},
    {"验证码数据集", "captcha-v2"},
    {"blend", "0.3 a 0.7 b"}};

TEST(RedactionClear, WhatIsNoSecretStaysInSettings) {
  int kept = 0;
  for (const auto& [name, value] : kInnocentSettings) {
    v1::SettingsDocument document;
    document.set_format("json");
    v1::Setting& setting = *document.add_settings();
    setting.set_raw_key(name);
    setting.set_raw_value(value);
    setting.mutable_value()->set_text(value);
    const std::string before = document.SerializeAsString();
    WithholdSecrets(BuiltInRules().settings, document, RedactionOptions());
    EXPECT_EQ(document.SerializeAsString(), before) << name << "=" << value << " -> " << document.ShortDebugString();
    for (const std::string& text :
         {absl::StrCat(name, "=", value), absl::StrCat("  ", name, ": ", value),
          absl::StrCat("'", name, "': '", value, "',"), absl::StrCat("--", name, " ", value)}) {
      EXPECT_EQ(WithoutSecrets(text), text);
      ++kept;
    }
    ++kept;
  }
  std::cout << std::size(kInnocentSettings) << " innocent settings in " << kept << " forms\n";
  EXPECT_GE(std::size(kInnocentSettings), 120u);
}

constexpr const char* kInnocentTexts[] = {"tokens per second: 5",
                                          "time per token: 12.3ms",
                                          "tokens: 1,234,567",
                                          "consumed tokens: 300B",
                                          "token 5 of 7",
                                          "the secret of success",
                                          "no password given",
                                          "https://host:8080/a@b",
                                          "https://huggingface.co/meta-llama/Llama-2",
                                          "lr 1e-4 at s3://bucket/x",
                                          "key: value",
                                          "keys: [a, b]",
                                          "V100R001C18SPC001B23",
                                          "2.1.0+cu121",
                                          "GPU-5a3b7c1d-0000-1111-2222-333344445555",
                                          "da39a3ee5e6b4b0d3255bfef95601890afd80709",
                                          "/usr/local/Ascend/ascend-toolkit/latest1",
                                          "step 10 | loss 2.5 | tokens/s 12345",
                                          "iteration 5/ 10 | tokens: 4096",
                                          "Namespace(tokenizer='bpe', num_tokens=7)",
                                          "--max-tokens 512 --pad-token <pad>",
                                          "eos_token=</s>",
                                          "one pass over the data",
                                          "pass: 3",
                                          "python -u train.py --lr 0.1",
                                          "python train.py -p 8080",
                                          "docker run -p 80:80 x",
                                          "mysql is not installed",
                                          "redis-cli ping",
                                          "curl -u https",
                                          "unexpected token at line 5",
                                          "SyntaxError: token '<'",
                                          "git checkout 3f9a1c0b7d2e4f5a6b7c8d9e0f1a2b3c4d5e6f70",
                                          "sk learn",
                                          "in the pin memory thread 4821",
                                          "pin ranks to cores 0-7",
                                          "pin torch==2.1.0",
                                          "pin torch_npu==2.1.0.post3, then flash-attn==2.5.9+cu122",
                                          "pin \"numpy>=1.21,<2\" first",
                                          "pin transformers==4.36.* and numpy<2",
                                          "pin vllm[flashinfer]~=0.6.3rc1",
                                          "pin the driver, or pin v23.0.5",
                                          "pin torch@2.1.0",
                                          "pass lr=0.1 and batch_size=4096 to it",
                                          "pass batch_size=4096",
                                          "error code: 507035",
                                          "the exit code is 137000",
                                          "EI0002, error code = 107002",
                                          "验证码识别：0.9512",
                                          "ak: 5",
                                          "bearer of news",
                                          "ls -a /data",
                                          "ssh -p 2222 node",
                                          "rsync -e 'ssh -p 22' a b",
                                          "numactl -C 0-7 python a.py",
                                          "webhooks are off",
                                          "hooks/pre-commit",
                                          "https://example.com/githooks/readme",
                                          "学习率: 0.1",
                                          "损失：2.5",
                                          "令 x = 5",
                                          "最大 token 数: 4096"};

TEST(RedactionClear, WhatIsNoSecretStaysInTexts) {
  int kept = 0;
  for (const char* text : kInnocentTexts) {
    ++kept;
    EXPECT_EQ(WithoutSecrets(text), text);
  }
  const std::vector<std::string> words = {
      "torchrun", "--nproc_per_node", "8",     "train.py", "--tokenizer", "bpe",          "--max-tokens",
      "512",      "--pad-token",      "<pad>", "-p",       "8080",        "--token-file", "/a/b"};
  EXPECT_EQ(WithoutSecrets(absl::MakeConstSpan(words)), words);
  std::cout << kept << " innocent texts\n";
}

}  // namespace
}  // namespace paritect
