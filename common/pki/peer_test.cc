#include "common/pki/peer.h"

#include "common/pki/testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using namespace pki_testing;  // NOLINT(google-build-using-namespace)
using testing::HasSubstr;

// A certificate with any subject and alternative names, as another authority might issue.
Certificate Foreign(const std::string& common_name, const std::string& alternative_names) {
  const KeyPair key = Key();
  const openssl::UniqueX509 made(X509_new());
  X509_set_version(made.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 0xbeef);
  ASN1_TIME_set(X509_getm_notBefore(made.get()), kNow);
  ASN1_TIME_set(X509_getm_notAfter(made.get()), kNow + 60);
  if (!common_name.empty())
    X509_NAME_add_entry_by_NID(X509_get_subject_name(made.get()), NID_commonName, MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(common_name.data()),
                               static_cast<int>(common_name.size()), -1, 0);
  if (!alternative_names.empty()) {
    const openssl::UniqueExtension names(
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, alternative_names.c_str()));
    X509_add_ext(made.get(), names.get(), -1);
  }
  X509_set_pubkey(made.get(), key.get());
  X509_sign(made.get(), key.get(), EVP_sha256());
  return Certificate::Share(made.get());
}

IdentityMap Map(const std::string& yaml) {
  const auto map = IdentityMap::Parse(yaml);
  EXPECT_TRUE(map.ok()) << map.status();
  return map.value_or(IdentityMap());
}

TEST(Peer, IsWhoTheAuthoritySays) {
  const Authority authority = NewAuthority();
  const Certificate certificate = ClientOf(authority, Key(), {Role::kOperator, "jane@example.com"});
  const auto peer = ParsePeer(certificate.ToPem());
  ASSERT_TRUE(peer.ok()) << peer.status();
  EXPECT_EQ(peer->identity, (Identity{Role::kOperator, "jane@example.com"}));
  EXPECT_EQ(peer->serial_hex, certificate.SerialHex());
  EXPECT_EQ(peer->fingerprint, certificate.Fingerprint());
  EXPECT_EQ(peer->not_after, kNow + kDaySeconds);
  EXPECT_EQ(peer->issuer, authority.certificate().Subject());
}

TEST(Peer, RefusesMissingManyAndDamagedStamps) {
  EXPECT_EQ(ParsePeer(Foreign("a", "").ToPem()).status().code(), absl::StatusCode::kUnauthenticated);
  for (const char* names :
       {"URI:paritect://agent/a,URI:paritect://admin/a", "URI:paritect://agent/a,URI:PARITECT://admin/a",
        "URI:paritect://root/a", "URI:paritect://admin/b", "URI:paritect://admin/%61", "DNS:paritect.agent.a"}) {
    EXPECT_EQ(ParsePeer(Foreign("a", names).ToPem()).status().code(), absl::StatusCode::kUnauthenticated) << names;
  }
  EXPECT_TRUE(ParsePeer(Foreign("a", "URI:paritect://agent/a,URI:spiffe://x/y").ToPem()).ok());
  EXPECT_EQ(ParsePeer("junk").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ParsePeer("").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Peer, StampsOfAnotherAuthorityCountForNothing) {
  const IdentityMap table = Map("identities: [{subject_cn: a, role: viewer}]");
  const std::string pem = Foreign("a", "URI:paritect://admin/a").ToPem();
  EXPECT_EQ(ParsePeer(pem, {.stamps_count = false, .table = &table})->identity, (Identity{Role::kViewer, "a"}));
  EXPECT_EQ(ParsePeer(pem, {.stamps_count = true, .table = &table})->identity, (Identity{Role::kAdmin, "a"}));
  EXPECT_EQ(ParsePeer(pem, {.stamps_count = false, .table = nullptr}).status().code(),
            absl::StatusCode::kUnauthenticated);
}

TEST(IdentityMap, MatchesEveryField) {
  const IdentityMap table = Map(R"(
identities:
  - {subject_cn: "gpu-*.example.com", role: agent}
  - {san: "dns:audit.example.com", role: operator, name: audit}
  - {san: "email:*@example.com", role: viewer}
  - {san: "uri:spiffe://x/admin", role: admin, name: root}
  - {san: "ip:10.0.0.1", role: agent, name: npu-01}
)");
  EXPECT_EQ(*table.Find(Foreign("gpu-01.example.com", "")), (Identity{Role::kAgent, "gpu-01.example.com"}));
  EXPECT_EQ(*table.Find(Foreign("x", "DNS:other,DNS:audit.example.com")), (Identity{Role::kOperator, "audit"}));
  EXPECT_EQ(*table.Find(Foreign("x", "email:jane@example.com")), (Identity{Role::kViewer, "jane@example.com"}));
  EXPECT_EQ(*table.Find(Foreign("x", "URI:spiffe://x/admin")), (Identity{Role::kAdmin, "root"}));
  EXPECT_EQ(*table.Find(Foreign("x", "IP:10.0.0.1")), (Identity{Role::kAgent, "npu-01"}));
  const auto none = table.Find(Foreign("gpu-01.example.org", "DNS:audit.example.com.evil"));
  EXPECT_EQ(none.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(none.status().message()), HasSubstr("dns:audit.example.com.evil"));
}

TEST(IdentityMap, TheFirstLineWins) {
  const IdentityMap table = Map("identities: [{subject_cn: \"a*\", role: viewer}, {subject_cn: ab, role: admin}]");
  EXPECT_EQ(table.Find(Foreign("ab", ""))->role, Role::kViewer);
}

TEST(IdentityMap, HostNamesHaveNoCase) {
  const IdentityMap table = Map("identities: [{san: \"dns:GPU-*.Example.com\", role: agent}]");
  EXPECT_EQ(table.Find(Foreign("x", "DNS:gpu-01.EXAMPLE.com"))->name, "gpu-01.example.com");
}

TEST(IdentityMap, AMissingCommonNameMatchesNothing) {
  const IdentityMap table =
      Map("identities: [{subject_cn: \"*\", role: admin, name: x}, {san: \"dns:a\", role: viewer}]");
  EXPECT_EQ(table.Find(Foreign("", "DNS:a"))->role, Role::kViewer);
}

TEST(IdentityMap, AMatchedTextMustBeAName) {
  const IdentityMap table = Map("identities: [{subject_cn: \"*\", role: viewer}]");
  EXPECT_EQ(table.Find(Foreign("Jane Doe", "")).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(table.Find(Foreign("../x", "")).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(IdentityMap, StarsDoNotBlowUp) {
  std::string stars;
  for (int i = 0; i < 30; ++i) stars += "a*";
  const IdentityMap table = Map(absl::StrCat("identities: [{san: \"dns:", stars, "b\", role: viewer, name: x}]"));
  EXPECT_EQ(table.Find(Foreign("x", absl::StrCat("DNS:", std::string(5000, 'a')))).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(IdentityMap, SaysWhereAnErrorStands) {
  for (const auto& [yaml, error] : std::vector<std::pair<std::string, std::string>>{
           {"identities: [{subject_cn: a}]", "needs a `role`"},
           {"identities: [{role: admin}]", "either `subject_cn` or `san`"},
           {"identities: [{subject_cn: a, san: \"dns:a\", role: admin}]", "either `subject_cn` or `san`"},
           {"identities: [{san: a, role: admin}]", "must begin with dns:"},
           {"identities: [{san: \"dns:\", role: admin}]", "empty text"},
           {"identities: [{subject_cn: a, role: root}]", "the role must be"},
           {"identities: [{subject_cn: a, role: admin, nme: x}]", "unknown key `nme`"},
           {"identities: [{subject_cn: a, role: admin, name: \"../x\"}]", "holds '/'"},
           {"identities: {a: b}", "must be a list"},
           {"identities: [a]", "must be a map"},
           {"identity: []", "unknown key `identity`"},
           {"[]", "must be a map"}}) {
    const auto map = IdentityMap::Parse(yaml);
    EXPECT_EQ(map.status().code(), absl::StatusCode::kInvalidArgument) << yaml;
    EXPECT_THAT(std::string(map.status().message()),
                testing::AllOf(testing::ContainsRegex("^[0-9]+:[0-9]+: "), HasSubstr(error)));
  }
  EXPECT_TRUE(Map("# nothing yet\n").empty());
  EXPECT_TRUE(Map("").empty());
}

}  // namespace
}  // namespace paritect
