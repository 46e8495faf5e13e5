#include "common/pki/join_token.h"

#include <openssl/rand.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/digest.h"
#include "common/glob.h"
#include "common/pki/identity.h"
#include "common/pki/openssl.h"

namespace paritect {
namespace {

constexpr absl::string_view kPrefix = "pjt";
constexpr absl::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz234567";
constexpr std::size_t kRandomBytes = 20;
constexpr std::size_t kDigits = kRandomBytes * 8 / 5;
constexpr std::size_t kGroup = 4;
constexpr std::size_t kTokenBytesMax = 256;
constexpr absl::string_view kPatternBytes = "*?[]!";

}  // namespace

absl::StatusOr<std::string> NewToken() {
  unsigned char random[kRandomBytes];
  if (RAND_priv_bytes(random, sizeof(random)) != 1) return openssl::Failure("no randomness");
  std::string token(kPrefix);
  for (std::size_t i = 0; i < kDigits; ++i) {
    std::size_t digit = 0;
    for (std::size_t bit = i * 5; bit < i * 5 + 5; ++bit) {
      digit = digit * 2 + ((random[bit / 8] >> (7 - bit % 8)) & 1u);
    }
    if (i % kGroup == 0) token += '-';
    token += kAlphabet[digit];
  }
  return token;
}

absl::StatusOr<std::string> TokenDigest(absl::string_view token) {
  const absl::Status bad = absl::InvalidArgumentError(
      "this is not a join token: it begins with pjt- and has 32 letters and digits 2-7, as `paritect token create` "
      "prints it");
  if (token.size() > kTokenBytesMax) return bad;
  std::string normal;
  for (const char c : token) {
    if (c == '-' || absl::ascii_isspace(static_cast<unsigned char>(c))) continue;
    normal += absl::ascii_tolower(static_cast<unsigned char>(c));
  }
  if (normal.size() != kPrefix.size() + kDigits || !absl::StartsWith(normal, kPrefix)) return bad;
  if (absl::string_view(normal).find_first_not_of(kAlphabet, kPrefix.size()) != absl::string_view::npos) return bad;
  return ToHex(Sha256(normal));
}

bool IsNamePattern(absl::string_view bound) {
  return bound.find_first_of(kPatternBytes) != absl::string_view::npos;
}

absl::Status CheckTokenNode(absl::string_view bound) {
  if (!IsNamePattern(bound)) return CheckName(bound);
  // With a letter for each of them it must be a name: the same bytes, the same length.
  std::string name(bound);
  for (char& c : name) {
    if (absl::StrContains(kPatternBytes, absl::string_view(&c, 1))) c = 'x';
  }
  return CheckName(name);
}

bool TokenServes(absl::string_view bound, absl::string_view name) {
  if (bound.empty()) return true;
  return IsNamePattern(bound) ? GlobMatch(bound, name) : bound == name;
}

}  // namespace paritect
