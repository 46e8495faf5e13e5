// Secrets planted in many names, forms and places, none of which may leave a node. What looks alike and must stay in
// clear: redaction_clear_test.cc.
#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "agent/redaction.h"
#include "formats/settings/settings_format.h"
#include "rules/rules.h"

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
                                  "kouling",
                                  "pin",
                                  "user_pin",
                                  "so-pin",
                                  "simPin",
                                  "pincode",
                                  "pin_code",
                                  "pinCode",
                                  "PIN_CODE_VALUE",
                                  "otp",
                                  "otp_code",
                                  "pass_code",
                                  "pass_word",
                                  "pass_phrase",
                                  "passkey",
                                  "security_code",
                                  "verification_code",
                                  "verifyCode",
                                  "access_code",
                                  "accesscode",
                                  "auth_code",
                                  "authorizationCode",
                                  "login.2fa_code",
                                  "two_factor_code",
                                  "recovery_codes",
                                  "seed_phrase",
                                  "invite_code",
                                  "验证码",
                                  "短信验证码",
                                  "授权码",
                                  "邮箱授权码",
                                  "提取码",
                                  "PIN码"};

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
    "my pin is §",
    "your PIN code is §",
    "verification code: §",
    "the access code = '§'",
    "recovery phrase：§",
    "短信验证码为§",
    "您的验证码是 §",
    "提取码：§",
    "pkcs11-tool --login --pin § -O",
    "pw=§",
    "pwd: §",
    "--pw §",
    "use the passphrase \"§\" for it",
    "user root pass §==2",
    "user root pass x=§",
    "my token §@2.1.0"};

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
