// What the tests of common/pki share: keys are costly to write out and cheap to make.
#ifndef PARITECT_COMMON_PKI_TESTING_H_
#define PARITECT_COMMON_PKI_TESTING_H_

#include <openssl/pem.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/pki/authority.h"
#include "common/pki/openssl.h"
#include "gtest/gtest.h"

namespace paritect::pki_testing {

inline constexpr std::int64_t kNow = 1'790'000'000;  // 2026-09-21

inline KeyPair Key() {
  return *KeyPair::Generate();
}
inline std::string Pem(const KeyPair& key) {
  return *key.ToPem();
}
inline Authority NewAuthority(std::int64_t now = kNow) {
  return *Authority::Create(now);
}
inline CertificateRequest Request(const KeyPair& key) {
  return *CertificateRequest::FromPem(*CertificateRequest::Make(key, "wish"));
}
inline Certificate ClientOf(const Authority& authority, const KeyPair& key, const Identity& identity,
                            std::int64_t now = kNow) {
  return *authority.SignClient(Request(key), identity, kDaySeconds, now);
}
inline Certificate ServerOf(const Authority& authority, const KeyPair& key, const std::vector<std::string>& hosts,
                            std::int64_t now = kNow) {
  return *authority.SignServer(Request(key), hosts, kDaySeconds, now);
}

// A key of another kind ("RSA", 1024 bits; "EC", curve): what Generate never makes.
inline std::string RsaPem(int bits) {
  const openssl::UniqueKey key(EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", static_cast<std::size_t>(bits)));
  const openssl::UniqueBio bio = openssl::WriteBio();
  PEM_write_bio_PKCS8PrivateKey(bio.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return openssl::BioText(bio.get());
}
inline std::string CurvePem(const char* curve) {
  const openssl::UniqueKey key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", curve));
  const openssl::UniqueBio bio = openssl::WriteBio();
  PEM_write_bio_PKCS8PrivateKey(bio.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return openssl::BioText(bio.get());
}

// A fresh folder that goes away with the test.
class Folder {
 public:
  Folder() {
    std::string name = absl::StrCat(testing::TempDir(), "/pki-XXXXXX");
    path_ = mkdtemp(name.data());
  }
  ~Folder() { EXPECT_EQ(std::system(absl::StrCat("rm -rf '", path_, "'").c_str()), 0); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return absl::StrCat(path_, "/", name); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace paritect::pki_testing

#endif  // PARITECT_COMMON_PKI_TESTING_H_
