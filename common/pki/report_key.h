// The Ed25519 key that a server signs reports with, and the check of such a signature (RFC 8032).
#ifndef PARITECT_COMMON_PKI_REPORT_KEY_H_
#define PARITECT_COMMON_PKI_REPORT_KEY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct evp_pkey_st;  // OpenSSL's EVP_PKEY

namespace paritect {

inline constexpr std::size_t kReportPublicKeyBytes = 32;
inline constexpr std::size_t kReportSignatureBytes = 64;

// Immutable; copies share it; safe to use from several threads.
class ReportKey {
 public:
  // FOLDER/report.key (PEM, 0600); made where there is none, with its public half in FOLDER/report.pub (0644).
  // InvalidArgument: the file holds no such key.
  static absl::StatusOr<ReportKey> LoadOrMake(const std::string& folder);

  absl::StatusOr<std::string> Sign(absl::string_view message) const;
  const std::string& public_key() const { return public_key_; }  // raw

 private:
  ReportKey(std::shared_ptr<evp_pkey_st> key, std::string public_key)
      : key_(std::move(key)), public_key_(std::move(public_key)) {}
  std::shared_ptr<evp_pkey_st> key_;
  std::string public_key_;
};

bool IsReportSignature(absl::string_view public_key, absl::string_view message, absl::string_view signature);

// Of a PEM text (as report.pub holds it) or of its 32 raw bytes in base64. InvalidArgument.
absl::StatusOr<std::string> ParseReportPublicKey(absl::string_view text);

}  // namespace paritect

#endif  // PARITECT_COMMON_PKI_REPORT_KEY_H_
