#include "formats/weights/strided.h"

#include <algorithm>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

using absl::StrCat;

// Elements farther apart than this are read one by one: what lies between costs more than the calls.
constexpr std::int64_t kSpanBytesMax = 4096;

std::size_t ElementBytes(DType type) {
  return static_cast<std::size_t>(DTypeBits(type)) / 8;
}

struct Dimension {
  std::int64_t extent = 1;
  std::int64_t stride = 0;
};

// Dimensions of one element left out, neighbours that lie in one row joined.
std::vector<Dimension> Collapse(const StridedView& view) {
  std::vector<Dimension> dimensions;
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] == 1) continue;
    const Dimension next = {view.shape[i], view.strides[i]};
    if (!dimensions.empty() && dimensions.back().stride == next.extent * next.stride) {
      dimensions.back() = {dimensions.back().extent * next.extent, next.stride};
    } else {
      dimensions.push_back(next);
    }
  }
  if (dimensions.empty()) dimensions.push_back({1, 1});
  return dimensions;
}

// Reads a view box by box: a box is a part of one dimension with all that is inside it, and its elements are taken in
// the order in which they lie, so that a transposed matrix is not read element by element.
class Gatherer {
 public:
  Gatherer(const StridedView& view, BlockSink sink)
      : view_(view), element_(ElementBytes(view.dtype)), dimensions_(Collapse(view)), writer_(sink) {
    // The innermost dimensions that fit into a box, and how much of the next one does.
    std::int64_t inside = 1;
    const auto room = static_cast<std::int64_t>(kGatherBytesMax / element_);
    split_ = dimensions_.size();
    while (split_ > 0 && dimensions_[split_ - 1].extent <= room / inside) inside *= dimensions_[--split_].extent;
    inside_ = inside;
    chunk_ = split_ > 0 ? std::max<std::int64_t>(1, room / inside) : 1;
  }

  absl::Status Run() {
    std::vector<std::int64_t> outer(split_, 0);
    while (true) {
      PARITECT_RETURN_IF_ERROR(Box(outer));
      if (!Advance(outer)) break;
    }
    return writer_.Finish();
  }

 private:
  // Steps the outer dimensions; the last of them by chunks.
  bool Advance(std::vector<std::int64_t>& outer) const {
    for (std::size_t i = split_; i-- > 0;) {
      outer[i] += i + 1 == split_ ? chunk_ : 1;
      if (outer[i] < dimensions_[i].extent) return true;
      outer[i] = 0;
    }
    return false;
  }

  absl::Status Box(const std::vector<std::int64_t>& outer) {
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < split_; ++i) begin += outer[i] * dimensions_[i].stride;
    std::vector<Dimension> box(dimensions_.begin() + static_cast<std::ptrdiff_t>(split_), dimensions_.end());
    if (split_ > 0) {
      const Dimension& cut = dimensions_[split_ - 1];
      box.insert(box.begin(), {std::min(chunk_, cut.extent - outer[split_ - 1]), cut.stride});
    }
    std::int64_t count = 1;
    for (const Dimension& one : box) count *= one.extent;
    buffer_.resize(static_cast<std::size_t>(count) * element_);
    PARITECT_RETURN_IF_ERROR(Fill(box, begin));
    if (view_.swap) SwapElements(view_.dtype, absl::MakeSpan(buffer_.data(), buffer_.size()));
    return writer_.Add(buffer_);
  }

  // Every element of the box into its place in `buffer_`: runs along the dimension whose elements lie closest.
  absl::Status Fill(const std::vector<Dimension>& box, std::int64_t begin) {
    std::size_t along = box.size() - 1;
    for (std::size_t i = 0; i < box.size(); ++i) {
      const bool closer = box[along].stride == 0 || (box[i].stride != 0 && box[i].stride < box[along].stride);
      if (box[i].extent > 1 && closer) along = i;
    }
    std::vector<std::int64_t> places(box.size(), 1);  // elements between neighbours in the buffer
    for (std::size_t i = box.size() - 1; i-- > 0;) places[i] = places[i + 1] * box[i + 1].extent;
    std::vector<std::int64_t> index(box.size(), 0);
    while (true) {
      std::int64_t from = begin;
      std::int64_t to = 0;
      for (std::size_t i = 0; i < box.size(); ++i) {
        from += index[i] * box[i].stride;
        to += index[i] * places[i];
      }
      PARITECT_RETURN_IF_ERROR(Line(from, box[along], to, places[along]));
      std::size_t i = box.size();
      while (i-- > 0) {
        if (i == along) continue;
        if (++index[i] < box[i].extent) break;
        index[i] = 0;
      }
      if (i == SIZE_MAX) return absl::OkStatus();
    }
  }

  // One run of elements from the storage to the buffer.
  absl::Status Line(std::int64_t from, const Dimension& line, std::int64_t to, std::int64_t place) {
    const auto size = static_cast<std::int64_t>(element_);
    const std::uint64_t at = view_.offset + static_cast<std::uint64_t>(from * size);
    char* target = buffer_.data() + to * size;
    if (line.stride == 1 && place == 1) {
      return view_.bytes->Read(at, absl::MakeSpan(target, static_cast<std::size_t>(line.extent * size)));
    }
    if (line.stride * size > kSpanBytesMax) {
      for (std::int64_t i = 0; i < line.extent; ++i) {
        const std::uint64_t one = at + static_cast<std::uint64_t>(i * line.stride * size);
        PARITECT_RETURN_IF_ERROR(view_.bytes->Read(one, absl::MakeSpan(target + i * place * size, element_)));
      }
      return absl::OkStatus();
    }
    const std::int64_t step = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(kTensorBlockBytesMax) / (std::max<std::int64_t>(1, line.stride) * size));
    for (std::int64_t i = 0; i < line.extent; i += step) {
      const std::int64_t count = std::min(step, line.extent - i);
      span_.resize(static_cast<std::size_t>(((count - 1) * line.stride + 1) * size));
      const std::uint64_t begin = at + static_cast<std::uint64_t>(i * line.stride * size);
      PARITECT_RETURN_IF_ERROR(view_.bytes->Read(begin, absl::MakeSpan(span_.data(), span_.size())));
      for (std::int64_t k = 0; k < count; ++k) {
        std::copy_n(span_.data() + k * line.stride * size, element_, target + (i + k) * place * size);
      }
    }
    return absl::OkStatus();
  }

  const StridedView& view_;
  std::size_t element_;
  std::vector<Dimension> dimensions_;
  std::size_t split_ = 0;    // dimensions before it are walked box by box
  std::int64_t inside_ = 1;  // elements of the dimensions from `split_` on
  std::int64_t chunk_ = 1;   // of dimension split_ - 1 in one box
  BlockWriter writer_;
  std::string buffer_;
  std::string span_;
};

// What is turned around: the two halves of a complex number each.
std::size_t SwapUnit(DType type) {
  const std::size_t size = ElementBytes(type);
  return type == DType::kC64 || type == DType::kC128 ? size / 2 : size;
}

}  // namespace

absl::Status CheckView(const StridedView& view) {
  if (view.shape.size() != view.strides.size()) return absl::DataLossError("as many strides as dimensions are wanted");
  if (DTypeBits(view.dtype) % 8 != 0) return absl::UnimplementedError("a view of elements that fill no whole bytes");
  absl::uint128 last = 0;
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] < 0 || view.strides[i] < 0) return absl::DataLossError("a negative dimension or stride");
    if (view.shape[i] == 0) return absl::OkStatus();
    last += static_cast<absl::uint128>(view.shape[i] - 1) * static_cast<std::uint64_t>(view.strides[i]);
    if (last > INT64_MAX) return absl::DataLossError("a view of more than 2^63 elements");
  }
  const absl::uint128 end = view.offset + (last + 1) * ElementBytes(view.dtype);
  if (end <= view.bytes->size()) return absl::OkStatus();
  return absl::DataLossError(StrCat("a view that ends at byte ",
                                    static_cast<std::uint64_t>(std::min<absl::uint128>(end, UINT64_MAX)),
                                    " of a storage that has ", view.bytes->size()));
}

std::vector<std::int64_t> ContiguousStrides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<std::int64_t>(1, shape[i]);
  return strides;
}

bool IsContiguous(const StridedView& view) {
  const std::vector<Dimension> dimensions = Collapse(view);
  return dimensions.size() == 1 && dimensions[0].stride == 1;
}

void SwapElements(DType type, absl::Span<char> bytes) {
  const std::size_t unit = SwapUnit(type);
  for (std::size_t at = 0; unit > 1 && at + unit <= bytes.size(); at += unit) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 bytes.begin() + static_cast<std::ptrdiff_t>(at + unit));
  }
}

absl::Status ReadStrided(const StridedView& view, BlockSink sink) {
  if (std::find(view.shape.begin(), view.shape.end(), 0) != view.shape.end()) return absl::OkStatus();
  PARITECT_RETURN_IF_ERROR(Gatherer(view, sink).Run());
  return view.bytes->CheckUnchanged();
}

absl::Status AddView(TensorInfo info, StridedView view, StoredTensors& out) {
  if (const absl::Status fits = CheckView(view); !fits.ok()) {
    return Annotate(fits, StrCat("tensor ", DisplayBytes(info.name)));
  }
  if (info.elements == 0) return out.AddPieces(std::move(info), {});
  if (IsContiguous(view) && (!view.swap || SwapUnit(view.dtype) == 1)) {
    const BytePiece piece = {view.bytes, view.offset, info.bytes};
    return out.AddPieces(std::move(info), {piece});
  }
  return out.Add(std::move(info), [view = std::move(view)](BlockSink sink) { return ReadStrided(view, sink); });
}

}  // namespace paritect
