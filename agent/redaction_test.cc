#include "agent/redaction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/settings/settings_format.h"
#include "rules/rules.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Redacted(absl::string_view text) {
  auto documents = ReadSettings(text, "f", "");
  std::string all;
  if (!documents.ok()) return all;
  for (v1::SettingsDocument& document : *documents) {
    WithholdSecrets(BuiltInRules().settings, document);
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

TEST(Redaction, LeavesWhatIsNoSecret) {
  EXPECT_THAT(Redacted("HCCL_DETERMINISTIC=true\n"), HasSubstr("true"));
  EXPECT_THAT(Redacted("Namespace(tokenizer='bpe', num_tokens=7)\n"), HasSubstr("bpe"));
  EXPECT_EQ(WithoutSecrets("lr 1e-4 at s3://bucket/x"), "lr 1e-4 at s3://bucket/x");
}

}  // namespace
}  // namespace paritect
