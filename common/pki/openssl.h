// For the .cc files of common/pki and the one elsewhere that speaks TLS itself (client/remote/tls_probe.cc): owners of
// OpenSSL 3.0 objects and its error queue as text. The public headers name OpenSSL's types only as declarations.
#ifndef PARITECT_COMMON_PKI_OPENSSL_H_
#define PARITECT_COMMON_PKI_OPENSSL_H_

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paritect::openssl {

template <auto kFree>
struct Free {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};

using UniqueBio = std::unique_ptr<BIO, Free<BIO_free_all>>;
using UniqueBignum = std::unique_ptr<BIGNUM, Free<BN_free>>;
using UniqueKey = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using UniqueX509 = std::unique_ptr<X509, Free<X509_free>>;
using UniqueRequest = std::unique_ptr<X509_REQ, Free<X509_REQ_free>>;
using UniqueExtension = std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>>;
using UniqueStore = std::unique_ptr<X509_STORE, Free<X509_STORE_free>>;
using UniqueStoreContext = std::unique_ptr<X509_STORE_CTX, Free<X509_STORE_CTX_free>>;
using UniqueGeneralNames = std::unique_ptr<GENERAL_NAMES, Free<GENERAL_NAMES_free>>;
using UniqueSslContext = std::unique_ptr<SSL_CTX, Free<SSL_CTX_free>>;
using UniqueSsl = std::unique_ptr<SSL, Free<SSL_free>>;

// Outside bytes are bounded before OpenSSL sees them.
inline constexpr std::size_t kPemBytesMax = 1 << 20;

// The first reason of this thread's error queue ("unknown error" where it is empty); empties the queue.
std::string TakeError();
// Internal "WHAT: reason", for what fails only when the machine does.
absl::Status Failure(absl::string_view what);

// A read-only view of `bytes`, which must outlive it. nullptr above kPemBytesMax.
UniqueBio ReadBio(absl::string_view bytes);
UniqueBio WriteBio();
std::string BioText(BIO* bio);

// For PEM readers: an encrypted block is refused instead of asking on the terminal. `user` is a bool* set to true.
int RefusePassphrase(char* buffer, int size, int writing, void* user);

// P-256, P-384, P-521 as named curves, RSA of 2048 to 8192 bits, Ed25519. InvalidArgument says what the key is.
absl::Status CheckKeyStrength(EVP_PKEY* key);
// "P-256", "RSA 2048", ...
std::string DescribeKey(EVP_PKEY* key);
// SHA-256, or nullptr where the algorithm has its own (Ed25519).
const EVP_MD* SigningDigest(EVP_PKEY* key);
// InvalidArgument where a signature uses MD5, SHA-1 or an algorithm without a known digest.
absl::Status CheckSignatureAlgorithm(int signature_nid);

// Bytes of an ASN.1 string as they are, NUL included.
std::string StringBytes(const ASN1_STRING* text);
// Unix seconds; nullopt on a malformed time.
absl::StatusOr<std::int64_t> UnixSeconds(const ASN1_TIME* time);
// The last common name of a subject as UTF-8; "" where there is none.
std::string CommonName(const X509_NAME* name);

}  // namespace paritect::openssl

#endif  // PARITECT_COMMON_PKI_OPENSSL_H_
