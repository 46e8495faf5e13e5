// The wire form of Protocol Buffers, read without a schema: event files and offline runs are full of messages of which
// one field matters.
#ifndef PARITECT_FORMATS_LOGS_MACHINERY_WIRE_H_
#define PARITECT_FORMATS_LOGS_MACHINERY_WIRE_H_

#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"

namespace paritect {

struct WireField {
  std::uint32_t number = 0;
  int type = 0;               // 0 varint, 1 fixed64, 2 bytes, 5 fixed32
  std::uint64_t integer = 0;  // varint, fixed64, fixed32
  absl::string_view bytes;

  double AsDouble() const {
    double value = 0;
    std::memcpy(&value, &integer, sizeof(value));
    return value;
  }
  float AsFloat() const {
    const auto bits = static_cast<std::uint32_t>(integer);
    float value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
};

class WireReader {
 public:
  explicit WireReader(absl::string_view message) : left_(message) {}

  // The next field; false at the end or where the message is damaged (`ok()` tells).
  bool Next(WireField& field) {
    std::uint64_t key = 0;
    if (left_.empty() || !Varint(key)) return false;
    field.number = static_cast<std::uint32_t>(key >> 3);
    field.type = static_cast<int>(key & 7);
    switch (field.type) {
      case 0: return Varint(field.integer);
      case 1: return Fixed(8, field.integer);
      case 5: return Fixed(4, field.integer);
      case 2: {
        std::uint64_t length = 0;
        if (!Varint(length)) return false;
        if (length > left_.size()) return Fail();
        field.bytes = left_.substr(0, static_cast<std::size_t>(length));
        left_.remove_prefix(static_cast<std::size_t>(length));
        return true;
      }
      default: return Fail();
    }
  }

  bool ok() const { return ok_; }

 private:
  bool Fail() {
    ok_ = false;
    left_ = {};
    return false;
  }

  bool Varint(std::uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (left_.empty()) return Fail();
      const auto byte = static_cast<unsigned char>(left_[0]);
      left_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return true;
    }
    return Fail();
  }

  bool Fixed(std::size_t n, std::uint64_t& value) {
    if (left_.size() < n) return Fail();
    value = 0;
    for (std::size_t i = 0; i < n; ++i)
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(left_[i])) << (8 * i);
    left_.remove_prefix(n);
    return true;
  }

  absl::string_view left_;
  bool ok_ = true;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_MACHINERY_WIRE_H_
