#include "common/pki/openssl.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/objects.h>

#include <ctime>

#include "absl/strings/str_cat.h"

namespace paritect::openssl {
namespace {

constexpr int kRsaBitsMin = 2048;
constexpr int kRsaBitsMax = 8192;  // a larger key makes each verification an attack on the CPU

std::string CurveName(EVP_PKEY* key) {
  char name[80] = "";
  std::size_t size = 0;
  if (EVP_PKEY_get_group_name(key, name, sizeof(name), &size) != 1) return "";
  return std::string(name, size);
}

// A curve written out as parameters can be a look-alike with another base point (CVE-2020-0601).
bool IsNamedCurve(EVP_PKEY* key) {
  char encoding[40] = "";
  std::size_t size = 0;
  if (EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_EC_ENCODING, encoding, sizeof(encoding), &size) != 1) {
    return false;
  }
  return absl::string_view(encoding, size) == OSSL_PKEY_EC_ENCODING_GROUP;
}

bool IsGoodCurve(EVP_PKEY* key) {
  const std::string curve = CurveName(key);
  return IsNamedCurve(key) && (curve == "prime256v1" || curve == "secp384r1" || curve == "secp521r1");
}

}  // namespace

std::string TakeError() {
  const unsigned long code = ERR_get_error();  // NOLINT(google-runtime-int)
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "unknown error" : reason;
}

absl::Status Failure(absl::string_view what) {
  return absl::InternalError(absl::StrCat(what, ": ", TakeError()));
}

UniqueBio ReadBio(absl::string_view bytes) {
  if (bytes.size() > kPemBytesMax) return nullptr;
  return UniqueBio(BIO_new_mem_buf(bytes.empty() ? "" : bytes.data(), static_cast<int>(bytes.size())));
}

UniqueBio WriteBio() {
  return UniqueBio(BIO_new(BIO_s_mem()));
}

std::string BioText(BIO* bio) {
  char* data = nullptr;
  const auto size = BIO_ctrl(bio, BIO_CTRL_INFO, 0, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

int RefusePassphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* user) {
  if (user != nullptr) *static_cast<bool*>(user) = true;
  return -1;
}

std::string DescribeKey(EVP_PKEY* key) {
  const int type = EVP_PKEY_get_base_id(key);
  if (type == EVP_PKEY_RSA) return absl::StrCat("RSA ", EVP_PKEY_get_bits(key));
  if (type == EVP_PKEY_EC) {
    const std::string curve = CurveName(key);
    const char* nist = EC_curve_nid2nist(OBJ_txt2nid(curve.c_str()));
    if (!IsNamedCurve(key)) return "EC with explicit parameters";
    return nist != nullptr ? nist : absl::StrCat("EC ", curve);
  }
  const char* name = OBJ_nid2ln(type);
  return name == nullptr ? "of an unknown kind" : name;
}

absl::Status CheckKeyStrength(EVP_PKEY* key) {
  const int type = EVP_PKEY_get_base_id(key);
  const int bits = EVP_PKEY_get_bits(key);
  if (type == EVP_PKEY_ED25519) return absl::OkStatus();
  if (type == EVP_PKEY_EC && IsGoodCurve(key)) return absl::OkStatus();
  if (type == EVP_PKEY_RSA && bits >= kRsaBitsMin && bits <= kRsaBitsMax) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the key is ", DescribeKey(key),
                                                 "; accepted are P-256, P-384, P-521, Ed25519 and RSA of ", kRsaBitsMin,
                                                 " to ", kRsaBitsMax, " bits"));
}

const EVP_MD* SigningDigest(EVP_PKEY* key) {
  return EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519 ? nullptr : EVP_sha256();
}

absl::Status CheckSignatureAlgorithm(int signature_nid) {
  int digest = NID_undef;
  int key_type = NID_undef;
  if (OBJ_find_sigid_algs(signature_nid, &digest, &key_type) == 1) {
    if (signature_nid == NID_ED25519 || signature_nid == NID_rsassaPss) return absl::OkStatus();
    if (digest == NID_sha256 || digest == NID_sha384 || digest == NID_sha512) return absl::OkStatus();
  }
  const char* name = OBJ_nid2ln(signature_nid);
  return absl::InvalidArgumentError(absl::StrCat("the signature algorithm ", name == nullptr ? "(unknown)" : name,
                                                 " is not accepted; use SHA-256 or stronger"));
}

std::string StringBytes(const ASN1_STRING* text) {
  const int size = ASN1_STRING_length(text);
  if (size <= 0) return "";
  return std::string(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)), static_cast<std::size_t>(size));
}

absl::StatusOr<std::int64_t> UnixSeconds(const ASN1_TIME* time) {
  std::tm parts = {};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) {
    TakeError();
    return absl::InvalidArgumentError("a malformed time");
  }
  return static_cast<std::int64_t>(timegm(&parts));
}

std::string CommonName(const X509_NAME* name) {
  int last = -1;
  for (int i = -1; (i = X509_NAME_get_index_by_NID(name, NID_commonName, i)) >= 0;) last = i;
  if (last < 0) return "";
  const ASN1_STRING* value = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, last));
  unsigned char* utf8 = nullptr;
  const int size = ASN1_STRING_to_UTF8(&utf8, value);
  if (size < 0) {
    TakeError();
    return "";
  }
  std::string text(reinterpret_cast<const char*>(utf8), static_cast<std::size_t>(size));
  OPENSSL_free(utf8);
  return text;
}

}  // namespace paritect::openssl
