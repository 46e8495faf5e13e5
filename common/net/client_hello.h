// The first message of TLS as a stranger sends it, read before anybody answers: which protocols it offers (ALPN).
// Source: RFC 8446, 4.1.2 and 5.1; RFC 7301, 3.1.
#ifndef PARITECT_COMMON_NET_CLIENT_HELLO_H_
#define PARITECT_COMMON_NET_CLIENT_HELLO_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace paritect {

// What is looked at; a hello of today's clients has 0.2 to 2 KiB.
inline constexpr std::size_t kHelloBytesMax = 16 << 10;

struct PeekedHello {
  enum class Kind {
    kPartial,  // the beginning of one
    kWhole,
    kOther,  // nothing that TLS begins with, or longer than kHelloBytesMax
  };
  Kind kind = Kind::kOther;
  std::vector<std::string> protocols = {};  // of a whole one
  std::string random = {};                  // its 32 random bytes

  bool Offers(absl::string_view protocol) const;
};

PeekedHello PeekHello(absl::string_view bytes);

}  // namespace paritect

#endif  // PARITECT_COMMON_NET_CLIENT_HELLO_H_
