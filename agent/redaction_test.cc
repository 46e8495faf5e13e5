#include "agent/redaction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/digest.h"
#include "formats/settings/settings_format.h"
#include "rules/rules.h"

namespace paritect {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Redacted(absl::string_view text) {
  auto documents = ReadSettings(text, "f", "");
  std::string all;
  if (!documents.ok()) return all;
  for (v1::SettingsDocument& document : *documents) {
    WithholdSecrets(BuiltInRules().settings, document, {"the audit's key", {}});
    all += document.DebugString();
  }
  return all;
}

TEST(Redaction, PlantedSecretsNeverLeave) {
  for (const char* text :
       {"HF_TOKEN=planted-1234\nHCCL_DETERMINISTIC=true\n", "export MY_THING=planted-1234\n",
        "Namespace(lr=1, api_key='planted-1234')\n", "{\"hub_token\": \"planted-1234\", \"a\": 1}\n",
        "data_path: https://me:planted-1234@host/x\nb: 1\n",
        "#!/bin/bash\nexport WANDB_API_KEY=planted-1234\npython a.py --lr 1 --password planted-1234\n",
        "#!/bin/bash\npython a.py --cmd \"curl -H --api-key planted-1234\"\n"}) {
    EXPECT_THAT(Redacted(text), Not(HasSubstr("planted-1234"))) << text;
  }
  EXPECT_THAT(WithoutSecrets("token hf_abcdefghijklmnopqrstuv here"), Not(HasSubstr("abcdefgh")));
}

// Kubernetes, ECS and compose files give variables as entries of a list.
TEST(Redaction, AnEntryThatNamesASecretGivesItsValue) {
  for (const char* text : {"pod:\n  - name: DB_PASSWORD\n    value: planted-word\n",
                           "pod:\n  - value: planted-word\n    name: DB_PASSWORD\n",
                           "{\"environ\": [{\"Name\": \"HF_TOKEN\", \"Value\": \"planted-word\"}]}",
                           "{\"vars\": {\"a\": {\"key\": \"dbPass\", \"default\": \"planted-word\"}}}"}) {
    EXPECT_THAT(Redacted(text), Not(HasSubstr("planted-word"))) << text;
  }
  const std::string kept =
      Redacted("pod:\n  - name: pad_token\n    value: a-word\n  - name: LR\n    value: other-word\n");
  EXPECT_THAT(kept, AllOf(HasSubstr("a-word"), HasSubstr("other-word")));
}

TEST(Redaction, PlantedTextsAreMasked) {
  for (const char* text : {"https://me:planted-1234@host/x",
                           "redis://:planted-1234@host",
                           "https://u:pl@planted-1234@host/p?a=b",
                           "https://u:a/planted-1234@host",
                           "s3://b/k?X-Amz-Signature=planted-1234&x=1",
                           "https://h/?sig=planted-1234",
                           "HF_TOKEN=planted-1234",
                           "my_token: planted-1234",
                           "{'password': 'planted-1234 and more'}",
                           "--hub-token planted-1234",
                           "--hubToken=planted-1234",
                           "password planted-1234",
                           "apiKey = \"planted-1234\"",
                           "Authorization: Bearer planted-1234",
                           "-H 'Authorization: Basic planted-1234'",
                           "curl -u me:planted-1234 x",
                           "AWS_SECRET_ACCESS_KEY=planted-1234",
                           "huawei.ak=planted-1234",
                           "--sk planted-1234",
                           "-----BEGIN RSA PRIVATE KEY-----\nplanted-1234\n-----END RSA PRIVATE KEY-----"}) {
    EXPECT_THAT(WithoutSecrets(text), Not(HasSubstr("planted-1234"))) << text;
    EXPECT_THAT(WithoutSecrets(text), HasSubstr("***")) << text;
  }
  for (const char* secret :
       {"AKIAIOSFODNN7EXAMPLE", "ASIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "QTWAOYTTINDUT2QVKYUC", "MFyfvK41ba2giqM7Uio6PznpdUKGpownRZlmVmHc", "ghp_0123456789abcdefABCD",
        "github_pat_11ABCDEFG0123456789", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc", "xoxb-0123456789-abcdef"}) {
    EXPECT_THAT(WithoutSecrets(absl::StrCat("see ", secret, ", then")), "see ***, then");
  }
}

TEST(Redaction, CommandLines) {
  const std::vector<std::string> words = {"python",
                                          "train.py",
                                          "--lr",
                                          "1e-4",
                                          "--api-key",
                                          "planted-1234",
                                          "--token=planted-1234",
                                          "--verbose",
                                          "--hub_password",
                                          "-planted-1234",
                                          "WANDB_API_KEY=planted-1234",
                                          "-u",
                                          "me:planted-1234",
                                          "--eos-token",
                                          "</s>"};
  const std::vector<std::string> clean = WithoutSecrets(words);
  ASSERT_EQ(clean.size(), words.size());
  for (const std::string& word : clean) EXPECT_THAT(word, Not(HasSubstr("planted-1234")));
  EXPECT_EQ(clean[3], "1e-4");
  EXPECT_EQ(clean[4], "--api-key");
  EXPECT_EQ(clean[5], "***");
  EXPECT_EQ(clean[6], "--token=***");
  EXPECT_EQ(clean[7], "--verbose");
  EXPECT_EQ(clean.back(), "</s>");
  const std::vector<std::string> ssh = {"/usr/bin/sshpass", "-p", "planted-1234", "ssh", "node"};
  EXPECT_EQ(WithoutSecrets(ssh)[2], "***");
}

// RFC 2104 over "NAME=VALUE"; without a key nothing is left that could be tried out.
TEST(Redaction, KeyedHashes) {
  v1::SettingsDocument document;
  document.set_kind("environment");
  v1::Setting& setting = *document.add_settings();
  setting.set_raw_key("MY_THING");
  setting.set_raw_value("planted-1234");
  setting.mutable_value()->set_text("planted-1234");
  v1::SettingsDocument keyless = document;
  WithholdSecrets(BuiltInRules().settings, document, {"key", {}});
  WithholdSecrets(BuiltInRules().settings, keyless, RedactionOptions());
  EXPECT_EQ(document.settings(0).keyed_hash(), HmacSha256("key", "MY_THING=planted-1234"));
  EXPECT_EQ(keyless.settings(0).keyed_hash(), "");
  EXPECT_TRUE(IsWithheld(document.settings(0)));
  EXPECT_TRUE(IsWithheld(keyless.settings(0)));
}

TEST(Redaction, LeavesWhatIsNoSecret) {
  for (const char* text :
       {"--max-tokens 512 --pad-token <pad>", "eos_token=</s>", "the secret of success", "https://host:8080/a@b",
        "2.1.0+cu121", "V100R001C18SPC001B23", "da39a3ee5e6b4b0d3255bfef95601890afd80709", "key: value",
        "/usr/local/Ascend/ascend-toolkit/latest1", "tokens per second: 5",
        "GPU-5a3b7c1d-0000-1111-2222-333344445555"}) {
    EXPECT_EQ(WithoutSecrets(text), text);
  }

  EXPECT_THAT(Redacted("HCCL_DETERMINISTIC=true\n"), HasSubstr("true"));
  EXPECT_THAT(Redacted("Namespace(tokenizer='bpe', num_tokens=7)\n"), HasSubstr("bpe"));
  EXPECT_EQ(WithoutSecrets("lr 1e-4 at s3://bucket/x"), "lr 1e-4 at s3://bucket/x");
}

}  // namespace
}  // namespace paritect
