#include "common/pki/browser_certificate.h"

#include <openssl/pem.h>
#include <openssl/pkcs12.h>

#include "common/pki/key_pair.h"
#include "common/pki/openssl.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

using UniquePkcs12 = std::unique_ptr<PKCS12, openssl::Free<PKCS12_free>>;

struct FreeStack {
  void operator()(STACK_OF(X509) * stack) const { sk_X509_pop_free(stack, X509_free); }
};
using UniqueStack = std::unique_ptr<STACK_OF(X509), FreeStack>;

// The certificates of a text; the first of them apart from those behind it.
bool ReadChain(const std::string& pem, openssl::UniqueX509& leaf, STACK_OF(X509) * others) {
  const openssl::UniqueBio text = openssl::ReadBio(pem);
  if (text == nullptr) return false;
  while (openssl::UniqueX509 one{PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr)}) {
    if (leaf == nullptr) {
      leaf = std::move(one);
    } else if (sk_X509_push(others, one.get()) > 0) {
      one.release();  // NOLINT(bugprone-unused-return-value): the stack owns it
    }
  }
  openssl::TakeError();  // "no start line": the end of the text
  return leaf != nullptr;
}

}  // namespace

absl::StatusOr<std::string> BrowserCertificate(const Credential& credential, const std::string& password) {
  if (password.empty()) return absl::InvalidArgumentError("a password is needed");
  PARITECT_ASSIGN_OR_RETURN(const KeyPair key, KeyPair::FromPem(credential.key_pem));
  const UniqueStack others(sk_X509_new_null());
  openssl::UniqueX509 leaf, authority;
  if (others == nullptr || !ReadChain(credential.certificate_pem, leaf, others.get()) ||
      !ReadChain(credential.authority_pem, authority, others.get())) {
    return absl::InvalidArgumentError("the credential's certificates cannot be read");
  }
  if (sk_X509_push(others.get(), authority.get()) > 0) authority.release();
  const std::string name = credential.identity.name + " (Paritect)";
  const UniquePkcs12 made(
      PKCS12_create(password.c_str(), name.c_str(), key.get(), leaf.get(), others.get(), 0, 0, 0, 0, 0));
  const openssl::UniqueBio out = openssl::WriteBio();
  if (made == nullptr || out == nullptr || i2d_PKCS12_bio(out.get(), made.get()) != 1) {
    return openssl::Failure("cannot write PKCS#12");
  }
  return openssl::BioText(out.get());
}

}  // namespace paritect
