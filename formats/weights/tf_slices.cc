#include "formats/weights/tf_slices.h"

#include <algorithm>
#include <optional>

#include "formats/weights/stored_tensors.h"

namespace paritect {
namespace {

std::uint8_t ByteAt(absl::string_view text, std::size_t at) {
  return static_cast<std::uint8_t>(text[at]);
}

// Each takes what it reads from the front of `text`; nullopt: no such value stands there.

// A count of bytes, then these, the highest first.
std::optional<std::uint64_t> TakeNumber(absl::string_view& text) {
  if (text.empty()) return std::nullopt;
  const std::size_t length = ByteAt(text, 0);
  if (length > sizeof(std::uint64_t) || text.size() < length + 1) return std::nullopt;
  std::uint64_t number = 0;
  for (std::size_t i = 1; i <= length; ++i) number = number << 8 | ByteAt(text, i);
  text.remove_prefix(length + 1);
  return number;
}

// Up to 00 01; 00 FF stands for 00 and FF 00 for FF.
std::optional<std::string> TakeText(absl::string_view& text) {
  std::string out;
  while (text.size() >= 2) {
    const std::uint8_t first = ByteAt(text, 0), second = ByteAt(text, 1);
    if (first == 0x00 && second == 0x01) {
      text.remove_prefix(2);
      return out;
    }
    const bool escaped = first == 0x00 || first == 0xFF;
    if (escaped && second != (first ^ 0xFF)) return std::nullopt;
    out.push_back(static_cast<char>(first));
    text.remove_prefix(escaped ? 2 : 1);
  }
  return std::nullopt;
}

// As many leading ones as bytes, then the number; of negative ones every bit is turned.
std::optional<std::int64_t> TakeSigned(absl::string_view& text) {
  constexpr std::size_t kBytesMax = 10;
  if (text.empty()) return std::nullopt;
  const std::uint8_t turn = (ByteAt(text, 0) & 0x80) != 0 ? 0x00 : 0xFF;
  std::size_t ones = 0;
  while (ones < kBytesMax && ones / 8 < text.size() && ((ByteAt(text, ones / 8) ^ turn) >> (7 - ones % 8) & 1) != 0) {
    ++ones;
  }
  if (ones == 0 || text.size() < ones) return std::nullopt;
  std::uint64_t number = 0;
  for (std::size_t bit = ones; bit < 8 * ones; ++bit) {
    if (number >> 63 != 0) return std::nullopt;
    number = number << 1 | ((ByteAt(text, bit / 8) ^ turn) >> (7 - bit % 8) & 1);
  }
  text.remove_prefix(ones);
  if (number >> 63 != 0) return std::nullopt;
  const auto value = static_cast<std::int64_t>(number);
  return turn == 0 ? value : ~value;
}

}  // namespace

bool IsTfSliceKey(absl::string_view key) {
  return !key.empty() && key[0] == '\0';
}

absl::StatusOr<TfSlice> ReadTfSliceKey(absl::string_view key) {
  const absl::Status damaged = absl::DataLossError("the key of a slice is damaged");
  if (TakeNumber(key) != 0) return damaged;
  TfSlice slice;
  auto name = TakeText(key);
  const auto axes = name.has_value() ? TakeNumber(key) : std::nullopt;
  if (!axes.has_value() || *axes > kTensorRankMax) return damaged;
  slice.variable = *std::move(name);
  for (std::uint64_t axis = 0; axis < *axes; ++axis) {
    const auto start = TakeSigned(key);
    const auto length = start.has_value() ? TakeSigned(key) : std::nullopt;  // -1: all of it
    if (!length.has_value() || *start < 0) return damaged;
    slice.starts.push_back(*start);
  }
  return key.empty() ? absl::StatusOr<TfSlice>(std::move(slice)) : damaged;
}

}  // namespace paritect
