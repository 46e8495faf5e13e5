// Protocol buffers' wire format over bytes of any length, field by field: what a field holds is told by its place, and
// read by whoever wants it. (formats/logs/machinery/wire.h walks messages that are in memory.) Source: protobuf.dev,
// "Encoding".
#ifndef PARITECT_FORMATS_WEIGHTS_WIRE_READER_H_
#define PARITECT_FORMATS_WEIGHTS_WIRE_READER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "formats/weights/random_bytes.h"

namespace paritect {

struct FileWireField {
  enum class Kind { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
  std::uint64_t number = 0;
  Kind kind = Kind::kVarint;
  std::uint64_t value = 0;   // of a varint or fixed field
  std::uint64_t offset = 0;  // of kBytes: where they stand
  std::uint64_t length = 0;
};

// Reads [offset, offset + length) of `bytes`, which must outlive it, in small windows.
class FileWireReader {
 public:
  FileWireReader(RandomBytes& bytes, std::uint64_t offset, std::uint64_t length)
      : bytes_(bytes), at_(offset), end_(offset + length) {}
  explicit FileWireReader(RandomBytes& bytes) : FileWireReader(bytes, 0, bytes.size()) {}

  bool done() const { return at_ >= end_; }
  std::uint64_t at() const { return at_; }
  // DataLoss: a length beyond the end, a group, a number of more than 64 bits, field 0.
  absl::StatusOr<FileWireField> Next();
  // A varint that stands alone (packed fields).
  absl::StatusOr<std::uint64_t> Varint();

 private:
  absl::StatusOr<std::uint8_t> Byte();
  absl::StatusOr<std::uint64_t> Fixed(int size);

  RandomBytes& bytes_;
  std::uint64_t at_;
  std::uint64_t end_;
  std::string window_;
  std::uint64_t window_at_ = 0;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_WIRE_READER_H_
