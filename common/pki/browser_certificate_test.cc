#include "common/pki/browser_certificate.h"

#include <openssl/pkcs12.h>

#include "common/pki/openssl.h"
#include "common/pki/testing.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using namespace pki_testing;  // NOLINT(google-build-using-namespace)

TEST(BrowserCertificate, HoldsKeyAndCertificateUnderItsPassword) {
  const Authority authority = NewAuthority();
  const KeyPair key = Key();
  const Identity anna = {Role::kOperator, "anna"};
  const Certificate certificate = ClientOf(authority, key, anna);
  const Credential credential = {anna, {"host:7400"}, authority.certificate().ToPem(), certificate.ToPem(), Pem(key)};
  const auto bytes = BrowserCertificate(credential, "a password");
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const auto* begin = reinterpret_cast<const unsigned char*>(bytes->data());
  PKCS12* const read = d2i_PKCS12(nullptr, &begin, static_cast<long>(bytes->size()));  // NOLINT(google-runtime-int)
  ASSERT_NE(read, nullptr);
  EVP_PKEY* read_key = nullptr;
  X509* leaf = nullptr;
  EXPECT_EQ(PKCS12_parse(read, "another", &read_key, &leaf, nullptr), 0);
  ASSERT_EQ(PKCS12_parse(read, "a password", &read_key, &leaf, nullptr), 1);
  EXPECT_EQ(X509_check_private_key(leaf, read_key), 1);
  EXPECT_EQ(openssl::CommonName(X509_get_subject_name(leaf)), "anna");
  X509_free(leaf);
  EVP_PKEY_free(read_key);
  PKCS12_free(read);
}

TEST(BrowserCertificate, WhatIsDamagedIsRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(BrowserCertificate({}, "x").status()));
  Credential credential;
  credential.key_pem = Pem(Key());
  EXPECT_TRUE(absl::IsInvalidArgument(BrowserCertificate(credential, "x").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(BrowserCertificate(credential, "").status()));
}

}  // namespace
}  // namespace paritect
