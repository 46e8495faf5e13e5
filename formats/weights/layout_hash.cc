#include "formats/weights/layout_hash.h"

#include <algorithm>

#include "common/tensor_hashes.h"
#include "formats/weights/place_sums.h"

namespace paritect {
LayoutHasher::LayoutHasher(const std::vector<std::int64_t>& shape) {
  if (shape.size() < 2) return;
  for (const std::int64_t size : shape) axes_.push_back({.size = static_cast<std::uint64_t>(size)});
}

void LayoutHasher::Add(const std::uint64_t* mixes, std::size_t count) {
  while (count > 0) {
    std::size_t run = std::min(count, kRunMax);
    if (!axes_.empty()) {
      const Axis& last = axes_.back();
      run = std::min<std::uint64_t>(run, std::max<std::uint64_t>(last.size, last.at + 1) - last.at);
    }
    const auto [plain, weighted] = SumRun(mixes, run);
    const std::uint64_t along = RunWeight(run);
    order_ += weight_ * weighted;
    weight_ *= along;
    elements_ += run;
    if (!axes_.empty()) {
      Axis& last = axes_.back();
      last.sum += last.weight * weighted;
      last.weight *= along;
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
