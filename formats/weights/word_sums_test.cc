// Every kernel that this processor can run, against the sums as they are defined.
#include "formats/weights/word_sums.h"

#include <gtest/gtest.h>

#include <hwy/targets.h>

#include <cstring>
#include <random>
#include <string>

namespace paritect {
namespace {

struct Expected {
  std::uint64_t sum = 0;
  std::uint64_t weighted = 0;
  std::uint64_t squared = 0;
};

Expected Define(const std::string& bytes, std::size_t width) {
  Expected sums;
  for (std::uint64_t i = 0; i < bytes.size() / width; ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes.data() + i * width, width);
    sums.sum += word;
    sums.weighted += i * word;
    sums.squared += i * i * word;
  }
  return sums;
}

TEST(WordSums, EveryTargetGivesWhatIsDefined) {
  std::mt19937 random(7);
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    for (const DType type : {DType::kU8, DType::kBF16, DType::kF32, DType::kF64}) {
      for (const std::size_t elements : {0U, 1U, 3U, 16U, 1001U, 150'003U}) {
        const std::size_t element = static_cast<std::size_t>(DTypeBits(type)) / 8;
        std::string bytes(elements * element, '\0');
        for (char& byte : bytes) byte = static_cast<char>(random() | 0xC0);  // large words
        WordSummer summer(type);
        const std::size_t half = elements / 2 * element;
        summer.Add(absl::string_view(bytes).substr(0, half));
        summer.Add(absl::string_view(bytes).substr(half));
        v1::WordSums sums;
        summer.Finish(sums);
        const Expected expected = Define(bytes, std::min<std::size_t>(element, 4));
        const std::string where = std::string(hwy::TargetName(target)) + " " + std::to_string(elements);
        EXPECT_EQ(sums.sum(), expected.sum) << where;
        EXPECT_EQ(sums.weighted(), expected.weighted) << where;
        EXPECT_EQ(sums.weighted_squared(), expected.squared) << where;
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace
}  // namespace paritect
