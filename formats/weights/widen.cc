#include "formats/weights/widen.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "formats/vector_code.h"

namespace paritect {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are taken as they stand in memory");

template <typename From, typename To>
PARITECT_VECTOR_CODE void Convert(const char* bytes, std::size_t count, To* values) {
  for (std::size_t i = 0; i < count; ++i) {
    From one;
    std::memcpy(&one, bytes + i * sizeof(one), sizeof(one));
    values[i] = static_cast<To>(one);
  }
}

PARITECT_VECTOR_CODE void WidenBf16(const char* bytes, std::size_t count, float* values) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t half;
    std::memcpy(&half, bytes + 2 * i, sizeof(half));
    values[i] = std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
  }
}

// The exponent is moved by a multiplication, which makes normal values of subnormal ones; what was infinite or no
// number gets the exponent of such.
PARITECT_VECTOR_CODE void WidenFp16(const char* bytes, std::size_t count, float* values) {
  const float rescale = std::bit_cast<float>(std::uint32_t{(127 + 112) << 23});  // 2^112
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t half;
    std::memcpy(&half, bytes + 2 * i, sizeof(half));
    const std::uint32_t size = half & 0x7FFFU;
    const std::uint32_t sign = (half & 0x8000U) << 16;
    const std::uint32_t scaled = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size << 13) * rescale);
    const std::uint32_t special = size >= 0x7C00 ? 0x7F800000U : 0;
    values[i] = std::bit_cast<float>(sign | scaled | special);
  }
}

using ByteTable = std::array<float, 256>;

// Eight bits with a sign. Sources: OCP 8-bit Floating Point Specification 1.0 (E4M3 without infinities, E5M2 as IEEE);
// the FNUZ forms have one zero, one NaN (0x80) and a bias that is one larger.
ByteTable TableOf(int exponent_bits, int bias, bool ieee, bool fnuz) {
  ByteTable table = {};
  const int mantissa_bits = 7 - exponent_bits;
  const int exponent_max = (1 << exponent_bits) - 1;
  const int mantissa_max = (1 << mantissa_bits) - 1;
  for (int i = 0; i < 256; ++i) {
    const int exponent = i >> mantissa_bits & exponent_max;
    const int mantissa = i & mantissa_max;
    const float sign = i < 128 ? 1.0F : -1.0F;
    float value = exponent == 0
                      ? std::ldexp(static_cast<float>(mantissa), 1 - bias - mantissa_bits)
                      : std::ldexp(static_cast<float>(mantissa + mantissa_max + 1), exponent - bias - mantissa_bits);
    if (ieee && exponent == exponent_max) {
      value = mantissa == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
    } else if (!ieee && !fnuz && exponent == exponent_max && mantissa == mantissa_max) {
      value = std::numeric_limits<float>::quiet_NaN();
    }
    if (fnuz && i == 128) value = std::numeric_limits<float>::quiet_NaN();
    table[static_cast<std::size_t>(i)] = sign * value;
  }
  return table;
}

// Powers of two alone; 0xFF is no number. Source: OCP Microscaling Formats 1.0, E8M0.
ByteTable ScaleTable() {
  ByteTable table = {};
  for (int i = 0; i < 255; ++i) table[static_cast<std::size_t>(i)] = std::ldexp(1.0F, i - 127);
  table[255] = std::numeric_limits<float>::quiet_NaN();
  return table;
}

const ByteTable* TableOf(DType type) {
  static const ByteTable kE4M3 = TableOf(4, 7, false, false);
  static const ByteTable kE5M2 = TableOf(5, 15, true, false);
  static const ByteTable kE4M3Fnuz = TableOf(4, 8, false, true);
  static const ByteTable kE5M2Fnuz = TableOf(5, 16, false, true);
  static const ByteTable kE8M0 = ScaleTable();
  switch (type) {
    case DType::kF8E4M3: return &kE4M3;
    case DType::kF8E5M2: return &kE5M2;
    case DType::kF8E4M3Fnuz: return &kE4M3Fnuz;
    case DType::kF8E5M2Fnuz: return &kE5M2Fnuz;
    case DType::kF8E8M0: return &kE8M0;
    default: return nullptr;
  }
}

}  // namespace

ValueForm ValueFormOf(DType type) {
  using As = ValueForm::As;
  switch (type) {
    case DType::kBool:
    case DType::kU8:
    case DType::kI8:
    case DType::kF8E8M0: return {As::kFloat, 1, 1, 0};
    case DType::kF8E4M3: return {As::kFloat, 1, 1, 0x1p-6};
    case DType::kF8E5M2: return {As::kFloat, 1, 1, 0x1p-14};
    case DType::kF8E4M3Fnuz: return {As::kFloat, 1, 1, 0x1p-7};
    case DType::kF8E5M2Fnuz: return {As::kFloat, 1, 1, 0x1p-15};
    case DType::kI16:
    case DType::kU16: return {As::kFloat, 1, 2, 0};
    case DType::kF16: return {As::kFloat, 1, 2, 0x1p-14};
    case DType::kBF16: return {As::kFloat, 1, 2, 0x1p-126};
    case DType::kF32: return {As::kFloat, 1, 4, 0x1p-126};
    case DType::kC64: return {As::kFloat, 2, 4, 0x1p-126};
    case DType::kI32:
    case DType::kU32: return {As::kDouble, 1, 4, 0};
    case DType::kI64:
    case DType::kU64: return {As::kDouble, 1, 8, 0};
    case DType::kF64: return {As::kDouble, 1, 8, 0x1p-1022};
    case DType::kC128: return {As::kDouble, 2, 8, 0x1p-1022};
    case DType::kF4:
    case DType::kF6E2M3:
    case DType::kF6E3M2:
    case DType::kBlocks: break;
  }
  return {};
}

void WidenToFloat(DType type, const char* bytes, std::size_t count, float* values) {
  if (const ByteTable* table = TableOf(type)) {
    for (std::size_t i = 0; i < count; ++i) values[i] = (*table)[static_cast<unsigned char>(bytes[i])];
    return;
  }
  switch (type) {
    case DType::kBool:
    case DType::kU8: return Convert<std::uint8_t>(bytes, count, values);
    case DType::kI8: return Convert<std::int8_t>(bytes, count, values);
    case DType::kI16: return Convert<std::int16_t>(bytes, count, values);
    case DType::kU16: return Convert<std::uint16_t>(bytes, count, values);
    case DType::kF16: return WidenFp16(bytes, count, values);
    case DType::kBF16: return WidenBf16(bytes, count, values);
    default: std::memcpy(values, bytes, count * sizeof(float));
  }
}

void WidenToDouble(DType type, const char* bytes, std::size_t count, double* values) {
  switch (type) {
    case DType::kI32: return Convert<std::int32_t>(bytes, count, values);
    case DType::kU32: return Convert<std::uint32_t>(bytes, count, values);
    case DType::kI64: return Convert<std::int64_t>(bytes, count, values);
    case DType::kU64: return Convert<std::uint64_t>(bytes, count, values);
    default: std::memcpy(values, bytes, count * sizeof(double));
  }
}

}  // namespace paritect
