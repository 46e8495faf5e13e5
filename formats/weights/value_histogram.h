// Counts of a tensor's values by sign, exponent and three bits of mantissa: the twelve top bits of their fp32 form.
#ifndef PARITECT_FORMATS_WEIGHTS_VALUE_HISTOGRAM_H_
#define PARITECT_FORMATS_WEIGHTS_VALUE_HISTOGRAM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace paritect {

// Four tables, so that neighbours in one bin do not wait for each other.
class ValueHistogram {
 public:
  void Add(const float* values, std::size_t count) {
    std::size_t i = 0;
    for (; i + 4 <= count; i += 4) {
      ++counts_[0][BinOf(values[i])];  // written out: as a loop within a loop it took twice as long
      ++counts_[1][BinOf(values[i + 1])];
      ++counts_[2][BinOf(values[i + 2])];
      ++counts_[3][BinOf(values[i + 3])];
    }
    for (; i < count; ++i) ++counts_[0][BinOf(values[i])];
    if ((since_flush_ += count) > kFlushValues) Flush();
  }

  // take(bin, count), ascending, of the bins that hold any.
  template <typename Take>
  void ForEachBin(const Take& take) {
    Flush();
    for (std::size_t bin = 0; bin < kBins; ++bin) {
      if (totals_[bin] != 0) take(bin, totals_[bin]);
    }
  }

  static constexpr std::size_t kBins = 4096;

 private:
  static constexpr std::size_t kFlushValues = std::size_t{1} << 31;  // before a count of 32 bits is full

  static std::size_t BinOf(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits >> 20;
  }

  void Flush() {
    for (auto& table : counts_) {
      for (std::size_t bin = 0; bin < kBins; ++bin) totals_[bin] += table[bin];
      table.fill(0);
    }
    since_flush_ = 0;
  }

  std::array<std::array<std::uint32_t, kBins>, 4> counts_ = {};
  std::array<std::uint64_t, kBins> totals_ = {};
  std::size_t since_flush_ = 0;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_VALUE_HISTOGRAM_H_
