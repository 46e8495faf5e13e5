#include "common/digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"

namespace paritect {

struct Digest::Context {
  EVP_MD_CTX* evp = nullptr;
  ~Context() { EVP_MD_CTX_free(evp); }
};

Digest::Digest(DigestKind kind) : context_(std::make_unique<Context>()) {
  context_->evp = EVP_MD_CTX_new();
  const EVP_MD* md = kind == DigestKind::kMd5 ? EVP_md5() : kind == DigestKind::kSha1 ? EVP_sha1() : EVP_sha256();
  available_ = context_->evp != nullptr && EVP_DigestInit_ex(context_->evp, md, nullptr) == 1;
}

Digest::~Digest() = default;

void Digest::Update(absl::string_view bytes) {
  if (available_) EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size());
}

std::string Digest::Finish() {
  if (!available_) return "";
  unsigned char raw[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  if (EVP_DigestFinal_ex(context_->evp, raw, &length) != 1) return "";
  return std::string(reinterpret_cast<const char*>(raw), length);
}

std::string Md5(absl::string_view bytes) {
  Digest digest(DigestKind::kMd5);
  digest.Update(bytes);
  return digest.Finish();
}

std::string Sha256(absl::string_view bytes) {
  Digest digest(DigestKind::kSha256);
  digest.Update(bytes);
  return digest.Finish();
}

std::string HmacSha256(absl::string_view key, absl::string_view bytes) {
  unsigned char raw[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), data, bytes.size(), raw, &length) == nullptr) {
    return "";
  }
  return std::string(reinterpret_cast<const char*>(raw), length);
}

std::string ToHex(absl::string_view raw) { return absl::BytesToHexString(raw); }

std::optional<std::string> FromHex(absl::string_view hex) {
  if (hex.size() % 2 != 0) return std::nullopt;
  for (char c : hex) {
    if (!absl::ascii_isxdigit(static_cast<unsigned char>(c))) return std::nullopt;
  }
  return absl::HexStringToBytes(hex);
}

}  // namespace paritect
