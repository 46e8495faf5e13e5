#include "formats/weights/boxes.h"

#include <algorithm>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr std::uint64_t kBufferBytes = 64 << 10;  // of each box
constexpr std::size_t kBoxesMax = 100'000;

// The elements of one box, in order.
class BoxStream {
 public:
  explicit BoxStream(const BytePiece& piece) : piece_(piece) {}

  absl::Status Copy(std::uint64_t bytes, BlockWriter& writer) {
    while (bytes > 0) {
      if (at_ == buffer_.size()) {
        const std::uint64_t left = piece_.length - taken_;
        if (left == 0) return absl::DataLossError("a chunk that ends before its shape does");
        PARITECT_ASSIGN_OR_RETURN(
            buffer_, piece_.bytes->ReadText(piece_.offset + taken_, std::min(left, kBufferBytes), kBufferBytes));
        taken_ += buffer_.size();
        at_ = 0;
      }
      const auto take = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, buffer_.size() - at_));
      PARITECT_RETURN_IF_ERROR(writer.Add(absl::string_view(buffer_).substr(at_, take)));
      at_ += take;
      bytes -= take;
    }
    return absl::OkStatus();
  }

 private:
  const BytePiece& piece_;
  std::uint64_t taken_ = 0;
  std::string buffer_;
  std::size_t at_ = 0;
};

absl::Status CheckBoxes(const TensorInfo& info, const std::vector<Box>& boxes, std::uint64_t element) {
  absl::uint128 elements = 0;
  for (const Box& box : boxes) {
    if (box.offsets.size() != info.shape.size() || box.sizes.size() != info.shape.size()) {
      return absl::DataLossError("a chunk of another number of dimensions");
    }
    absl::uint128 inside = 1;
    for (std::size_t i = 0; i < box.sizes.size(); ++i) {
      if (box.offsets[i] < 0 || box.sizes[i] < 0 || box.sizes[i] > info.shape[i] ||
          box.offsets[i] > info.shape[i] - box.sizes[i]) {
        return absl::DataLossError("a chunk that leaves the tensor");
      }
      inside *= static_cast<std::uint64_t>(box.sizes[i]);
    }
    if (inside * element != box.piece.length)
      return absl::DataLossError("a chunk of another length than its shape takes");
    elements += inside;
  }
  if (elements == info.elements) return absl::OkStatus();
  return absl::DataLossError(
      StrCat("its chunks hold ", static_cast<std::uint64_t>(elements), " elements, its shape has ", info.elements));
}

// Rows of the last dimension, each from the boxes that hold a part of it. Boxes are read from front to back, for rows
// come in the order in which a box holds its own.
absl::Status ReadRows(const TensorInfo& info, const std::vector<Box>& boxes, std::uint64_t element, BlockSink sink) {
  const std::size_t last = info.shape.size() - 1;
  std::vector<BoxStream> streams;
  for (const Box& box : boxes) streams.emplace_back(box.piece);
  BlockWriter writer(sink);
  std::vector<std::int64_t> row(last, 0);
  while (true) {
    std::int64_t column = 0;
    for (std::size_t i = 0; i < boxes.size(); ++i) {  // sorted by the last dimension
      bool holds = boxes[i].sizes[last] > 0;
      for (std::size_t k = 0; k < last && holds; ++k) {
        holds = row[k] >= boxes[i].offsets[k] && row[k] - boxes[i].offsets[k] < boxes[i].sizes[k];
      }
      if (!holds) continue;
      if (boxes[i].offsets[last] != column) return absl::DataLossError("chunks that overlap or leave a hole");
      PARITECT_RETURN_IF_ERROR(streams[i].Copy(static_cast<std::uint64_t>(boxes[i].sizes[last]) * element, writer));
      column += boxes[i].sizes[last];
    }
    if (column != info.shape[last]) return absl::DataLossError("chunks that leave a hole");
    std::size_t k = last;
    while (k > 0 && ++row[k - 1] == info.shape[k - 1]) row[--k] = 0;
    if (k == 0) break;
  }
  PARITECT_RETURN_IF_ERROR(writer.Finish());
  for (const Box& box : boxes) PARITECT_RETURN_IF_ERROR(box.piece.bytes->CheckUnchanged());
  return absl::OkStatus();
}

// Cut along the first dimension alone, without gaps: then the pieces follow each other.
bool FollowEachOther(const TensorInfo& info, const std::vector<Box>& boxes) {
  std::int64_t at = 0;
  for (const Box& box : boxes) {
    for (std::size_t i = 0; i < box.sizes.size(); ++i) {
      if (i == 0 ? box.offsets[0] != at : box.sizes[i] != info.shape[i]) return false;
    }
    if (!box.sizes.empty()) at += box.sizes[0];
  }
  return true;
}

}  // namespace

absl::Status AddBoxes(TensorInfo info, std::vector<Box> boxes, StoredTensors& out) {
  if (boxes.size() > kBoxesMax)
    return absl::ResourceExhaustedError(StrCat("more than ", kBoxesMax, " chunks of one tensor"));
  const auto element = static_cast<std::uint64_t>(DTypeBits(info.dtype) / 8);
  PARITECT_RETURN_IF_ERROR(CheckBoxes(info, boxes, element));
  std::sort(boxes.begin(), boxes.end(), [](const Box& a, const Box& b) { return a.offsets < b.offsets; });
  if (info.elements == 0 || FollowEachOther(info, boxes)) {
    std::vector<BytePiece> pieces;
    for (const Box& box : boxes) pieces.push_back(box.piece);
    return out.AddPieces(std::move(info), std::move(pieces));
  }
  const std::size_t last = info.shape.size() - 1;
  std::stable_sort(boxes.begin(), boxes.end(),
                   [last](const Box& a, const Box& b) { return a.offsets[last] < b.offsets[last]; });
  const TensorInfo shape = info;
  return out.Add(std::move(info), [shape, boxes = std::move(boxes), element](BlockSink sink) {
    return ReadRows(shape, boxes, element, sink);
  });
}

}  // namespace paritect
