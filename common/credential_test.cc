#include "common/credential.h"

#include <sys/stat.h>

#include "absl/strings/str_replace.h"
#include "common/pki/secret_file.h"
#include "common/pki/server_folder.h"
#include "common/pki/testing.h"
#include "common/status_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using namespace pki_testing;  // NOLINT(google-build-using-namespace)
using testing::ElementsAre;
using testing::HasSubstr;

Credential New(const Identity& identity = {Role::kAgent, "gpu-01"}) {
  return *IssueCredential(NewAuthority(), identity, {"audit.example.com:7400", "[::1]:7400"}, kDaySeconds, kNow);
}

std::string TextOf(const Credential& credential) {
  return *FormatCredential(credential);
}

std::string ErrorOf(const std::string& text) {
  const auto credential = ParseCredential(text);
  EXPECT_EQ(credential.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(credential.status().message());
}

std::string Without(const std::string& text, const std::string& key) {
  const std::size_t from = text.find(absl::StrCat("\n", key, ":")) + 1;
  std::size_t to = text.find('\n', from) + 1;
  while (to < text.size() && text[to] == ' ') to = text.find('\n', to) + 1;
  return absl::StrCat(text.substr(0, from), text.substr(to));
}

TEST(Credential, GoesThroughItsFile) {
  const Folder folder;
  const Credential credential = New();
  ASSERT_TRUE(SaveCredential(folder / "credential", credential).ok());
  struct stat info = {};
  ASSERT_EQ(stat((folder / "credential").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  const auto loaded = LoadCredential(folder / "credential", kNow);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_THAT(loaded->warnings, ElementsAre());
  EXPECT_EQ(loaded->not_after, kNow + kDaySeconds);
  EXPECT_EQ(loaded->credential.identity, credential.identity);
  EXPECT_EQ(loaded->credential.servers, credential.servers);
  EXPECT_EQ(loaded->credential.authority_pem, credential.authority_pem);
  EXPECT_EQ(loaded->credential.certificate_pem, credential.certificate_pem);
  EXPECT_EQ(loaded->credential.key_pem, credential.key_pem);
}

TEST(Credential, NamesThatYamlWouldReadOtherwiseStayNames) {
  for (const char* name : {"1e3", "true", "0x10", "null", "1.20"}) {
    const auto again = ParseCredential(TextOf(New({Role::kAgent, name})));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->identity.name, name);
  }
}

TEST(Credential, TakesCrlfAndForeignTextInItsParts) {
  Credential credential = New();
  credential.certificate_pem =
      absl::StrCat("subject=\tx: {\x01\n", absl::StrReplaceAll(credential.certificate_pem, {{"\n", "\r\n"}}));
  const auto again = ParseCredential(TextOf(credential));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(ParseCredential(absl::StrReplaceAll(TextOf(credential), {{"\n", "\r\n"}})).ok());
}

TEST(Credential, SaysWhatIsMissing) {
  const std::string text = TextOf(New());
  for (const char* key : {"role", "name", "servers", "authority", "certificate", "key"}) {
    EXPECT_THAT(ErrorOf(Without(text, key)), HasSubstr(absl::StrCat("no `", key, "`"))) << key;
  }
  EXPECT_THAT(ErrorOf(Without(text, "paritect_credential")), HasSubstr("not a credential file"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("not a credential file"));
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("not a credential file"));
  EXPECT_THAT(ErrorOf(absl::StrReplaceAll(text, {{"credential: 1", "credential: 2"}})), HasSubstr("another version"));
  EXPECT_THAT(ErrorOf(absl::StrCat(text, "extra: 1\n")), HasSubstr("unknown key `extra`"));
  EXPECT_THAT(ErrorOf(absl::StrReplaceAll(text, {{"role: agent", "role: root"}})), HasSubstr("the role must be"));
  EXPECT_THAT(ErrorOf(absl::StrReplaceAll(text, {{"com:7400", "com"}})), HasSubstr("not HOST:PORT"));
  EXPECT_THAT(ErrorOf(std::string(2 << 20, 'a')), testing::Not(HasSubstr("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")));
  EXPECT_THAT(ErrorOf(absl::StrCat(text, "key_file: x\n")), HasSubstr("exclude each other"));
}

TEST(Credential, SaysWhatDoesNotFit) {
  Credential credential = New();
  const std::string text = TextOf(credential);
  credential.key_pem = Pem(Key());
  EXPECT_THAT(std::string(FormatCredential(credential).status().message()), HasSubstr("does not fit"));
  EXPECT_THAT(ErrorOf(absl::StrReplaceAll(text, {{"role: agent", "role: admin"}})),
              HasSubstr("that of agent gpu-01, the file says admin gpu-01"));
  EXPECT_THAT(ErrorOf(absl::StrReplaceAll(text, {{"\"gpu-01\"", "\"gpu-02\""}})),
              HasSubstr("the file says agent gpu-02"));
}

TEST(Credential, EveryCutIsRefused) {
  const std::string text = TextOf(New());
  for (std::size_t size = 0; size + 2 < text.size(); size += 7) {
    EXPECT_EQ(CodeOf(ParseCredential(text.substr(0, size))), absl::StatusCode::kInvalidArgument) << size;
  }
}

TEST(Credential, ErrorsNeverShowTheKey) {
  const std::string text = TextOf(New());
  const std::size_t key = text.find("-----BEGIN PRIVATE KEY-----") + 30;
  const std::string part = text.substr(key, 40);
  for (std::size_t at = key; at < key + 100; ++at) {
    std::string damaged = text;
    damaged[at] = '#';
    const auto parsed = ParseCredential(damaged);
    EXPECT_THAT(std::string(parsed.status().message()), testing::Not(HasSubstr(part.substr(5, 20))));
  }
}

TEST(Credential, SaysSinceWhenItIsExpiredAndWhatToDo) {
  const Folder folder;
  ASSERT_TRUE(SaveCredential(folder / "agent", New()).ok());
  ASSERT_TRUE(SaveCredential(folder / "admin", New({Role::kAdmin, "jane"})).ok());
  const auto agent = LoadCredential(folder / "agent", kNow + kDaySeconds + 1);
  EXPECT_EQ(agent.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(
      std::string(agent.status().message()),
      testing::AllOf(HasSubstr("expired on 2026-09-22"), HasSubstr("paritect-agent join"), HasSubstr("/agent: ")));
  EXPECT_THAT(std::string(LoadCredential(folder / "admin", kNow + kDaySeconds + 1).status().message()),
              HasSubstr("ask an admin"));
  EXPECT_THAT(std::string(LoadCredential(folder / "agent", kNow - 301).status().message()), HasSubstr("set the clock"));
  EXPECT_TRUE(LoadCredential(folder / "agent", kNow + kDaySeconds).ok());
}

TEST(Credential, WarnsOfReadersAndOfAnotherAuthority) {
  const Folder folder;
  Credential credential = New();
  credential.authority_pem = NewAuthority().certificate().ToPem();
  ASSERT_TRUE(WriteFileDurably(folder / "c", TextOf(credential), 0644).ok());
  const auto loaded = LoadCredential(folder / "c", kNow);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_THAT(loaded->warnings, ElementsAre(HasSubstr("chmod 600"), HasSubstr("not signed by the authority")));
  EXPECT_EQ(LoadCredential(folder / "none", kNow).status().code(), absl::StatusCode::kNotFound);
}

TEST(Credential, PartsMayStandInFilesBesideIt) {
  const Folder folder;
  const Credential credential = New();
  const std::string text = TextOf(credential);
  ASSERT_TRUE(WriteFileDurably(folder / "tls.key", credential.key_pem, kSecretMode).ok());
  const std::string with_file = absl::StrCat(Without(text, "key"), "key_file: tls.key\n");
  ASSERT_TRUE(WriteFileDurably(folder / "c", with_file, kSecretMode).ok());
  const auto loaded = LoadCredential(folder / "c", kNow);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->credential.key_pem, credential.key_pem);
  EXPECT_THAT(loaded->warnings, ElementsAre());
  ASSERT_EQ(chmod((folder / "tls.key").c_str(), 0640), 0);
  EXPECT_THAT(LoadCredential(folder / "c", kNow)->warnings, ElementsAre(HasSubstr("tls.key")));
  EXPECT_THAT(ErrorOf(with_file), HasSubstr("not allowed here"));
  ASSERT_TRUE(
      WriteFileDurably(folder / "d", absl::StrReplaceAll(with_file, {{"tls.key", "none.key"}}), kSecretMode).ok());
  EXPECT_THAT(std::string(LoadCredential(folder / "d", kNow).status().message()), HasSubstr("`key_file`"));
}

TEST(Credential, RenewsAboutHalfWay) {
  EXPECT_EQ(RenewalTime(0, 1000, 0), 500);
  EXPECT_EQ(RenewalTime(0, 1000, -1), 400);
  EXPECT_EQ(RenewalTime(0, 1000, 1), 600);
  EXPECT_EQ(RenewalTime(100, 1100, 7), 700);
}

}  // namespace
}  // namespace paritect
