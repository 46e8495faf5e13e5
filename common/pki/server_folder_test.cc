#include "common/pki/server_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_split.h"
#include "common/file_system.h"
#include "common/pki/secret_file.h"
#include "common/pki/testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using namespace pki_testing;  // NOLINT(google-build-using-namespace)
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  EXPECT_TRUE(PosixFileSystem().List(folder, [&](const DirectoryEntry& entry) { names.push_back(entry.name); }).ok());
  return names;
}

unsigned ModeOf(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}

class ServerFolderTest : public testing::Test {
 protected:
  static InitOptions Options() {
    InitOptions options;
    options.hosts = {"audit.example.com"};
    options.host_name = "box";
    options.address = "audit.example.com:7400";
    options.now = kNow;
    return options;
  }

  std::string Put(const std::string& name, const std::string& bytes) {
    EXPECT_TRUE(WriteFileDurably(folder_ / name, bytes, kSecretMode).ok());
    return folder_ / name;
  }

  // Options with everything of another authority; its key only where `with_key`.
  InitOptions Foreign(bool with_key) {
    InitOptions options = Options();
    const KeyPair key = *KeyPair::FromPem(RsaPem(2048));
    options.authority_path = Put("corp.pem", corporate_.certificate().ToPem());
    if (with_key) options.authority_key_path = Put("corp.key", Pem(corporate_.key()));
    options.certificate_path = Put("tls.pem", ServerOf(corporate_, key, {"audit.example.com"}).ToPem());
    options.key_path = Put("tls.key", Pem(key));
    options.identities_path = Put("who.yaml", "identities: [{subject_cn: \"gpu-*\", role: agent}]\n");
    return options;
  }

  absl::Status Init(const InitOptions& options) { return InitServerFolder(target_, options).status(); }

  const pki_testing::Folder folder_;
  const std::string target_ = folder_ / "server";
  const Authority corporate_ = NewAuthority();
};

TEST_F(ServerFolderTest, MakesAServerThatStarts) {
  const auto result = InitServerFolder(target_, Options());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->notes, ElementsAre());
  EXPECT_THAT(NamesIn(folder_.path()), ElementsAre("server"));
  EXPECT_THAT(NamesIn(target_),
              UnorderedElementsAre("ca.pem", "ca.key", "server.pem", "server.key", "admin.credential"));
  EXPECT_EQ(ModeOf(target_), 0700u);
  for (const char* name : {"ca.key", "server.key", "admin.credential"}) EXPECT_EQ(ModeOf(target_ + "/" + name), 0600u);
  const auto loaded = LoadServerFolder(target_, kNow);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->pin().ToString(), result->pin);
  EXPECT_TRUE(loaded->Enroller().ok());
  EXPECT_TRUE(loaded->policy().stamps_count);
  EXPECT_THAT(loaded->warnings, ElementsAre());
  const ChainQuery query = {ChainQuery::Purpose::kServer, kNow, "audit.example.com"};
  EXPECT_TRUE(VerifyPinnedChain(*Certificate::ListFromPem(loaded->chain_pem), loaded->pin(), query).ok());
}

TEST_F(ServerFolderTest, TheFirstAdminGetsIn) {
  ASSERT_TRUE(Init(Options()).ok());
  const auto admin = LoadCredential(target_ + "/admin.credential", kNow);
  ASSERT_TRUE(admin.ok()) << admin.status();
  EXPECT_EQ(admin->credential.identity, (Identity{Role::kAdmin, "admin"}));
  EXPECT_THAT(admin->credential.servers, ElementsAre("audit.example.com:7400"));
  EXPECT_THAT(admin->warnings, ElementsAre());
  EXPECT_EQ(ParsePeer(admin->credential.certificate_pem)->identity.role, Role::kAdmin);
}

TEST_F(ServerFolderTest, RefusesAFolderThatHoldsOne) {
  ASSERT_TRUE(Init(Options()).ok());
  const std::string before = ReadSecretFile(target_ + "/ca.key")->bytes;
  const absl::Status again = Init(Options());
  EXPECT_EQ(again.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(again.message()), HasSubstr("already holds a Paritect server"));
  EXPECT_EQ(ReadSecretFile(target_ + "/ca.key")->bytes, before);
  for (const char* name : {"ca.pem", "ca.key", "server.pem", "server.key"}) unlink((target_ + "/" + name).c_str());
  EXPECT_THAT(std::string(Init(Options()).message()), HasSubstr("admin.credential"));
}

TEST_F(ServerFolderTest, FillsAnExistingFolderAndKeepsWhatIsThere) {
  ASSERT_EQ(mkdir(target_.c_str(), 0750), 0);
  ASSERT_EQ(mkdir((target_ + "/lost+found").c_str(), 0700), 0);
  ASSERT_TRUE(InitServerFolder(target_ + "///", Options()).ok());
  EXPECT_THAT(NamesIn(target_),
              UnorderedElementsAre("lost+found", "ca.pem", "ca.key", "server.pem", "server.key", "admin.credential"));
  EXPECT_EQ(ModeOf(target_ + "/ca.key"), 0600u);
  EXPECT_TRUE(LoadServerFolder(target_, kNow).ok());
}

TEST_F(ServerFolderTest, LeavesNothingWhenItFails) {
  InitOptions options = Options();
  options.address = "no port";
  EXPECT_EQ(Init(options).code(), absl::StatusCode::kInvalidArgument);
  options = Options();
  options.hosts = {"a b"};
  EXPECT_EQ(Init(options).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(InitServerFolder(folder_ / "none/server", Options()).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(InitServerFolder("", Options()).status().code(), absl::StatusCode::kInvalidArgument);
  Put("file", "x");
  EXPECT_EQ(InitServerFolder(folder_ / "file", Options()).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(NamesIn(folder_.path()), ElementsAre("file"));
  if (geteuid() != 0) {
    ASSERT_EQ(mkdir(target_.c_str(), 0500), 0);
    EXPECT_EQ(Init(Options()).code(), absl::StatusCode::kPermissionDenied);
    EXPECT_THAT(NamesIn(target_), ElementsAre());
  }
}

TEST_F(ServerFolderTest, SaysWhatIsMissing) {
  const auto none = LoadServerFolder(target_, kNow);
  EXPECT_EQ(none.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(none.status().message()), HasSubstr("paritect-server init"));
  ASSERT_TRUE(Init(Options()).ok());
  unlink((target_ + "/server.key").c_str());
  EXPECT_THAT(std::string(LoadServerFolder(target_, kNow).status().message()), HasSubstr("server.key"));
}

TEST_F(ServerFolderTest, SaysWhatDoesNotFit) {
  ASSERT_TRUE(Init(Options()).ok());
  ASSERT_TRUE(WriteFileDurably(target_ + "/server.key", Pem(Key()), 0644).ok());
  EXPECT_THAT(std::string(LoadServerFolder(target_, kNow).status().message()), HasSubstr("does not belong"));
  ASSERT_TRUE(WriteFileDurably(target_ + "/ca.pem", NewAuthority().certificate().ToPem(), 0644).ok());
  EXPECT_THAT(std::string(LoadServerFolder(target_, kNow).status().message()),
              HasSubstr("ca.key: the authority's key"));
}

TEST_F(ServerFolderTest, WarnsOfKeysThatOthersMayRead) {
  ASSERT_TRUE(Init(Options()).ok());
  ASSERT_EQ(chmod((target_ + "/ca.key").c_str(), 0644), 0);
  EXPECT_THAT(LoadServerFolder(target_, kNow)->warnings, ElementsAre(HasSubstr("ca.key")));
}

TEST_F(ServerFolderTest, RenewsTheServersCertificateInTime) {
  ASSERT_TRUE(Init(Options()).ok());
  const std::string key = ReadSecretFile(target_ + "/server.key")->bytes;
  EXPECT_EQ(RenewServerCertificate(target_, kNow + 100 * kDaySeconds).value(), false);
  const std::int64_t late = kNow + 400 * kDaySeconds;
  EXPECT_THAT(std::string(LoadServerFolder(target_, late).status().message()), HasSubstr("expired"));
  EXPECT_EQ(RenewServerCertificate(target_, late).value(), true);
  EXPECT_EQ(RenewServerCertificate(target_, late).value(), false);
  const auto loaded = LoadServerFolder(target_, late);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->key_pem, key);
  EXPECT_THAT(Certificate::FromPem(loaded->chain_pem)->Names().dns,
              ElementsAre("audit.example.com", "localhost", "box"));
}

TEST_F(ServerFolderTest, BroughtCertificatesWithoutAuthorityKeySignNothing) {
  const auto result = InitServerFolder(target_, Foreign(false));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->notes, ElementsAre(HasSubstr("no admin.credential")));
  EXPECT_EQ(result->pin, CaPin::Of(corporate_.certificate()).ToString());
  EXPECT_THAT(NamesIn(target_), UnorderedElementsAre("ca.pem", "server.pem", "server.key", "identities.yaml"));
  const auto loaded = LoadServerFolder(target_, kNow);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_THAT(std::string(loaded->Enroller().status().message()), HasSubstr("join tokens are off"));
  EXPECT_FALSE(loaded->policy().stamps_count);
  const Certificate node = ClientOf(corporate_, Key(), {Role::kAdmin, "gpu-01"});
  EXPECT_EQ(ParsePeer(node.ToPem(), loaded->policy())->identity, (Identity{Role::kAgent, "gpu-01"}));
  EXPECT_EQ(RenewServerCertificate(target_, kNow + 400 * kDaySeconds).value(), false);
}

TEST_F(ServerFolderTest, BroughtAuthorityWithKeySigns) {
  InitOptions options = Foreign(true);
  options.certificate_path = options.key_path = options.identities_path = "";
  const auto result = InitServerFolder(target_, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->notes, ElementsAre(HasSubstr("identities.yaml")));
  const auto loaded = LoadServerFolder(target_, kNow);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_TRUE(loaded->Enroller().ok());
  EXPECT_TRUE(LoadCredential(target_ + "/admin.credential", kNow)->warnings.empty());
}

TEST_F(ServerFolderTest, RefusesWhatDoesNotGoTogether) {
  const InitOptions good = Foreign(false);
  InitOptions options = good;
  options.key_path = "";
  EXPECT_THAT(std::string(Init(options).message()), HasSubstr("both or neither"));
  options = good;
  options.authority_path = "";
  EXPECT_THAT(std::string(Init(options).message()), HasSubstr("need the authority's certificate"));
  options = good;
  options.certificate_path = options.key_path = "";
  EXPECT_THAT(std::string(Init(options).message()), HasSubstr("without its key cannot sign"));
  options = good;
  options.key_path = Put("other.key", Pem(Key()));
  EXPECT_THAT(std::string(Init(options).message()), HasSubstr("does not belong"));
  options = good;
  options.authority_path = Put("other.pem", NewAuthority().certificate().ToPem());
  EXPECT_THAT(std::string(Init(options).message()), HasSubstr("not signed by the authority"));
  options = good;
  options.authority_path = good.certificate_path;
  EXPECT_THAT(std::string(Init(options).message()), HasSubstr("is not an authority"));
  options = good;
  options.identities_path = Put("bad.yaml", "identities: 1\n");
  EXPECT_THAT(std::string(Init(options).message()), HasSubstr("bad.yaml: 1:13"));
  options = good;
  options.now = kNow + 2 * kDaySeconds;
  EXPECT_EQ(Init(options).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(PosixFileSystem().LStat(target_).status().code(), absl::StatusCode::kNotFound);
}

// Root, intermediate and leaf: the pin may name either authority, as ca.pem's first.
TEST_F(ServerFolderTest, ChainsWithAnIntermediateWork) {
  if (std::system("openssl version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no openssl command";
  const std::string script = absl::StrCat(
      "cd '", folder_.path(),
      "' && exec > log 2>&1 && set -e\n"
      "openssl req -x509 -newkey rsa:2048 -nodes -keyout root.key -out root.pem -subj '/CN=Corp Root' -days 3650\n"
      "openssl req -newkey rsa:2048 -nodes -keyout mid.key -out mid.csr -subj '/O=Corp/CN=Corp Issuing'\n"
      "printf 'basicConstraints=critical,CA:TRUE\\nkeyUsage=keyCertSign\\n' > mid.ext\n"
      "openssl x509 -req -in mid.csr -CA root.pem -CAkey root.key -CAcreateserial -days 3650 -extfile mid.ext -out "
      "mid.pem\n"
      "openssl req -newkey rsa:2048 -nodes -keyout leaf.key -out leaf.csr -subj '/CN=audit.example.com'\n"
      "printf 'subjectAltName=DNS:audit.example.com\\nextendedKeyUsage=serverAuth\\n' > leaf.ext\n"
      "openssl x509 -req -in leaf.csr -CA mid.pem -CAkey mid.key -CAcreateserial -days 300 -extfile leaf.ext -out "
      "leaf.pem\n"
      "cat leaf.pem mid.pem > chain.pem; cat mid.pem root.pem > bundle.pem\n");
  ASSERT_EQ(std::system(script.c_str()), 0);
  InitOptions options = Options();
  options.now = time(nullptr);
  options.certificate_path = folder_ / "chain.pem";
  options.key_path = folder_ / "leaf.key";
  int count = 0;
  for (const char* authority : {"root.pem", "mid.pem", "bundle.pem"}) {
    options.authority_path = folder_ / authority;
    const std::string target = absl::StrCat(target_, ++count);
    const auto result = InitServerFolder(target, options);
    ASSERT_TRUE(result.ok()) << authority << ": " << result.status();
    const auto loaded = LoadServerFolder(target, options.now);
    ASSERT_TRUE(loaded.ok()) << authority << ": " << loaded.status();
    EXPECT_TRUE(VerifyPinnedChain(*Certificate::ListFromPem(loaded->chain_pem), *CaPin::Parse(result->pin),
                                  {ChainQuery::Purpose::kServer, options.now, "audit.example.com"})
                    .ok())
        << authority;
  }
}

TEST_F(ServerFolderTest, NamesAreAddedToTheServersCertificate) {
  ASSERT_TRUE(Init(Options()).ok());
  const std::string key = ReadSecretFile(target_ + "/server.key")->bytes;
  ASSERT_TRUE(AddServerNames(target_, {"new.example.com", "box", "10.1.2.3"}, kNow).ok());
  const auto loaded = LoadServerFolder(target_, kNow);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->key_pem, key);
  const AlternativeNames names = Certificate::FromPem(loaded->chain_pem)->Names();
  EXPECT_THAT(names.dns, ElementsAre("audit.example.com", "localhost", "box", "new.example.com"));
  EXPECT_THAT(names.ip, testing::Contains("10.1.2.3"));
  const std::string before = ReadSecretFile(target_ + "/server.pem")->bytes;
  for (const char* bad : {"", "a b", "x/y", "http://x"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(AddServerNames(target_, {bad}, kNow))) << bad;
  }
  EXPECT_EQ(ReadSecretFile(target_ + "/server.pem")->bytes, before);
}

TEST_F(ServerFolderTest, AnotherAuthoritysCertificateGetsNoNames) {
  ASSERT_TRUE(InitServerFolder(target_, Foreign(false)).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(AddServerNames(target_, {"x"}, kNow)));
}

}  // namespace
}  // namespace paritect
