// MD5, SHA-1, SHA-256 and HMAC (OpenSSL EVP), and their hexadecimal spelling.
//
// MD5 is what the pre-tuning checklist asks for ("data set equals baseline", step 2). It guards
// against damage, not against an attacker. SHA-1 is what git names its objects by.
#ifndef PARITECT_COMMON_DIGEST_H_
#define PARITECT_COMMON_DIGEST_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace paritect {

enum class DigestKind { kMd5, kSha1, kSha256 };

// Feeds bytes, then gives the raw digest (16, 20 or 32 bytes). Not thread-safe; one use each.
class Digest {
 public:
  explicit Digest(DigestKind kind);
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  void Update(absl::string_view bytes);
  // The raw digest. Further calls of Update have no meaning.
  std::string Finish();
  // False when this OpenSSL refuses the algorithm (a FIPS build without MD5): Finish gives "".
  bool available() const { return available_; }

 private:
  struct Context;
  std::unique_ptr<Context> context_;
  bool available_ = false;
};

// One-shot forms; raw bytes.
std::string Md5(absl::string_view bytes);
std::string Sha256(absl::string_view bytes);
// HMAC (RFC 2104) over SHA-256; raw bytes.
std::string HmacSha256(absl::string_view key, absl::string_view bytes);

// Lower-case hexadecimal.
std::string ToHex(absl::string_view raw);
// Any case; nullopt on an odd length or another character.
std::optional<std::string> FromHex(absl::string_view hex);

}  // namespace paritect

#endif  // PARITECT_COMMON_DIGEST_H_
