#include "common/pki/request.h"

#include <openssl/pem.h>

#include "absl/strings/str_replace.h"
#include "common/pki/openssl.h"
#include "common/pki/testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using namespace pki_testing;  // NOLINT(google-build-using-namespace)
using testing::HasSubstr;

// A request with whatever key, digest and foreign signature: what Make never gives.
std::string RawRequest(const std::string& key_pem, const EVP_MD* digest, const std::string& signer_pem = "") {
  const auto read = [](const std::string& pem) {
    return openssl::UniqueKey(PEM_read_bio_PrivateKey(openssl::ReadBio(pem).get(), nullptr, nullptr, nullptr));
  };
  const openssl::UniqueKey key = read(key_pem);
  const openssl::UniqueKey signer = read(signer_pem.empty() ? key_pem : signer_pem);
  const openssl::UniqueRequest request(X509_REQ_new());
  X509_REQ_set_pubkey(request.get(), key.get());
  X509_REQ_sign(request.get(), signer.get(), digest);
  const openssl::UniqueBio bio = openssl::WriteBio();
  PEM_write_bio_X509_REQ(bio.get(), request.get());
  return openssl::BioText(bio.get());
}

std::string ErrorOf(const std::string& pem) {
  const auto request = CertificateRequest::FromPem(pem);
  EXPECT_EQ(request.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_LT(request.status().message().size(), 300u);
  return std::string(request.status().message());
}

TEST(Request, CarriesTheWish) {
  const auto pem = CertificateRequest::Make(Key(), "gpu-01");
  ASSERT_TRUE(pem.ok());
  const auto request = CertificateRequest::FromPem(*pem);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(openssl::CommonName(X509_REQ_get_subject_name(request->get())), "gpu-01");
  EXPECT_TRUE(CertificateRequest::FromPem(absl::StrReplaceAll(*pem, {{"\n", "\r\n"}})).ok());
  EXPECT_EQ(CertificateRequest::Make(Key(), "../x").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Request, RefusesJunk) {
  const std::string pem = *CertificateRequest::Make(Key(), "gpu-01");
  EXPECT_THAT(ErrorOf(""), HasSubstr("not a certificate request"));
  EXPECT_THAT(ErrorOf("hello"), HasSubstr("not a certificate request"));
  EXPECT_THAT(ErrorOf(Pem(Key())), HasSubstr("not a certificate request"));
  EXPECT_THAT(ErrorOf(NewAuthority().certificate().ToPem()), HasSubstr("not a certificate request"));
  EXPECT_THAT(ErrorOf(pem.substr(0, pem.size() / 2)), HasSubstr("not a certificate request"));
  EXPECT_THAT(ErrorOf(pem + pem), HasSubstr("more than one"));
  EXPECT_THAT(ErrorOf(pem + std::string(kRequestBytesMax, '\n')), HasSubstr("too large"));
  EXPECT_THAT(ErrorOf(std::string(8 << 20, 'A')), HasSubstr("too large"));
}

TEST(Request, RefusesWeakKeysAndDigests) {
  EXPECT_THAT(ErrorOf(RawRequest(RsaPem(1024), EVP_sha256())), HasSubstr("RSA 1024"));
  EXPECT_THAT(ErrorOf(RawRequest(CurvePem("secp192k1"), EVP_sha256())), HasSubstr("secp192k1"));
  EXPECT_THAT(ErrorOf(RawRequest(Pem(Key()), EVP_sha1())), HasSubstr("SHA1"));
  EXPECT_THAT(ErrorOf(RawRequest(RsaPem(2048), EVP_md5())), HasSubstr("md5"));
  EXPECT_TRUE(CertificateRequest::FromPem(RawRequest(RsaPem(2048), EVP_sha256())).ok());
  EXPECT_TRUE(CertificateRequest::FromPem(RawRequest(CurvePem("secp521r1"), EVP_sha512())).ok());
}

// A look-alike of P-256: the same curve, its parameters written out.
TEST(Request, RefusesExplicitCurveParameters) {
  const KeyPair named = Key();
  EVP_PKEY_set_utf8_string_param(named.get(), "encoding", "explicit");
  EXPECT_THAT(ErrorOf(RawRequest(Pem(named), EVP_sha256())), HasSubstr("explicit"));
}

TEST(Request, RefusesTheKeyOfAnother) {
  EXPECT_THAT(ErrorOf(RawRequest(Pem(Key()), EVP_sha256(), Pem(Key()))), HasSubstr("not signed by the key"));
}

TEST(Request, RefusesEveryFlippedBit) {
  const std::string pem = *CertificateRequest::Make(Key(), "gpu-01");
  const openssl::UniqueRequest request(PEM_read_bio_X509_REQ(openssl::ReadBio(pem).get(), nullptr, nullptr, nullptr));
  unsigned char* bytes = nullptr;
  const int size = i2d_X509_REQ(request.get(), &bytes);
  ASSERT_GT(size, 100);
  int accepted = 0;
  for (int i = 0; i < size; ++i) {
    bytes[i] ^= 1;
    const openssl::UniqueBio bio = openssl::WriteBio();
    PEM_write_bio(bio.get(), "CERTIFICATE REQUEST", "", bytes, size);
    accepted += CertificateRequest::FromPem(openssl::BioText(bio.get())).ok();
    bytes[i] ^= 1;
  }
  OPENSSL_free(bytes);
  EXPECT_EQ(accepted, 0);
}

}  // namespace
}  // namespace paritect
