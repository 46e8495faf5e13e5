#include "formats/weights/scalar_value.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "common/little_endian.h"

namespace paritect {
namespace {

double HalfToDouble(std::uint64_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 0x1f);
  const auto fraction = static_cast<double>(bits & 0x3ff);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 0x1f) return fraction != 0 ? NAN : sign * INFINITY;
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25));
}

std::optional<double> NumberOf(DType type, std::uint64_t bits) {
  switch (type) {
    case DType::kF32: return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case DType::kBF16: return std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16));
    case DType::kF64: return std::bit_cast<double>(bits);
    case DType::kF16: return HalfToDouble(bits);
    default: return std::nullopt;
  }
}

std::optional<std::int64_t> IntegerOf(DType type, std::uint64_t bits) {
  switch (type) {
    case DType::kI8: return static_cast<std::int8_t>(bits);
    case DType::kI16: return static_cast<std::int16_t>(bits);
    case DType::kI32: return static_cast<std::int32_t>(bits);
    case DType::kI64: return static_cast<std::int64_t>(bits);
    case DType::kU8:
    case DType::kU16:
    case DType::kU32: return static_cast<std::int64_t>(bits);
    case DType::kU64: return bits <= INT64_MAX ? std::optional<std::int64_t>(bits) : std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<v1::Value> ScalarValue(DType type, absl::string_view raw) {
  if (raw.size() * 8 != static_cast<std::size_t>(DTypeBits(type)) || raw.size() > 8) return std::nullopt;
  v1::Value value;
  const std::uint64_t bits = LittleEndian(raw, 0, raw.size());
  if (type == DType::kBool) {
    value.set_boolean(bits != 0);
  } else if (auto integer = IntegerOf(type, bits)) {
    value.set_integer(*integer);
  } else if (auto number = NumberOf(type, bits)) {
    value.set_number(*number);
  } else {
    return std::nullopt;
  }
  return value;
}

}  // namespace paritect
