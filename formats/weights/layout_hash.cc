#include "formats/weights/layout_hash.h"

#include <algorithm>
#include <array>

#include "common/tensor_hashes.h"

namespace paritect {
namespace {

// The weights of a run's places, counted from its begin; longer runs are cut.
constexpr std::size_t kRun = 1024;
constexpr std::array<std::uint64_t, kRun + 1> kWeights = [] {
  std::array<std::uint64_t, kRun + 1> weights = {1};
  for (std::size_t i = 1; i <= kRun; ++i) weights[i] = weights[i - 1] * kPlaceWeight;
  return weights;
}();

}  // namespace

LayoutHasher::LayoutHasher(const std::vector<std::int64_t>& shape) {
  if (shape.size() < 2) return;
  for (const std::int64_t size : shape) axes_.push_back({.size = static_cast<std::uint64_t>(size)});
}

void LayoutHasher::Add(const std::uint64_t* mixes, std::size_t count) {
  while (count > 0) {
    std::size_t run = std::min(count, kRun);
    if (!axes_.empty()) {
      const Axis& last = axes_.back();
      run = std::min<std::uint64_t>(run, std::max<std::uint64_t>(last.size, last.at + 1) - last.at);
    }
    std::uint64_t plain = 0, weighted = 0;
    for (std::size_t i = 0; i < run; ++i) {
      const std::uint64_t mix = mixes[i] == kNegativeZeroLow ? 0 : mixes[i];
      plain += mix;
      weighted += mix * kWeights[i];
    }
    order_ += weight_ * weighted;
    weight_ *= kWeights[run];
    elements_ += run;
    if (!axes_.empty()) {
      Axis& last = axes_.back();
      last.sum += last.weight * weighted;
      last.weight *= kWeights[run];
      last.at += run;
      row_ += plain;
      if (last.at >= last.size) EndRow();
    }
    mixes += run;
    count -= run;
  }
}

void LayoutHasher::EndRow() {
  axes_.back().at = 0;
  axes_.back().weight = 1;
  bool step = true;  // the next outer axis goes on where this one begins again
  for (std::size_t i = axes_.size() - 1; i-- > 0;) {
    Axis& axis = axes_[i];
    axis.sum += axis.weight * row_;
    if (!step) continue;
    step = ++axis.at == axis.size;
    axis.weight = step ? 1 : axis.weight * kPlaceWeight;
    if (step) axis.at = 0;
  }
  row_ = 0;
}

void LayoutHasher::Finish(v1::LayoutHash& result) const {
  result.set_order(order_);
  std::uint64_t elements = 1;
  for (const Axis& axis : axes_) elements *= axis.size;
  if (elements != elements_) return;
  for (const Axis& axis : axes_) result.add_axes(axis.sum);
}

}  // namespace paritect
