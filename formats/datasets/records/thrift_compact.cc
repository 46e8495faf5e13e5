#include "formats/datasets/records/thrift_compact.h"

namespace paritect {

unsigned char ThriftReader::Byte() {
  if (!good_ || at_ >= bytes_.size()) {
    Fail();
    return 0;
  }
  return static_cast<unsigned char>(bytes_[at_++]);
}

std::uint64_t ThriftReader::Varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const unsigned char byte = Byte();
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if ((byte & 0x80) == 0) return value;
  }
  Fail();
  return 0;
}

std::int64_t ThriftReader::Integer() {
  const std::uint64_t zigzag = Varint();
  return static_cast<std::int64_t>(zigzag >> 1) ^ -static_cast<std::int64_t>(zigzag & 1);
}

bool ThriftReader::Struct(absl::FunctionRef<void(int id, Type type)> field) {
  if (++depth_ > kDepthMax) Fail();
  std::int64_t id = 0;
  while (good_) {
    const unsigned char head = Byte();
    const int type = head & 0x0F;
    if (type == kStop) break;
    if (type > kStruct) Fail();
    id = (head >> 4) != 0 ? id + (head >> 4) : Integer();
    if (id < -32768 || id > 32767) Fail();
    if (good_) field(static_cast<int>(id), static_cast<Type>(type));
  }
  --depth_;
  return good_;
}

bool ThriftReader::List(absl::FunctionRef<void(Type type)> element) {
  if (++depth_ > kDepthMax) Fail();
  const unsigned char head = Byte();
  std::uint64_t count = head >> 4;
  if (count == 15) count = Varint();
  const int type = head & 0x0F;
  // An element takes at least a byte.
  if (count > bytes_.size() - at_ || type == kStop || type > kStruct) Fail();
  for (std::uint64_t i = 0; good_ && i < count; ++i) element(static_cast<Type>(type));
  --depth_;
  return good_;
}

void ThriftReader::Skip(Type type) {
  switch (type) {
    case kStop:
    case kTrue:
    case kFalse: return;
    case kByte: (void)Byte(); return;
    case kI16:
    case kI32:
    case kI64: (void)Varint(); return;
    case kDouble:
      for (int i = 0; i < 8; ++i) (void)Byte();
      return;
    case kBinary: {
      const std::uint64_t length = Varint();
      if (length > bytes_.size() - at_) return Fail();
      at_ += length;
      return;
    }
    case kList:
    case kSet:
      // A boolean element is a byte, a boolean field is none.
      (void)List([this](Type one) { one == kTrue || one == kFalse ? void(Byte()) : Skip(one); });
      return;
    case kMap: {
      const std::uint64_t count = Varint();
      if (count == 0) return;
      if (count > bytes_.size() - at_ || ++depth_ > kDepthMax) return Fail();
      const unsigned char types = Byte();
      for (std::uint64_t i = 0; good_ && i < count; ++i) {
        Skip(static_cast<Type>(types >> 4));
        Skip(static_cast<Type>(types & 0x0F));
      }
      --depth_;
      return;
    }
    case kStruct: (void)Struct([this](int, Type one) { Skip(one); }); return;
  }
  Fail();
}

}  // namespace paritect
