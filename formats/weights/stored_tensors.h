// The tensor source that readers fill: a list of tensors, and for each a function that gives its elements. Sources of
// several files are put together by moving such lists into one.
#ifndef PARITECT_FORMATS_WEIGHTS_STORED_TENSORS_H_
#define PARITECT_FORMATS_WEIGHTS_STORED_TENSORS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "formats/weights/random_bytes.h"
#include "formats/weights/tensor_source.h"

namespace paritect {

using BlockSink = absl::FunctionRef<absl::Status(absl::string_view block)>;
using ReadElements = std::function<absl::Status(BlockSink sink)>;

// Elements that stand somewhere in C order, little-endian, without gaps.
struct BytePiece {
  SharedBytes bytes;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

// A tensor made of rows of another, run after run.
struct RowPart {
  std::string name;
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;  // first row, how many
  // The shape of the whole whose rows these are, of as many elements; empty: the one it is stored with.
  std::vector<std::int64_t> whole_shape = {};
};

// Bounds of every checkpoint, whatever its format.
inline constexpr std::size_t kTensorsMax = 1'000'000;
inline constexpr std::size_t kTensorNameBytesMax = 4096;
inline constexpr std::size_t kTensorRankMax = 32;
inline constexpr std::size_t kCheckpointFactsMax = 10'000;

// Fills `elements` and `bytes` from shape and dtype. InvalidArgument "why": negative, too many dimensions, more than
// 2^63 bytes, or bits that fill no whole bytes.
absl::Status SizeTensor(TensorInfo& info);

class StoredTensors final : public TensorSource {
 public:
  explicit StoredTensors(absl::string_view format) { about_.set_format(std::string(format)); }

  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  absl::Status Read(std::size_t index, BlockSink sink) override;
  const v1::Weights& about() const override { return about_; }

  v1::Weights& mutable_about() { return about_; }
  std::vector<TensorInfo>& mutable_tensors() { return tensors_; }

  // A name within the bound above: a longer one keeps its front and ends in a hash of it whole, so that names stay
  // apart and the other side's is cut alike; with one note.
  std::string BoundedName(std::string name);
  // The info must be sized. ResourceExhausted: more than kTensorsMax.
  absl::Status Add(TensorInfo info, ReadElements read);
  // Elements that are the pieces one after the other; DataLoss where these are not info.bytes in all or not there.
  absl::Status AddPieces(TensorInfo info, std::vector<BytePiece> pieces);
  // One whose elements cannot be given.
  absl::Status AddUnreadable(TensorInfo info, absl::string_view why);
  // Where tensor `index` stands as one piece; else nullopt.
  std::optional<BytePiece> PieceOf(std::size_t index) const;

  // Puts tensors made of its rows in the place of each that `parts` gives any for, if it stands in one piece and is no
  // other's alias; rows are counted along the first axis and must be there.
  absl::Status SplitRows(const std::function<std::vector<RowPart>(const TensorInfo&)>& parts);

  // A value beside the tensors. Over the bound it is left out, with one note.
  void AddFact(absl::string_view name, v1::Value value);
  void AddNote(absl::string_view kind, absl::string_view message);
  // Something that the checkpoint lacks: a message of rules/data/messages with its texts.
  void AddIncomplete(absl::string_view id, absl::Span<const std::pair<std::string, std::string>> args);

  // Takes over the tensors of `other` as those of `file`, with `prefix` before their names, its facts (under their
  // names, where none of that name stands) and notes.
  absl::Status Absorb(StoredTensors&& other, absl::string_view file, absl::string_view prefix = "");

 private:
  std::vector<TensorInfo> tensors_;
  std::vector<ReadElements> readers_;
  std::vector<std::optional<BytePiece>> pieces_;
  v1::Weights about_;
  bool facts_left_out_ = false;
  bool name_cut_ = false;
};

v1::Value TextValue(absl::string_view text);
v1::Value IntegerValue(std::int64_t integer);
v1::Value RealValue(double number);  // also of a whole number
v1::Value BooleanValue(bool boolean);

// Hands bytes on in blocks of whole elements, however they come. What `sink` refers to must outlive it.
class BlockWriter {
 public:
  explicit BlockWriter(BlockSink sink) : sink_(sink) {}
  absl::Status Add(absl::string_view bytes);
  absl::Status Finish();

 private:
  BlockSink sink_;
  std::string buffer_;
};

// `length` bytes from `offset` on, by blocks.
absl::Status ReadPiece(const BytePiece& piece, absl::FunctionRef<absl::Status(absl::string_view)> sink);

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_STORED_TENSORS_H_
