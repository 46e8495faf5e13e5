#include "common/net/client_hello.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace paritect {
namespace {

constexpr std::uint8_t kHandshakeRecord = 22;
constexpr std::uint8_t kHelloMessage = 1;
constexpr std::size_t kRecordHead = 5;
constexpr std::size_t kMessageHead = 4;
constexpr std::size_t kVersionBytes = 2;
constexpr std::size_t kRandomBytes = 32;
constexpr std::size_t kAlpnExtension = 16;

// Takes numbers and pieces off the front; once something is missing, everything is.
class Bytes {
 public:
  explicit Bytes(absl::string_view text) : text_(text) {}
  std::optional<std::size_t> Number(int bytes) {
    if (text_.size() < static_cast<std::size_t>(bytes)) return std::nullopt;
    std::size_t value = 0;
    for (int i = 0; i < bytes; ++i) value = value << 8 | static_cast<std::uint8_t>(text_[static_cast<std::size_t>(i)]);
    text_.remove_prefix(static_cast<std::size_t>(bytes));
    return value;
  }
  std::optional<absl::string_view> Piece(std::size_t size) {
    if (text_.size() < size) return std::nullopt;
    const absl::string_view piece = text_.substr(0, size);
    text_.remove_prefix(size);
    return piece;
  }
  // A piece after its length.
  std::optional<absl::string_view> Counted(int length_bytes) {
    const auto size = Number(length_bytes);
    return size ? Piece(*size) : std::nullopt;
  }
  bool empty() const { return text_.empty(); }

 private:
  absl::string_view text_;
};

// The extensions of a hello; nullopt: malformed, or none.
std::optional<absl::string_view> ExtensionsOf(absl::string_view hello) {
  Bytes bytes(hello);
  const bool whole =
      bytes.Piece(kVersionBytes + kRandomBytes) && bytes.Counted(1) && bytes.Counted(2) && bytes.Counted(1);
  return whole ? bytes.Counted(2) : std::nullopt;
}

// "" of one that is too short for it.
std::string RandomOf(absl::string_view hello) {
  Bytes bytes(hello);
  const bool versioned = bytes.Piece(kVersionBytes).has_value();
  const auto random = bytes.Piece(kRandomBytes);
  return versioned && random ? std::string(*random) : "";
}

std::vector<std::string> ProtocolsOf(absl::string_view hello) {
  std::vector<std::string> protocols;
  const auto extensions = ExtensionsOf(hello);
  if (!extensions) return protocols;
  for (Bytes rest(*extensions); !rest.empty();) {
    const auto type = rest.Number(2);
    const auto body = rest.Counted(2);
    if (!type || !body) return {};
    if (*type != kAlpnExtension) continue;
    Bytes list(*body);
    const auto names = list.Counted(2);
    if (!names) return {};
    for (Bytes left(*names); !left.empty();) {
      const auto name = left.Counted(1);
      if (!name) return {};
      protocols.emplace_back(*name);
    }
  }
  return protocols;
}

}  // namespace

bool PeekedHello::Offers(absl::string_view protocol) const {
  return std::find(protocols.begin(), protocols.end(), protocol) != protocols.end();
}

// A hello may lie in several records.
PeekedHello PeekHello(absl::string_view bytes) {
  const PeekedHello partial = {PeekedHello::Kind::kPartial};
  std::string message;
  Bytes rest(bytes);
  while (true) {
    const auto type = rest.Number(1);
    if (!type) break;
    if (*type != kHandshakeRecord) return {};
    const auto major = rest.Number(1);
    if (major && *major != 3) return {};
    const auto minor = rest.Number(1);
    const auto size = rest.Number(2);
    if (!minor || !size) break;
    if (*size == 0 || *size > kHelloBytesMax) return {};
    const auto piece = rest.Piece(*size);
    if (!piece) break;
    message.append(piece->data(), piece->size());
    Bytes head(message);
    const auto kind = head.Number(1);
    if (*kind != kHelloMessage) return {};
    const auto length = head.Number(3);
    if (!length) continue;
    if (*length + kMessageHead + kRecordHead > kHelloBytesMax) return {};
    if (const auto hello = head.Piece(*length)) {
      return {PeekedHello::Kind::kWhole, ProtocolsOf(*hello), RandomOf(*hello)};
    }
  }
  return bytes.size() < kHelloBytesMax ? partial : PeekedHello();
}

}  // namespace paritect
