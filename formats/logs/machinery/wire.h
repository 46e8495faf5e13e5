// The wire form of Protocol Buffers field by field, by the library's coded stream and without a schema: event files and
// offline runs are full of messages of which one field matters. Messages are below 2 GiB.
#ifndef PARITECT_FORMATS_LOGS_MACHINERY_WIRE_H_
#define PARITECT_FORMATS_LOGS_MACHINERY_WIRE_H_

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <bit>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace paritect {

struct WireField {
  std::uint32_t number = 0;
  int type = 0;               // 0 varint, 1 fixed64, 2 bytes, 5 fixed32
  std::uint64_t integer = 0;  // varint, fixed64, fixed32
  absl::string_view bytes;

  double AsDouble() const { return std::bit_cast<double>(integer); }
  float AsFloat() const { return std::bit_cast<float>(static_cast<std::uint32_t>(integer)); }
};

class WireReader {
 public:
  explicit WireReader(absl::string_view message)
      : message_(message),
        input_(reinterpret_cast<const std::uint8_t*>(message.data()), static_cast<int>(message.size())) {}

  // The next field; false at the end or where the message is damaged (`ok()` tells).
  bool Next(WireField& field) {
    using Wire = google::protobuf::internal::WireFormatLite;
    if (input_.CurrentPosition() == static_cast<int>(message_.size())) return false;
    const std::uint32_t tag = input_.ReadTag();
    field.number = static_cast<std::uint32_t>(Wire::GetTagFieldNumber(tag));
    field.type = Wire::GetTagWireType(tag);
    switch (field.type) {
      case Wire::WIRETYPE_VARINT: return tag != 0 && input_.ReadVarint64(&field.integer) ? true : Fail();
      case Wire::WIRETYPE_FIXED64: return input_.ReadLittleEndian64(&field.integer) ? true : Fail();
      case Wire::WIRETYPE_FIXED32: {
        std::uint32_t narrow = 0;
        const bool read = input_.ReadLittleEndian32(&narrow);
        field.integer = narrow;
        return read ? true : Fail();
      }
      case Wire::WIRETYPE_LENGTH_DELIMITED: {
        int length = 0;
        if (!input_.ReadVarintSizeAsInt(&length)) return Fail();
        field.bytes = message_.substr(static_cast<std::size_t>(input_.CurrentPosition()));
        if (!input_.Skip(length)) return Fail();
        field.bytes = field.bytes.substr(0, static_cast<std::size_t>(length));
        return true;
      }
      default: return Fail();
    }
  }

  bool ok() const { return ok_; }

 private:
  bool Fail() {
    ok_ = false;
    input_.Skip(static_cast<int>(message_.size()) - input_.CurrentPosition());
    return false;
  }

  const absl::string_view message_;
  google::protobuf::io::CodedInputStream input_;
  bool ok_ = true;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_MACHINERY_WIRE_H_
