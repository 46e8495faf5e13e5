#include "agent/daemon/simulation.h"

#include <algorithm>
#include <cmath>

namespace paritect {
namespace {

constexpr double kFirstUs = 100;
constexpr double kStep = 1.05;

}  // namespace

void LatencyTable::Add(std::int64_t microseconds, std::int64_t count) {
  const double steps = std::log(std::max(1.0, static_cast<double>(microseconds) / kFirstUs)) / std::log(kStep);
  counts_[std::min(counts_.size() - 1, static_cast<std::size_t>(std::ceil(steps)))] += count;
}

void LatencyTable::Add(const LatencyTable& other) {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
}

std::int64_t LatencyTable::Quantile(double quantile) const {
  std::int64_t total = 0;
  for (const std::int64_t count : counts_) total += count;
  std::int64_t below = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    below += counts_[i];
    if (total > 0 && static_cast<double>(below) >= quantile * static_cast<double>(total)) {
      return static_cast<std::int64_t>(kFirstUs * std::pow(kStep, static_cast<double>(i)));
    }
  }
  return 0;
}

}  // namespace paritect
