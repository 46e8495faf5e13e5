#include "common/net/door_session.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include "absl/strings/str_cat.h"
#include "common/net/door_protocol.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

int ChooseDoor(SSL*, const unsigned char** out, unsigned char* size, const unsigned char* in, unsigned in_size, void*) {
  static const std::string& own =
      *new std::string(absl::StrCat(std::string(1, static_cast<char>(kDoorProtocol.size())), kDoorProtocol));
  unsigned char* chosen = nullptr;
  const int found = SSL_select_next_proto(&chosen, size, reinterpret_cast<const unsigned char*>(own.data()),
                                          static_cast<unsigned>(own.size()), in, in_size);
  *out = chosen;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

bool UseChain(SSL_CTX* context, const std::string& chain_pem, const std::string& key_pem) {
  const openssl::UniqueBio chain = openssl::ReadBio(chain_pem);
  const openssl::UniqueBio key_text = openssl::ReadBio(key_pem);
  if (chain == nullptr || key_text == nullptr) return false;
  const openssl::UniqueX509 leaf(PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr));
  if (leaf == nullptr || SSL_CTX_use_certificate(context, leaf.get()) != 1) return false;
  while (const openssl::UniqueX509 one{PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr)}) {
    if (SSL_CTX_add1_chain_cert(context, one.get()) != 1) return false;
  }
  ERR_clear_error();
  bool encrypted = false;
  const openssl::UniqueKey key(
      PEM_read_bio_PrivateKey(key_text.get(), nullptr, &openssl::RefusePassphrase, &encrypted));
  return key != nullptr && SSL_CTX_use_PrivateKey(context, key.get()) == 1 && SSL_CTX_check_private_key(context) == 1;
}

}  // namespace

absl::StatusOr<openssl::UniqueSslContext> NewOneShotContext(const std::string& chain_pem, const std::string& key_pem) {
  openssl::UniqueSslContext context(SSL_CTX_new(TLS_server_method()));
  if (context == nullptr || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1) {
    return openssl::Failure("cannot start TLS");
  }
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (!UseChain(context.get(), chain_pem, key_pem)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the server's certificate and key cannot be used (", openssl::TakeError(), ")"));
  }
  return context;
}

absl::StatusOr<openssl::UniqueSslContext> NewPageContext(const std::string& chain_pem, const std::string& key_pem,
                                                         const std::string& authorities_pem) {
  PARITECT_ASSIGN_OR_RETURN(openssl::UniqueSslContext context, NewOneShotContext(chain_pem, key_pem));
  const openssl::UniqueBio authorities = openssl::ReadBio(authorities_pem);
  if (authorities == nullptr) return absl::InvalidArgumentError("the authorities are too long");
  X509_STORE* const store = SSL_CTX_get_cert_store(context.get());
  int known = 0;
  while (const openssl::UniqueX509 one{PEM_read_bio_X509(authorities.get(), nullptr, nullptr, nullptr)}) {
    // The browser offers certificates of these alone.
    if (X509_STORE_add_cert(store, one.get()) != 1 || SSL_CTX_add_client_CA(context.get(), one.get()) != 1) {
      return openssl::Failure("cannot use the authority");
    }
    ++known;
  }
  ERR_clear_error();
  if (known == 0) return absl::InvalidArgumentError("there is no authority");
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  return context;
}

absl::StatusOr<openssl::UniqueSslContext> NewDoorContext(const std::string& chain_pem, const std::string& key_pem) {
  auto context = NewOneShotContext(chain_pem, key_pem);
  if (context.ok()) SSL_CTX_set_alpn_select_cb(context->get(), &ChooseDoor, nullptr);
  return context;
}

OneShotOptions DoorOptions() {
  OneShotOptions options;
  options.request_bytes_max = kDoorRequestBytesMax + kFrameHeadBytes;
  return options;
}

OneShotPorts DoorPorts(std::function<openssl::UniqueSsl()> tls,
                       std::function<std::string(absl::string_view body, const std::string& address)> answer,
                       std::function<void(const std::string& address, const std::string& why)> refused) {
  OneShotPorts ports;
  ports.tls = std::move(tls);
  ports.whole = [](absl::string_view received) -> absl::StatusOr<bool> {
    const auto body = BodyOfFrame(received, kDoorRequestBytesMax);
    if (!body.ok()) return body.status();
    return body->has_value();
  };
  ports.answer = [answer = std::move(answer)](absl::string_view request, const OneShotPeer& peer) {
    return Frame(answer(request.substr(kFrameHeadBytes), peer.address));
  };
  ports.refused = std::move(refused);
  return ports;
}

}  // namespace paritect
