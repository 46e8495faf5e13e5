#include "common/pki/report_key.h"

#include <openssl/pem.h>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/pki/openssl.h"
#include "common/pki/secret_file.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

using openssl::UniqueBio;
using openssl::UniqueKey;
using UniqueDigestContext = std::unique_ptr<EVP_MD_CTX, openssl::Free<EVP_MD_CTX_free>>;

absl::StatusOr<std::string> RawPublicKey(EVP_PKEY* key) {
  unsigned char raw[kReportPublicKeyBytes] = {};
  std::size_t size = sizeof(raw);
  if (EVP_PKEY_id(key) != EVP_PKEY_ED25519 || EVP_PKEY_get_raw_public_key(key, raw, &size) != 1 ||
      size != sizeof(raw)) {
    return absl::InvalidArgumentError("not an Ed25519 key");
  }
  return std::string(std::begin(raw), std::end(raw));
}

absl::StatusOr<std::string> PemOf(EVP_PKEY* key, bool secret) {
  const UniqueBio bio = openssl::WriteBio();
  const bool written =
      bio != nullptr && (secret ? PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr)
                                : PEM_write_bio_PUBKEY(bio.get(), key)) == 1;
  if (!written) return openssl::Failure("cannot write the report key");
  return openssl::BioText(bio.get());
}

absl::StatusOr<UniqueKey> MakeAt(const std::string& folder) {
  UniqueKey key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  if (key == nullptr) return openssl::Failure("cannot make a key for reports");
  PARITECT_ASSIGN_OR_RETURN(const std::string secret, PemOf(key.get(), true));
  PARITECT_ASSIGN_OR_RETURN(const std::string open, PemOf(key.get(), false));
  PARITECT_RETURN_IF_ERROR(WriteFileDurably(absl::StrCat(folder, "/report.pub"), open, kPublicMode));
  PARITECT_RETURN_IF_ERROR(WriteFileDurably(absl::StrCat(folder, "/report.key"), secret, kSecretMode));
  return key;
}

}  // namespace

absl::StatusOr<ReportKey> ReportKey::LoadOrMake(const std::string& folder) {
  const std::string path = absl::StrCat(folder, "/report.key");
  auto file = ReadSecretFile(path);
  if (!file.ok() && !absl::IsNotFound(file.status())) return file.status();
  UniqueKey key;
  if (file.ok()) {
    const UniqueBio bio = openssl::ReadBio(file->bytes);
    bool encrypted = false;
    key.reset(PEM_read_bio_PrivateKey(bio.get(), nullptr, openssl::RefusePassphrase, &encrypted));
    if (key == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": not a private key in PEM form (", openssl::TakeError(),
                                                     "); move it away and a new one is made"));
    }
  } else {
    PARITECT_ASSIGN_OR_RETURN(key, MakeAt(folder));
  }
  auto open = RawPublicKey(key.get());
  if (!open.ok()) return Annotate(open.status(), path);
  return ReportKey(std::shared_ptr<EVP_PKEY>(std::move(key)), *std::move(open));
}

absl::StatusOr<std::string> ReportKey::Sign(absl::string_view message) const {
  const UniqueDigestContext context(EVP_MD_CTX_new());
  std::string signature(kReportSignatureBytes, '\0');
  std::size_t size = signature.size();
  if (context == nullptr || EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) != 1 ||
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     reinterpret_cast<const unsigned char*>(message.data()), message.size()) != 1) {
    return openssl::Failure("cannot sign a report");
  }
  return signature;
}

bool IsReportSignature(absl::string_view public_key, absl::string_view message, absl::string_view signature) {
  if (public_key.size() != kReportPublicKeyBytes || signature.size() != kReportSignatureBytes) return false;
  const UniqueKey key(EVP_PKEY_new_raw_public_key(
      EVP_PKEY_ED25519, nullptr, reinterpret_cast<const unsigned char*>(public_key.data()), public_key.size()));
  const UniqueDigestContext context(EVP_MD_CTX_new());
  const bool good =
      key != nullptr && context != nullptr &&
      EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
      EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()), signature.size(),
                       reinterpret_cast<const unsigned char*>(message.data()), message.size()) == 1;
  openssl::TakeError();
  return good;
}

absl::StatusOr<std::string> ParseReportPublicKey(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (!absl::StrContains(text, "-----BEGIN")) {
    auto raw = std::make_unique<std::string>();  // on the heap: GCC 12 warns of bounds of a moved local
    if (absl::Base64Unescape(text, raw.get()) && raw->size() == kReportPublicKeyBytes) return *raw;
    return absl::InvalidArgumentError("neither a public key in PEM form nor 32 bytes in base64");
  }
  const UniqueBio bio = openssl::ReadBio(text);
  const UniqueKey key(bio == nullptr ? nullptr : PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr));
  openssl::TakeError();
  if (key == nullptr) return absl::InvalidArgumentError("not a public key in PEM form");
  return RawPublicKey(key.get());
}

}  // namespace paritect
