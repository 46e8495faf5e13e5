#include "formats/weights/fingerprint.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <xxhash.h>
#ifdef PARITECT_XXHASH_DISPATCH
#include <xxh_x86dispatch.h>  // updates by the widest vectors that this processor has; the hashes are the same
#endif

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "common/digest.h"
#include "common/in_order.h"
#include "common/status_macros.h"
#include "formats/weights/layout_hash.h"
#include "formats/weights/sketch.h"
#include "formats/weights/value_histogram.h"
#include "formats/weights/value_sums.h"
#include "formats/weights/widen.h"
#include "formats/weights/word_sums.h"

namespace paritect {
namespace {

constexpr std::size_t kChunkBytes = 4 << 20;
constexpr std::size_t kPieceValues = 4096;  // widened at a time: stays in the first cache

struct StateDeleter {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};
using HashState = std::unique_ptr<XXH3_state_t, StateDeleter>;

// Digests of the bytes.
class ByteDigests {
 public:
  explicit ByteDigests(const FingerprintOptions& options) : whole_(XXH3_createState()), chunk_(XXH3_createState()) {
    XXH3_128bits_reset(whole_.get());
    XXH3_64bits_reset(chunk_.get());
    if (options.sha256) sha256_ = std::make_unique<Digest>(DigestKind::kSha256);
    if (options.md5) md5_ = std::make_unique<Digest>(DigestKind::kMd5);
  }

  void Add(absl::string_view bytes) {
    if (sha256_ != nullptr) sha256_->Update(bytes);
    if (md5_ != nullptr) md5_->Update(bytes);
    if (chunks_.empty()) {  // the first chunk is all there was: one state tells both hashes
      const absl::string_view part = bytes.substr(0, kChunkBytes - in_chunk_);
      XXH3_128bits_update(whole_.get(), part.data(), part.size());
      in_chunk_ += part.size();
      bytes.remove_prefix(part.size());
      if (bytes.empty()) return;
      chunks_.push_back(XXH3_64bits_digest(whole_.get()));
      in_chunk_ = 0;
    }
    XXH3_128bits_update(whole_.get(), bytes.data(), bytes.size());
    while (!bytes.empty()) {
      if (in_chunk_ == kChunkBytes) EndChunk();
      const absl::string_view part = bytes.substr(0, kChunkBytes - in_chunk_);
      XXH3_64bits_update(chunk_.get(), part.data(), part.size());
      in_chunk_ += part.size();
      bytes.remove_prefix(part.size());
    }
  }

  void Finish(v1::TensorFingerprint& result) {
    const XXH128_hash_t hash = XXH3_128bits_digest(whole_.get());
    result.set_xxh3(absl::StrFormat("%016x%016x", hash.high64, hash.low64));
    if (sha256_ != nullptr) result.set_sha256(ToHex(sha256_->Finish()));
    if (md5_ != nullptr) result.set_md5(ToHex(md5_->Finish()));
    if (chunks_.empty()) return;
    EndChunk();
    for (const std::uint64_t chunk : chunks_) result.add_chunk_xxh3(chunk);
  }

 private:
  void EndChunk() {
    chunks_.push_back(XXH3_64bits_digest(chunk_.get()));
    XXH3_64bits_reset(chunk_.get());
    in_chunk_ = 0;
  }

  HashState whole_;
  HashState chunk_;
  std::size_t in_chunk_ = 0;
  std::vector<std::uint64_t> chunks_;
  std::unique_ptr<Digest> sha256_;
  std::unique_ptr<Digest> md5_;
};

void SetHash(const HashSums& sums, v1::ValueHash& hash) {
  hash.set_low(sums.low);
  hash.set_high(sums.high);
}

// Where the values stand, as they are and as the narrow types would hold them.
class Layouts {
 public:
  Layouts(const std::vector<std::int64_t>& shape, bool rounded)
      : values_(shape), as_bf16_(shape), as_fp16_(shape), rounded_(rounded) {}

  ValueMixes places() {
    return rounded_ ? ValueMixes{mixes_[0], mixes_[1], mixes_[2]} : ValueMixes{mixes_[0], nullptr, nullptr};
  }
  // What was written to places().
  void Add(std::size_t count) {
    values_.Add(mixes_[0], count);
    if (!rounded_) return;
    as_bf16_.Add(mixes_[1], count);
    as_fp16_.Add(mixes_[2], count);
  }
  void Finish(v1::TensorFingerprint& result) const {
    values_.Finish(*result.mutable_layout());
    if (!rounded_) return;
    as_bf16_.Finish(*result.mutable_layout_as_bf16());
    as_fp16_.Finish(*result.mutable_layout_as_fp16());
  }

 private:
  LayoutHasher values_;
  LayoutHasher as_bf16_;
  LayoutHasher as_fp16_;
  const bool rounded_;
  alignas(64) std::uint64_t mixes_[3][kPieceValues];
};

class Fingerprinter : public TensorFingerprinter {
 public:
  Fingerprinter(DType type, const FingerprintOptions& options, const std::vector<std::int64_t>& shape)
      : type_(type),
        form_(ValueFormOf(type)),
        digests_(options),
        words_(type),
        unit_bytes_(ValueSums::kLanes * static_cast<std::size_t>(form_.value_bytes)) {
    values_.smallest_normal = form_.smallest_normal;
    values_.hashes = options.values;
    values_.rounded_hashes = options.values && type == DType::kF32;
    if (!options.values || form_.as == ValueForm::As::kNone) return;
    histogram_ = std::make_unique<ValueHistogram>();
    layouts_ = std::make_unique<Layouts>(shape, values_.rounded_hashes);
    values_.mixes = layouts_->places();
  }

  void KeepValuesAt(std::vector<std::uint64_t> places) override { places_ = std::move(places); }
  std::vector<double> kept_values() const override { return kept_; }

  void Add(absl::string_view block) override {
    digests_.Add(block);
    words_.Add(block);
    if (form_.as != ValueForm::As::kNone) AddValues(block);
  }

  v1::TensorFingerprint Finish() override {
    v1::TensorFingerprint result;
    result.set_dtype(std::string(DTypeWord(type_)));
    digests_.Finish(result);
    words_.Finish(*result.mutable_words());
    if (form_.as == ValueForm::As::kNone) return result;
    AddPieces(rest_);
    FillStatistics(*result.mutable_statistics());
    if (!values_.hashes) return result;
    SetHash(sums_.values, *result.mutable_values());
    if (values_.rounded_hashes) {
      SetHash(sums_.as_bf16, *result.mutable_values_as_bf16());
      SetHash(sums_.as_fp16, *result.mutable_values_as_fp16());
    }
    histogram_->ForEachBin([&](std::size_t bin, std::uint64_t number) {
      result.mutable_histogram()->add_bins(static_cast<std::uint32_t>(bin));
      result.mutable_histogram()->add_counts(number);
    });
    layouts_->Finish(result);
    for (const double place : sketcher_.Finish()) result.add_sketch(place);
    return result;
  }

 private:
  // Lanes begin with each block of values that goes on: what is left of a unit waits for the next block.
  void AddValues(absl::string_view block) {
    if (!rest_.empty()) {
      const absl::string_view part = block.substr(0, unit_bytes_ - rest_.size());
      absl::StrAppend(&rest_, part);
      block.remove_prefix(part.size());
      if (rest_.size() < unit_bytes_) return;
      AddPieces(rest_);
      rest_.clear();
    }
    const std::size_t whole = block.size() / unit_bytes_ * unit_bytes_;
    AddPieces(block.substr(0, whole));
    rest_.assign(block.data() + whole, block.size() - whole);
  }

  void AddPieces(absl::string_view bytes) {
    const std::size_t width = static_cast<std::size_t>(form_.value_bytes);
    while (bytes.size() >= width) {
      const std::size_t count = std::min(kPieceValues, bytes.size() / width);
      AddPiece(bytes.data(), count);
      bytes.remove_prefix(count * width);
    }
  }

  void AddPiece(const char* bytes, std::size_t count) {
    alignas(64) float floats[kPieceValues];
    if (form_.as == ValueForm::As::kFloat) {
      WidenToFloat(type_, bytes, count, floats);
      Keep(floats, count);
      AddFloats(floats, count, values_, sums_);
      if (values_.hashes) sketcher_.Add(floats, count);
    } else {
      double doubles[kPieceValues];
      WidenToDouble(type_, bytes, count, doubles);
      Keep(doubles, count);
      AddDoubles(doubles, count, values_, sums_);
      if (values_.hashes) sketcher_.Add(doubles, count);
      for (std::size_t i = 0; i < count; ++i) floats[i] = static_cast<float>(doubles[i]);
    }
    if (histogram_ != nullptr) histogram_->Add(floats, count);
    if (layouts_ != nullptr) layouts_->Add(count);
  }

  // The piece begins where the sums stand.
  template <typename T>
  void Keep(const T* values, std::size_t count) {
    while (kept_.size() < places_.size() && places_[kept_.size()] < sums_.elements + count) {
      kept_.push_back(static_cast<double>(values[places_[kept_.size()] - sums_.elements]));
    }
  }

  void FillStatistics(v1::TensorStatistics& result) const {
    const std::uint64_t finite = sums_.elements - sums_.nan - sums_.positive_infinity - sums_.negative_infinity;
    result.set_min(finite > 0 ? sums_.min + 0.0 : 0);  // + 0.0: one zero
    result.set_max(finite > 0 ? sums_.max + 0.0 : 0);
    result.set_sum(CombineLanes(sums_.sum));
    result.set_sum_of_squares(CombineLanes(sums_.squares));
    result.set_sum_of_fourths(CombineLanes(sums_.fourths));
    result.set_finite(finite);
    result.set_nan(sums_.nan);
    result.set_positive_infinity(sums_.positive_infinity);
    result.set_negative_infinity(sums_.negative_infinity);
    result.set_zero(sums_.zero);
    result.set_negative_zero(sums_.negative_zero);
    result.set_subnormal(sums_.subnormal);
  }

  const DType type_;
  const ValueForm form_;
  ValueOptions values_;
  ByteDigests digests_;
  WordSummer words_;
  ValueSums sums_;
  std::unique_ptr<ValueHistogram> histogram_;
  std::unique_ptr<Layouts> layouts_;
  Sketcher sketcher_;
  std::vector<std::uint64_t> places_;
  std::vector<double> kept_;
  const std::size_t unit_bytes_;  // of 16 values
  std::string rest_;
};

// What the list says of a tensor.
void Describe(const TensorInfo& info, v1::TensorFingerprint& tensor) {
  tensor.set_name(info.name);
  tensor.set_role(info.role);
  if (info.requires_grad.has_value()) tensor.set_requires_grad(*info.requires_grad);
  tensor.set_dtype(info.dtype_word.empty() ? std::string(DTypeWord(info.dtype)) : info.dtype_word);
  for (const std::int64_t size : info.shape) tensor.add_shape(size);
  tensor.set_alias_of(info.alias_of);
  tensor.set_device(info.device);
  tensor.set_file(info.file);
}

void SetUnreadable(absl::string_view why, v1::TensorFingerprint& tensor) {
  tensor.mutable_problem()->set_id("tensor_not_read");
  (*tensor.mutable_problem()->mutable_args())["why"] = std::string(why);
}

// A tensor that is read, and what became of it.
struct Reading {
  std::size_t index = 0;  // in the list
  std::vector<std::uint64_t> places;
  v1::TensorFingerprint tensor;
  std::vector<double> kept;
  absl::Status status;
};

void Read(TensorSource& source, const FingerprintOptions& options, const std::function<void(std::size_t)>& told,
          Reading& reading) {
  const TensorInfo& info = source.tensors()[reading.index];
  Fingerprinter fingerprinter(info.dtype, options, info.shape);
  fingerprinter.KeepValuesAt(std::move(reading.places));
  const absl::Status read = source.Read(reading.index, [&](absl::string_view block) {
    fingerprinter.Add(block);
    if (told) told(block.size());
    return absl::OkStatus();
  });
  if (absl::IsFailedPrecondition(read)) return SetUnreadable(read.message(), reading.tensor);
  reading.status = read;
  if (!read.ok()) return;
  reading.tensor = fingerprinter.Finish();
  reading.kept = fingerprinter.kept_values();
}

// Sources of one checkpoint: as many as are used at the same time.
class Sources {
 public:
  Sources(TensorSource& first, const FingerprintThreads& threads) : first_(first), open_(threads.open) {
    free_.push_back(&first);
  }

  void Read(const FingerprintOptions& options, Reading& reading) ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::StatusOr<TensorSource*> source = Take();
    if (!source.ok()) {
      reading.status = source.status();
      return;
    }
    paritect::Read(**source, options, nullptr, reading);
    absl::MutexLock lock(&mutex_);
    free_.push_back(*source);
  }

 private:
  absl::StatusOr<TensorSource*> Take() ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      if (!free_.empty()) {
        TensorSource* source = free_.back();
        free_.pop_back();
        return source;
      }
    }
    PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<TensorSource> opened, open_());
    const auto same = [](const TensorInfo& x, const TensorInfo& y) {
      return x.name == y.name && x.bytes == y.bytes && x.dtype == y.dtype && x.shape == y.shape;
    };
    if (!std::equal(first_.tensors().begin(), first_.tensors().end(), opened->tensors().begin(),
                    opened->tensors().end(), same)) {
      return absl::DataLossError("the checkpoint was written while it was read: read it again when it is whole");
    }
    absl::MutexLock lock(&mutex_);
    return opened_.emplace_back(std::move(opened)).get();
  }

  TensorSource& first_;
  const std::function<absl::StatusOr<std::unique_ptr<TensorSource>>()>& open_;
  absl::Mutex mutex_;
  std::vector<TensorSource*> free_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<TensorSource>> opened_ ABSL_GUARDED_BY(mutex_);
};

// Tensors that are no other's alias and can be read, in the list's order.
std::vector<Reading> ReadingsOf(const TensorSource& source, const FingerprintWatch& watch) {
  std::set<std::string> names;  // before an alias the tensor has to stand
  std::vector<Reading> readings;
  for (std::size_t i = 0; i < source.tensors().size(); ++i) {
    const TensorInfo& info = source.tensors()[i];
    if (info.unreadable.empty() && (info.alias_of.empty() || !names.contains(info.alias_of))) {
      readings.push_back(
          {.index = i, .places = watch.keep_places ? watch.keep_places(info) : std::vector<std::uint64_t>()});
    }
    names.insert(info.name);
  }
  return readings;
}

constexpr std::uint64_t kThreadBytes = 16 << 20;  // less a thread is not worth its start
constexpr std::uint64_t kFilesMax = 512;          // of all sources together: a process may open 1,024 as a rule

int ThreadsFor(const TensorSource& source, const FingerprintThreads& threads) {
  if (!threads.open) return 1;
  std::uint64_t bytes = 0;
  std::set<absl::string_view> files;
  for (const TensorInfo& info : source.tensors()) {
    bytes += info.bytes;
    files.insert(info.file);
  }
  const std::uint64_t room = kFilesMax / std::max<std::uint64_t>(1, files.size());
  const std::uint64_t useful = std::min(std::max<std::uint64_t>(1, room), 1 + bytes / kThreadBytes);
  return static_cast<int>(std::min(useful, static_cast<std::uint64_t>(std::max(1, threads.count))));
}

// Fills the readings. The error is the first in the list's order: what stands before it is read in any case.
absl::Status ReadAll(TensorSource& source, const FingerprintOptions& options, const FingerprintWatch& watch,
                     const FingerprintThreads& threads, std::vector<Reading>& readings) {
  const int count = ThreadsFor(source, threads);
  std::vector<Reading*> order;
  for (Reading& one : readings) order.push_back(&one);
  if (count > 1) {
    // The largest first, so that all threads end at the same time. The library of digests chooses its code at its first
    // use, without a lock.
    std::stable_sort(order.begin(), order.end(), [&](const Reading* x, const Reading* y) {
      return source.tensors()[x->index].bytes > source.tensors()[y->index].bytes;
    });
    NewTensorFingerprinter(DType::kU8, options)->Add("0");
  }
  std::atomic<std::size_t> failed = source.tensors().size();
  Sources sources(source, threads);
  MakeInOrder(
      order.size(), count,
      [&](std::size_t i) {
        Reading& reading = *order[i];
        if (reading.index > failed) return i;
        count > 1 ? sources.Read(options, reading) : Read(source, options, watch.read, reading);
        for (std::size_t least = failed; !reading.status.ok() && reading.index < least;) {
          if (failed.compare_exchange_weak(least, reading.index)) break;
        }
        return i;
      },
      [&](std::size_t i) {
        const TensorInfo& info = source.tensors()[order[i]->index];
        if (order[i]->index > failed || !order[i]->status.ok()) return;
        if (count > 1 && watch.read) watch.read(info.bytes);
        if (watch.kept && !order[i]->tensor.has_problem()) watch.kept(info, std::move(order[i]->kept));
      });
  for (const Reading& reading : readings) PARITECT_RETURN_IF_ERROR(reading.status);
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<TensorFingerprinter> NewTensorFingerprinter(DType type, const FingerprintOptions& options,
                                                            const std::vector<std::int64_t>& shape) {
  return std::make_unique<Fingerprinter>(type, options, shape);
}

std::string SignsOf(const std::vector<double>& values) {
  std::string signs((values.size() + 3) / 4, '\0');
  for (std::size_t i = 0; i < values.size(); ++i) {
    const unsigned sign = values[i] > 0 ? 1 : values[i] < 0 ? 2 : 0;
    signs[i / 4] = static_cast<char>(static_cast<unsigned char>(signs[i / 4]) | sign << i % 4 * 2);
  }
  return signs;
}

absl::StatusOr<v1::Weights> FingerprintWeights(TensorSource& source, const FingerprintOptions& options,
                                               const FingerprintWatch& watch, const FingerprintThreads& threads) {
  std::vector<Reading> readings = ReadingsOf(source, watch);
  PARITECT_RETURN_IF_ERROR(ReadAll(source, options, watch, threads, readings));
  v1::Weights weights = source.about();
  std::map<std::string, int> places;  // of names in weights.tensors
  auto reading = readings.begin();
  for (std::size_t i = 0; i < source.tensors().size(); ++i) {
    const TensorInfo& info = source.tensors()[i];
    v1::TensorFingerprint tensor;
    if (!info.unreadable.empty()) {
      SetUnreadable(info.unreadable, tensor);
    } else if (reading != readings.end() && reading->index == i) {
      tensor = std::move((reading++)->tensor);
    } else {
      tensor = weights.tensors(places.at(info.alias_of));
      tensor.clear_shape();
    }
    Describe(info, tensor);
    places.emplace(info.name, weights.tensors_size());
    *weights.add_tensors() = std::move(tensor);
  }
  return weights;
}

}  // namespace paritect
