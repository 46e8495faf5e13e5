// Both sides of what may leave a node: secrets planted in many names and forms, none of which may get out, and values
// that look alike, all of which must.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "agent/redaction.h"
#include "formats/settings/settings_format.h"
#include "rules/rules.h"
#include "rules/secrets.h"

namespace paritect {
namespace {

// No form gives it away, and it is not drawn by lot: what is around it must.
constexpr char kPlanted[] = "planted-Nine5ty";

// Names under which people keep secrets.
constexpr const char* kNames[] = {"pass",
                                  "passwords",
                                  "passwd",
                                  "password",
                                  "passphrase",
                                  "pwd",
                                  "db_pass",
                                  "smtpPass",
                                  "dbpass",
                                  "mysql_pwd",
                                  "PGPASSWORD",
                                  "RedisPassword",
                                  "root-password",
                                  "password2",
                                  "password_value",
                                  "user_passwd",
                                  "proxy_password",
                                  "tokens",
                                  "token",
                                  "hf_token",
                                  "hftoken",
                                  "hub_token",
                                  "hubToken",
                                  "HUGGING_FACE_HUB_TOKEN",
                                  "access_tokens",
                                  "authToken",
                                  "gitlab-token",
                                  "refresh_token",
                                  "bot_token",
                                  "WANDB_TOKEN",
                                  "personal_access_token",
                                  "token_value",
                                  "api_key",
                                  "api_keys",
                                  "apikey",
                                  "apiKey",
                                  "API-Key",
                                  "X-Api-Key",
                                  "openai_key",
                                  "wandb_key",
                                  "access_key",
                                  "access_key_id",
                                  "accesskey",
                                  "secret_key",
                                  "secretkey",
                                  "AWS_SECRET_ACCESS_KEY",
                                  "private_key",
                                  "ssh_key",
                                  "encryption_key",
                                  "account_key",
                                  "swanlab_api_key",
                                  "api_key_v2",
                                  "ossKey",
                                  "secret",
                                  "secrets",
                                  "client_secret",
                                  "clientsecret",
                                  "clientSecret",
                                  "app_secret",
                                  "appsecret",
                                  "webhook",
                                  "webhook_url",
                                  "credentials",
                                  "creds",
                                  "jwt",
                                  "bearer",
                                  "authorization",
                                  "cookie",
                                  "auth",
                                  "ak",
                                  "sk",
                                  "huawei.ak",
                                  "obs.sk",
                                  "connection_string_secret",
                                  "dsn",
                                  "signature",
                                  "totp",
                                  "密码",
                                  "口令",
                                  "数据库密码",
                                  "登录口令",
                                  "密钥",
                                  "访问令牌",
                                  "mima",
                                  "kouling"};

std::string Filled(absl::string_view form, absl::string_view name) {
  return absl::StrReplaceAll(form, {{"NAME", name}, {"§", kPlanted}});
}

// What leaves the node of a file's settings.
std::string Left(absl::string_view text, absl::string_view name) {
  auto documents = ReadSettings(text, name, "");
  std::string all;
  if (!documents.ok()) return all;
  for (v1::SettingsDocument& document : *documents) {
    WithholdSecrets(BuiltInRules().settings, document, {"the audit's key", {}});
    for (const v1::Setting& setting : document.settings()) {
      absl::StrAppend(&all, setting.raw_key(), " ", setting.raw_value(), " ", ValueToText(setting.value()), "\n");
    }
    for (const v1::Note& note : document.notes()) absl::StrAppend(&all, note.message(), "\n");
  }
  return all;
}

TEST(RedactionCorpus, NoPlantedSecretLeavesUnderAName) {
  int planted = 0;
  for (const char* name : kNames) {
    for (const char* form :
         {"{\"lr\": 0.1, \"NAME\": \"§\", \"b\": 1}", "{\"a\": {\"NAME\": [\"§\", \"§\"]}, \"b\": 1}",
          "{\"NAME\": {\"team\": \"§\"}, \"b\": 1}", "lr: 0.1\nNAME: §\n", "NAME: ['§']\nb: 1\n"}) {
      ++planted;
      const std::string text = Filled(form, name);
      EXPECT_FALSE(absl::StrContains(Left(text, "f.yaml"), kPlanted)) << text;
    }
    for (const char* form : {"NAME: §", "x 1, NAME=§, lr=1", "'NAME': '§'", "\"NAME\": [\"§\", '§']", "NAME = \"§\"",
                             "Namespace(lr=1, NAME='§')", "{\\\"NAME\\\": \\\"§\\\"}", "--NAME=§", "NAME：§",
                             "[\"--NAME\", \"§\"]", "<NAME>§</NAME>"}) {
      ++planted;
      const std::string text = Filled(form, name);
      EXPECT_FALSE(absl::StrContains(WithoutSecrets(text), kPlanted)) << text << " -> " << WithoutSecrets(text);
    }
    const std::vector<std::string> words = {"python", "a.py", absl::StrCat("--", name), kPlanted, "--lr", "1"};
    const std::vector<std::string> clean = WithoutSecrets(absl::MakeConstSpan(words));
    ++planted;
    EXPECT_EQ(clean[3], "***") << name;
    EXPECT_EQ(clean[5], "1");
  }
  std::cout << planted << " secrets planted under names\n";
  EXPECT_GE(planted, 150);
}

// Where programs, addresses and texts hold a secret; § stands for it.
constexpr const char* kPlaces[] = {"sshpass -p § ssh node",
                                   "sshpass -p '§ y' ssh node",
                                   "sshpass -p§ ssh node",
                                   "/usr/bin/sshpass -p § scp a b",
                                   "mysql -u root -p§ db",
                                   "mysqldump -p§ --all-databases",
                                   "mariadb -uroot -p§",
                                   "redis-cli -h host -a § ping",
                                   "curl -u me:§ https://host/",
                                   "curl --user me:§ https://host/",
                                   "curl -ume:§ https://host/",
                                   "curl -H 'Authorization: Bearer §' https://host/",
                                   "curl -H \"Private-Token: §\" https://host/",
                                   "curl -H 'X-Api-Key: §' https://host/",
                                   "curl -H 'Cookie: sid=§; other=§' https://host/",
                                   "docker login -u me -p § registry",
                                   "ldapsearch -x -w § -D cn=a",
                                   "unzip -P § a.zip",
                                   "7z x -p§ a.7z",
                                   "openssl enc -k § -in a",
                                   "openssl rsa -passin pass:§ -in a",
                                   "ipmitool -H h -U root -P § power on",
                                   "wandb login §",
                                   "wandb login --relogin §",
                                   "swanlab login -k §",
                                   "huggingface-cli login --token §",
                                   "modelscope login --token §",
                                   "[\"sshpass\", \"-p\", \"§\", \"ssh\"]",
                                   "['mysql', '-p§']",
                                   "bash -c \"sshpass -p § ssh node\"",
                                   "smbclient -U me%§ //h/s",
                                   "git clone https://me:§@host/r.git",
                                   "git clone https://§@host/r.git",
                                   "redis://:§@host:6379/0",
                                   "mongodb+srv://u:§@h/db",
                                   "https_proxy=http://u:§@p:80",
                                   "s3://b/k?X-Amz-Signature=§&x=1",
                                   "https://h/f?sig=§",
                                   "https://h/f?token=§&a=b",
                                   "https://oapi.dingtalk.com/robot/send?access_token=§",
                                   "https://hooks.slack.com/services/§",
                                   "https://open.feishu.cn/open-apis/bot/v2/hook/§",
                                   "https://open.larksuite.com/open-apis/bot/v2/hook/§",
                                   "https://discord.com/api/webhooks/123456/§",
                                   "https://a.webhook.office.com/webhookb2/§",
                                   "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=§",
                                   "https://api.telegram.org/bot§/send",
                                   "https://example.com/hook/§",
                                   "https://ci.example.com/webhooks/§",
                                   "Authorization: Basic §",
                                   "authorization: token §",
                                   "Bearer §",
                                   "password is §",
                                   "the password § was taken",
                                   "密码是§",
                                   "密码是 §",
                                   "口令：§",
                                   "密码: §",
                                   "password: correct horse §",
                                   "export HF_TOKEN=§",
                                   "ENV API_KEY=§",
                                   "os.environ[\"HF_TOKEN\"] = \"§\"",
                                   "Server=h;User=u;Password=§;Db=d",
                                   "DefaultEndpointsProtocol=https;AccountKey=§;x=y",
                                   "api_keys: [§, §]",
                                   "tokens: {hf: §, gh: §}",
                                   "-e HF_TOKEN=§",
                                   "--env=WANDB_API_KEY=§",
                                   "login(token='§')",
                                   "password='it''s §'",
                                   "step 3 loss 2.5 token: §",
                                   "\"args\": [\"--lr\", \"1\", \"--api-key\", \"§\"]",
                                   "('password', '§')",
                                   "-----BEGIN RSA PRIVATE KEY-----\n§",
                                   "-----BEGIN PGP PRIVATE KEY BLOCK-----\n§"};

TEST(RedactionCorpus, NoPlantedSecretLeavesByItsPlace) {
  int planted = 0;
  for (const char* form : kPlaces) {
    ++planted;
    const std::string text = Filled(form, "");
    EXPECT_FALSE(absl::StrContains(WithoutSecrets(text), kPlanted)) << text << " -> " << WithoutSecrets(text);
  }
  std::cout << planted << " secrets planted by places\n";
}

// More places, by another hand: what people write in scripts, notes, shells and clients of clouds, in both languages.
constexpr const char* kMorePlaces[] = {
    "登录密码为§",
    "密码为：§",
    "口令为 §",
    "账号密码：admin/§",
    "用户名 root 密码 §",
    "访问密钥=§",
    "私钥: §",
    "秘钥：§",
    "授权码: §",
    "令牌：§",
    "凭证: §",
    "凭据=§",
    "密碼: §",
    "資料庫密碼：§",
    "\"数据库口令\": \"§\"",
    "export 数据库密码=§",
    "postgresql://u:§@h:5432/db",
    "amqp://u:§@h:5672/%2F",
    "ftp://u:§@h/a",
    "ssh://git:§@h/x.git",
    "rsync://u:§@h/m",
    "socks5h://u:§@p:1080",
    "obs://ak:§@bucket/x",
    "jdbc:mysql://h/db?user=u&password=§",
    "jdbc:sqlserver://h;user=u;password=§;x=y",
    "jdbc:oracle:thin:u/§@h:1521:x",
    "https://§:x-oauth-basic@github.com/a/b",
    "https://h/p?api_key=§",
    "https://h/p?x=1&access_key=§",
    "https://h/#access_token=§",
    "https://x.obs.cn-north-4.myhuaweicloud.com/a?AccessKeyId=x&Signature=§&Expires=1",
    "https://h/a?X-Obs-Signature=§",
    "https://h/a?X-Goog-Signature=§&y=1",
    "pip install --index-url https://u:§@h/simple x",
    "PGPASSWORD=§ psql -h h",
    "psql 'host=h user=u password=§'",
    "mysql -h h -u root -p'§' db",
    "mysql --password=§",
    "mongosh -u a -p § db",
    "mongodump --username a --password § --db x",
    "sqlcmd -S h -U sa -P §",
    "docker run -e MYSQL_ROOT_PASSWORD=§ mysql",
    "helm install x --set auth.password=§",
    "kubectl create secret generic a --from-literal=password=§",
    "echo '§' | sudo -S reboot",
    "echo § | docker login -u me --password-stdin r",
    "aws configure set aws_secret_access_key §",
    "az login -u a -p §",
    "az storage blob list --account-key §",
    "obsutil config -i=§ -k=§ -e=h",
    "ossutil config -i § -k § -e h",
    "s3cmd --secret_key=§ ls",
    "mc alias set m http://h:9000 user §",
    "rclone config create r s3 secret_access_key=§",
    "nmcli dev wifi connect net password §",
    "wget --user=u --http-password=§ https://h/",
    "curl --proxy-user u:§ https://h/",
    "curl -x http://u:§@p:3128 https://h/",
    "curl -b 'session=§' https://h/",
    "svn co --username u --password § https://h/",
    "npm config set //r.example.com/:_authToken §",
    "//registry.npmjs.org/:_authToken=§",
    "machine h login u password §",
    "gpg --batch --passphrase § -d a.gpg",
    "keytool -list -storepass § -keystore k",
    "openssl pkcs12 -in a -passout pass:§",
    "ssh-keygen -t rsa -N § -f k",
    "zip -P § a.zip b",
    "rar x -p§ a.rar",
    "htpasswd -b f u §",
    "echo 'u:§' | chpasswd",
    "lftp -u u,§ h",
    "mount -t cifs -o username=u,password=§ //h/s /m",
    "ipmitool -I lanplus -U root -P§ power status",
    "redis-cli -a§ ping",
    "clickhouse-client --password §",
    "hf auth login --token §",
    "wandb.login(key='§')",
    "swanlab.login(api_key=\"§\")",
    "neptune.init_run(api_token=\"§\")",
    "openai.api_key = '§'",
    "os.environ.setdefault('OPENAI_API_KEY', '§')",
    "requests.get(url, auth=('me', '§'))",
    "boto3.client('s3', aws_access_key_id='§', aws_secret_access_key='§')",
    "client.connect(h, username='u', password='§')",
    "Set-Cookie: sid=§; Path=/",
    "Proxy-Authorization: Basic §",
    "X-Auth-Token: §",
    "X-Security-Token: §",
    "Authorization: AWS4-HMAC-SHA256 Credential=x, Signature=§",
    "Authorization: OBS ak:§",
    "-----BEGIN OPENSSH PRIVATE KEY-----\n§\n-----END OPENSSH PRIVATE KEY-----",
    "-----BEGIN ENCRYPTED PRIVATE KEY-----\n§",
    "{\"type\": \"service_account\", \"private_key\": \"-----BEGIN PRIVATE KEY-----\\n§\\n\"}",
    "Private-Lines: 1\n§",
    "the api key is §",
    "my token is: §",
    "pw=§",
    "pwd: §",
    "--pw §",
    "use the passphrase \"§\" for it"};

TEST(RedactionCorpus, NoPlantedSecretLeavesByOtherPlacesEither) {
  int planted = 0;
  for (const char* form : kMorePlaces) {
    ++planted;
    const std::string text = Filled(form, "");
    EXPECT_FALSE(absl::StrContains(WithoutSecrets(text), kPlanted)) << text << " -> " << WithoutSecrets(text);
  }
  std::cout << planted << " more secrets planted by places\n";
}

// Put together here, so that no file of ours holds what scanners of repositories look for.
TEST(RedactionCorpus, NoSecretOfAKnownFormLeaves) {
  int planted = 0;
  for (const auto& [prefix, rest] :
       std::vector<std::pair<std::string, std::string>>{{"hf_", "abcdefghijklmnopqrstuv"},
                                                        {"sk-", "abcdefghijklmnopqrstuv"},
                                                        {"sk-ant-", "api03-abcdefghijklmnop"},
                                                        {"gh", "p_0123456789abcdefABCD"},
                                                        {"github_pat_", "11ABCDEFG0123456789"},
                                                        {"glpat-", "abcdefghij12345"},
                                                        {"AKIA", "IOSFODNN7EXAMPLE"},
                                                        {"LTAI", "5tAbCdEfGhIjKlMn"},
                                                        {"AKID", "z8krbsJ5yKBZQpn74WFk"},
                                                        {"xoxb-", "0123456789-abcdef"},
                                                        {"xapp-", "1-A012345-abcdef"},
                                                        {"T0123ABCD/", "B0123ABCD/abcdefghijklmnop1234"},
                                                        {"AIza", "SyA0123456789abcdefghijklmnopqrstuv"},
                                                        {"ya29.", "a0AfH6SMBabcdefghijklmn"},
                                                        {"npm_", "abcdefghijklmnopqrstuvwxyz0123456789"},
                                                        {"pypi-", "AgEIcHlwaS5vcmcCJGabcdefghijklmn"},
                                                        {"eyJhbGciOiJIUzI1NiJ9.", "eyJzdWIiOiIxMjM0In0.abc"},
                                                        {"dapi", "0123456789abcdef0123456789abcdef"},
                                                        {"r8_", "abcdefghijklmnopqrstuvwxyz0123"},
                                                        {"gsk_", "abcdefghijklmnopqrstuvwxyz0123"},
                                                        {"nvapi-", "abcdefghijklmnopqrstuvwxyz0123"},
                                                        {"hvs.", "CAESIabcdefghijklmnopqrst"},
                                                        {"123456789:AA", "abcdefghijklmnopqrstuvwxyz012345678"},
                                                        {"sk_live_", "abcdefghijklmnop"},
                                                        {"QTWAOYTT", "INDUT2QVKYUC"},
                                                        {"MFyfvK41ba2giqM7Uio6", "PznpdUKGpownRZlmVmHc"}}) {
    ++planted;
    const std::string secret = absl::StrCat(prefix, rest);
    EXPECT_EQ(WithoutSecrets(absl::StrCat("see ", secret, ", then")), "see ***, then") << secret;
    EXPECT_FALSE(absl::StrContains(Left(absl::StrCat("{\"notes\": \"", secret, "\", \"b\": 1}"), "f.json"), secret));
  }
  // Under a name that says nothing, by nothing but their look.
  for (const char* secret : {"q7Rk2LmX9vTz4BnW8cYd", "Zk39dLq0XcVb7Rt2Pw5s", "3f9a1c0b7d2e4f5a6b7c8d9e0f1a2b3c",
                             "da39a3ee5e6b4b0d3255bfef95601890afd80709", "k3j9x7q2m5z8w1v4t6r0p3n5"}) {
    ++planted;
    EXPECT_FALSE(
        absl::StrContains(Left(absl::StrCat("{\"plugin_slot\": \"", secret, "\", \"lr\": 1}"), "f.json"), secret))
        << secret;
  }
  std::cout << planted << " secrets planted by form\n";
}

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
    {"blend", "0.3 a 0.7 b"}};

TEST(RedactionCorpus, WhatIsNoSecretStaysInSettings) {
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

TEST(RedactionCorpus, WhatIsNoSecretStaysInTexts) {
  int kept = 0;
  for (const char* text : {"tokens per second: 5",
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
                           "最大 token 数: 4096"}) {
    ++kept;
    EXPECT_EQ(WithoutSecrets(text), text);
  }
  const std::vector<std::string> words = {
      "torchrun", "--nproc_per_node", "8",     "train.py", "--tokenizer", "bpe",          "--max-tokens",
      "512",      "--pad-token",      "<pad>", "-p",       "8080",        "--token-file", "/a/b"};
  EXPECT_EQ(WithoutSecrets(absl::MakeConstSpan(words)), words);
  std::cout << kept << " innocent texts\n";
}

TEST(RedactionCorpus, APersonOfTheNodeMayLetValuesLeave) {
  v1::SettingsDocument document;
  document.set_format("json");
  for (const char* name : {"plugin.slot", "plugin.token", "other.token"}) {
    v1::Setting& setting = *document.add_settings();
    setting.set_raw_key(name);
    setting.set_raw_value("q7Rk2LmX9vTz4BnW8cYd");
    setting.mutable_value()->set_text(setting.raw_value());
  }
  WithholdSecrets(BuiltInRules().settings, document, {"", {"plugin.*"}});
  EXPECT_FALSE(IsWithheld(document.settings(0)));
  EXPECT_FALSE(IsWithheld(document.settings(1)));
  EXPECT_TRUE(IsWithheld(document.settings(2)));
  ASSERT_EQ(document.notes_size(), 1);
  EXPECT_EQ(document.notes(0).kind(), "secrets_withheld");
  EXPECT_TRUE(
      absl::StrContains(document.notes(0).message(), "1 withheld, which look like what stays on a node: other.token;"));
  // Once more changes nothing.
  const std::string once = document.SerializeAsString();
  WithholdSecrets(BuiltInRules().settings, document, {"", {"plugin.*"}});
  EXPECT_EQ(document.SerializeAsString(), once);
}

}  // namespace
}  // namespace paritect
