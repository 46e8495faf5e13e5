#include "common/net/handshake_watch.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <deque>
#include <map>

#include "absl/base/call_once.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

namespace paritect {
namespace {

// More than may be in a handshake at a time; then the oldest is forgotten.
constexpr std::size_t kExpectedMax = 4096;
constexpr std::size_t kAlertBytes = 2;  // level, description (RFC 8446, 6)

struct Expected {
  std::string address;
  std::weak_ptr<const HandshakeWatch::Tell> tell;
};

// OpenSSL's callbacks take no argument of ours.
class Registry {
 public:
  void Add(const std::string& random, Expected expected) {
    absl::MutexLock lock(&mutex_);
    if (!by_random_.emplace(random, std::move(expected)).second) return;
    order_.push_back(random);
    if (order_.size() <= kExpectedMax) return;
    by_random_.erase(order_.front());
    order_.pop_front();
  }

  // A session fails once. Its place in the order stays until it is the oldest.
  Expected Take(const std::string& random) {
    absl::MutexLock lock(&mutex_);
    const auto found = by_random_.find(random);
    if (found == by_random_.end()) return {};
    Expected expected = std::move(found->second);
    by_random_.erase(found);
    return expected;
  }

 private:
  absl::Mutex mutex_;
  std::map<std::string, Expected> by_random_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::string> order_ ABSL_GUARDED_BY(mutex_);
};

Registry& TheRegistry() {
  static Registry& registry = *new Registry;
  return registry;
}

thread_local bool told = false;

std::string NameText(const X509_NAME* name) {
  const openssl::UniqueBio text = openssl::WriteBio();
  if (text == nullptr || X509_NAME_print_ex(text.get(), name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB) < 0)
    return "?";
  return openssl::BioText(text.get());
}

// Of a certificate that was refused: whose it is and why. "": the certificate was not the reason.
std::string CertificateFault(const SSL* ssl) {
  const long code = SSL_get_verify_result(ssl);  // NOLINT(google-runtime-int): OpenSSL's type
  if (code == X509_V_OK) return "";
  const char* const fault = X509_verify_cert_error_string(code);
  const STACK_OF(X509)* const chain = SSL_get0_verified_chain(ssl);
  if (chain == nullptr || sk_X509_num(chain) == 0) return absl::StrCat("certificate refused: ", fault);
  const X509* const leaf = sk_X509_value(chain, 0);
  return absl::StrCat("certificate of ", NameText(X509_get_subject_name(leaf)), " by ",
                      NameText(X509_get_issuer_name(leaf)), ": ", fault);
}

// SSL_set_msg_callback's form.
void OnMessage(int written, int /*version*/, int content_type, const void* bytes, std::size_t size, SSL* ssl,
               void* /*argument*/) {
  if (content_type != SSL3_RT_ALERT || size < kAlertBytes) return;
  const auto* const alert = static_cast<const unsigned char*>(bytes);
  if (alert[0] != SSL3_AL_FATAL || SSL_is_server(ssl) != 1 || SSL_is_init_finished(ssl) == 1) return;
  std::string random(SSL3_RANDOM_SIZE, '\0');
  SSL_get_client_random(ssl, reinterpret_cast<unsigned char*>(random.data()), random.size());
  const Expected expected = TheRegistry().Take(random);
  const auto tell = expected.tell.lock();
  if (tell == nullptr) return;
  told = true;
  (*tell)(expected.address, written != 0 ? WhyHandshakeFailed(ssl)
                                         : absl::StrCat("it does not take this server's certificate: ",
                                                        SSL_alert_desc_string_long(alert[1])));
}

// Called for every session that is made (CRYPTO_get_ex_new_index); its message callback is nobody else's.
void OnNewSession(void* parent, void*, CRYPTO_EX_DATA*, int, long, void*) {  // NOLINT(google-runtime-int)
  SSL_set_msg_callback(static_cast<SSL*>(parent), &OnMessage);
}

}  // namespace

HandshakeWatch::HandshakeWatch(Tell tell) : tell_(std::make_shared<const Tell>(std::move(tell))) {
  static absl::once_flag once;
  absl::call_once(once,
                  [] { CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL, 0, nullptr, &OnNewSession, nullptr, nullptr); });
}

HandshakeWatch::~HandshakeWatch() = default;

void HandshakeWatch::Expect(const std::string& random, const std::string& address) {
  TheRegistry().Add(random, {address, tell_});
}

std::string WhyHandshakeFailed(const SSL* ssl) {
  std::string fault = CertificateFault(ssl);
  if (!fault.empty()) return fault;
  const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
  return absl::StrCat("TLS: ", reason != nullptr ? reason : "the handshake failed");
}

bool ToldOfHandshake() {
  return std::exchange(told, false);
}

}  // namespace paritect
