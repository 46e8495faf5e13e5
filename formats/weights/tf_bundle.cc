// TensorFlow's V2 bundle (tf.train.Checkpoint, tf.train.Saver): PREFIX.index is a sorted table, key "" of a
// BundleHeaderProto {num_shards = 1, endianness = 2}, others of BundleEntryProto {dtype = 1, shape = 2, shard_id = 3,
// offset = 4, size = 5, crc32c = 6, slices = 7}; the values stand in PREFIX.data-00000-of-0000N.
// Source: tensorflow, core/protobuf/tensor_bundle.proto, core/util/tensor_bundle.
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/crc.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/weights/boxes.h"
#include "formats/weights/scalar_value.h"
#include "formats/weights/sorted_table.h"
#include "formats/weights/tf_slices.h"
#include "formats/weights/weights_format.h"
#include "formats/weights/wire_reader.h"

namespace paritect {
namespace {

using absl::StrCat;
using Kind = FileWireField::Kind;

constexpr std::uint64_t kStringType = 7;
constexpr std::uint64_t kShardsMax = 100'000;

// tensorflow, core/framework/types.proto
std::optional<DType> TypeOf(std::uint64_t number) {
  switch (number) {
    case 1: return DType::kF32;
    case 2: return DType::kF64;
    case 3: return DType::kI32;
    case 4: return DType::kU8;
    case 5: return DType::kI16;
    case 6: return DType::kI8;
    case 8: return DType::kC64;
    case 9: return DType::kI64;
    case 10: return DType::kBool;
    case 14: return DType::kBF16;
    case 17: return DType::kU16;
    case 18: return DType::kC128;
    case 19: return DType::kF16;
    case 22: return DType::kU32;
    case 23: return DType::kU64;
    case 24: return DType::kF8E5M2;
    case 25: return DType::kF8E4M3;
    default: return std::nullopt;
  }
}

struct Entry {
  std::uint64_t type = 0;
  std::vector<std::int64_t> shape;
  std::uint64_t shard = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t crc = 0;
  bool sliced = false;
};

absl::Status ReadShape(RandomBytes& bytes, const FileWireField& shape, std::vector<std::int64_t>& out) {
  FileWireReader wire(bytes, shape.offset, shape.length);
  while (!wire.done()) {
    PARITECT_ASSIGN_OR_RETURN(const FileWireField dim, wire.Next());
    if (dim.number != 2 || dim.kind != Kind::kBytes) continue;
    std::int64_t extent = 0;
    FileWireReader inner(bytes, dim.offset, dim.length);
    while (!inner.done()) {
      PARITECT_ASSIGN_OR_RETURN(const FileWireField field, inner.Next());
      if (field.number == 1) extent = static_cast<std::int64_t>(field.value);
    }
    if (out.size() >= kTensorRankMax) return absl::DataLossError(StrCat("more than ", kTensorRankMax, " dimensions"));
    out.push_back(extent);
  }
  return absl::OkStatus();
}

absl::StatusOr<Entry> ReadEntry(absl::string_view value) {
  const SharedBytes bytes = BytesInMemory("entry", std::string(value));
  Entry entry;
  FileWireReader wire(*bytes);
  while (!wire.done()) {
    PARITECT_ASSIGN_OR_RETURN(const FileWireField field, wire.Next());
    switch (field.number) {
      case 1: entry.type = field.value; break;
      case 2:
        if (field.kind == Kind::kBytes) PARITECT_RETURN_IF_ERROR(ReadShape(*bytes, field, entry.shape));
        break;
      case 3: entry.shard = field.value; break;
      case 4: entry.offset = field.value; break;
      case 5: entry.size = field.value; break;
      case 6: entry.crc = static_cast<std::uint32_t>(field.value); break;
      case 7: entry.sliced = true; break;
      default: break;
    }
  }
  return entry;
}

v1::TensorRole RoleOf(absl::string_view key) {
  if (absl::StrContains(key, "/.OPTIMIZER_SLOT/")) return v1::TENSOR_ROLE_OPTIMIZER_STATE;
  for (absl::string_view slot :
       {"/Adam", "/Adam_1", "/Momentum", "/RMSProp", "/RMSProp_1", "/Adagrad", "/LAMB", "/LAMB_1"}) {
    if (absl::EndsWith(key, slot)) return v1::TENSOR_ROLE_OPTIMIZER_STATE;
  }
  if (absl::StrContains(key, "moving_mean") || absl::StrContains(key, "moving_variance")) return v1::TENSOR_ROLE_BUFFER;
  return v1::TENSOR_ROLE_UNSPECIFIED;
}

class BundleReader {
 public:
  BundleReader(FileSystem& fs, std::string prefix)
      : fs_(fs), prefix_(std::move(prefix)), out_(std::make_unique<StoredTensors>("tf-bundle")) {}

  absl::StatusOr<std::unique_ptr<StoredTensors>> Read(RandomBytes& index) {
    PARITECT_RETURN_IF_ERROR(ReadSortedTable(index, [&](absl::string_view key, absl::string_view value) {
      return key.empty() ? Header(value) : Annotate(Add(key, value), DisplayBytes(key));
    }));
    if (shards_ == 0) return absl::DataLossError("the index has no header of a bundle");
    return std::move(out_);
  }

 private:
  absl::Status Header(absl::string_view value) {
    const SharedBytes bytes = BytesInMemory("header", std::string(value));
    FileWireReader wire(*bytes);
    while (!wire.done()) {
      PARITECT_ASSIGN_OR_RETURN(const FileWireField field, wire.Next());
      if (field.number == 1) shards_ = field.value;
      if (field.number == 2 && field.value != 0) return absl::UnimplementedError("a bundle of a big-endian machine");
    }
    if (shards_ == 0 || shards_ > kShardsMax) return absl::DataLossError(StrCat("a bundle of ", shards_, " files"));
    return absl::OkStatus();
  }

  absl::Status Add(absl::string_view key, absl::string_view value) {
    if (shards_ == 0) return absl::DataLossError("the index has no header of a bundle");
    PARITECT_ASSIGN_OR_RETURN(Entry entry, ReadEntry(value));
    if (entry.type == kStringType) return absl::OkStatus();  // graphs and names
    if (IsTfSliceKey(key)) return AddSlice(key, std::move(entry));
    TensorInfo info;
    info.name = std::string(key);
    info.role = RoleOf(key);
    info.shape = std::move(entry.shape);
    const auto type = TypeOf(entry.type);
    info.dtype = type.value_or(DType::kBlocks);
    if (!type) info.dtype_word = StrCat("TF_", entry.type);
    if (!type)
      return out_->AddUnreadable(std::move(info),
                                 StrCat("elements of TensorFlow's type ", entry.type, ", which is not read"));
    if (const absl::Status sized = SizeTensor(info); !sized.ok()) return absl::DataLossError(sized.message());
    if (entry.sliced) return AddSliced(std::move(info));
    if (info.bytes != entry.size) {
      return absl::DataLossError(StrCat("its shape takes ", info.bytes, " bytes, ", entry.size, " are stated"));
    }
    auto shard = Shard(entry.shard);
    if (!shard.ok()) return out_->AddUnreadable(std::move(info), shard.status().message());
    PARITECT_ASSIGN_OR_RETURN(const SharedBytes part, PartOfBytes(*shard, entry.offset, entry.size));
    PARITECT_RETURN_IF_ERROR(AddScalarFact(info, *part));
    return out_->Add(std::move(info), Checked(part, entry.crc));
  }

  // They stand before the variables that they are cut from.
  absl::Status AddSlice(absl::string_view key, Entry entry) {
    PARITECT_ASSIGN_OR_RETURN(TfSlice slice, ReadTfSliceKey(key));
    if (slice.starts.size() != entry.shape.size())
      return absl::DataLossError("a slice of other dimensions than its key");
    if (++slices_count_ > kTensorsMax)
      return absl::ResourceExhaustedError(StrCat("more than ", kTensorsMax, " slices"));
    slices_[slice.variable].emplace_back(std::move(slice), std::move(entry));
    return absl::OkStatus();
  }

  absl::Status AddSliced(TensorInfo info) {
    std::vector<Box> boxes;
    for (const auto& [slice, entry] : slices_[info.name]) {
      auto shard = Shard(entry.shard);
      if (!shard.ok()) return out_->AddUnreadable(std::move(info), shard.status().message());
      if (TypeOf(entry.type) != info.dtype) return absl::DataLossError("a slice of another type than its variable");
      boxes.push_back({slice.starts, entry.shape, {*shard, entry.offset, entry.size}});
    }
    return AddBoxes(std::move(info), std::move(boxes), *out_);
  }

  absl::StatusOr<SharedBytes> Shard(std::uint64_t number) {
    if (number >= shards_) return absl::DataLossError(StrCat("file ", number, " of ", shards_));
    SharedBytes& shard = files_[number];
    if (shard == nullptr) {
      PARITECT_ASSIGN_OR_RETURN(
          shard, OpenRandomBytes(fs_, absl::StrFormat("%s.data-%05d-of-%05d", prefix_, number, shards_)));
    }
    return shard;
  }

  // The checksum of the elements is compared while they are read.
  static ReadElements Checked(SharedBytes part, std::uint32_t wanted) {
    return [part = std::move(part), wanted](BlockSink sink) -> absl::Status {
      std::uint32_t crc = 0;
      PARITECT_RETURN_IF_ERROR(ReadPiece({part, 0, part->size()}, [&](absl::string_view block) {
        crc = Crc32c(crc, block);
        return sink(block);
      }));
      PARITECT_RETURN_IF_ERROR(part->CheckUnchanged());
      if (MaskCrc32c(crc) == wanted) return absl::OkStatus();
      return absl::DataLossError(StrCat(DisplayBytes(part->name()),
                                        ": a tensor's checksum is another one than the index "
                                        "states (the file is damaged: copy or save it again)"));
    };
  }

  // global_step, loss_scale and the like.
  absl::Status AddScalarFact(const TensorInfo& info, RandomBytes& part) {
    if (!info.shape.empty()) return absl::OkStatus();
    PARITECT_ASSIGN_OR_RETURN(const std::string raw, part.ReadText(0, part.size(), 16));
    if (auto value = ScalarValue(info.dtype, raw)) out_->AddFact(info.name, *std::move(value));
    return absl::OkStatus();
  }

  FileSystem& fs_;
  std::map<std::string, std::vector<std::pair<TfSlice, Entry>>> slices_;  // by variable
  std::size_t slices_count_ = 0;
  std::string prefix_;
  std::unique_ptr<StoredTensors> out_;
  std::uint64_t shards_ = 0;
  std::map<std::uint64_t, SharedBytes> files_;
};

// --- folders: a SavedModel, or checkpoints beside each other of which the file `checkpoint` names the last
constexpr absl::string_view kVariablesIndex = "variables/variables.index";
constexpr std::uint64_t kStateBytesMax = 1 << 20;

bool IsIndex(absl::string_view name) {
  return absl::EndsWith(name, ".index");
}

bool Sniff(const WeightsSample& sample) {
  if (!sample.is_folder) return EndsAsSortedTable(sample.tail);
  if (sample.Holds("saved_model.pb") && sample.Holds("variables")) return true;
  for (const std::string& name : sample.names) {
    const absl::string_view prefix = absl::StripSuffix(name, ".index");
    const auto data = [&](const std::string& other) { return absl::StartsWith(other, StrCat(prefix, ".data-")); };
    if (IsIndex(name) && std::any_of(sample.names.begin(), sample.names.end(), data)) return true;
  }
  return false;
}

// model_checkpoint_path: "NAME"; "" where the file does not say.
absl::StatusOr<std::string> LastCheckpoint(FileSystem& fs, const std::string& folder) {
  PARITECT_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(fs, JoinPath(folder, "checkpoint"), kStateBytesMax));
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, "model_checkpoint_path:")) continue;
    const std::size_t begin = line.find('"');
    const std::size_t end = line.rfind('"');
    if (begin != absl::string_view::npos && end > begin)
      return std::string(BaseName(line.substr(begin + 1, end - begin - 1)));
  }
  return absl::DataLossError("the file `checkpoint` names no model_checkpoint_path");
}

absl::StatusOr<std::string> IndexOfFolder(FileSystem& fs, const std::string& folder, const WeightsSample& sample) {
  if (sample.Holds("saved_model.pb")) return JoinPath(folder, kVariablesIndex);
  std::vector<std::string> indexes;
  for (const std::string& name : sample.names) {
    if (IsIndex(name)) indexes.push_back(name);
  }
  if (indexes.size() == 1) return JoinPath(folder, indexes[0]);
  PARITECT_ASSIGN_OR_RETURN(const std::string last, LastCheckpoint(fs, folder));
  return JoinPath(folder, StrCat(last, ".index"));
}

absl::StatusOr<std::unique_ptr<StoredTensors>> ReadBundle(FileSystem& fs, const std::string& index_path) {
  PARITECT_ASSIGN_OR_RETURN(const SharedBytes index, OpenRandomBytes(fs, index_path));
  const std::string prefix(absl::StripSuffix(index_path, ".index"));
  return BundleReader(fs, prefix).Read(*index);
}

absl::StatusOr<std::unique_ptr<StoredTensors>> Open(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(const WeightsSample sample, SampleWeights(fs, path));
  if (!sample.is_folder) return ReadBundle(fs, path);
  PARITECT_ASSIGN_OR_RETURN(const std::string index, IndexOfFolder(fs, path, sample));
  return ReadBundle(fs, index);
}

}  // namespace

extern const WeightsFormat kTfBundleWeights;
const WeightsFormat kTfBundleWeights = {"tf-bundle", &Sniff, &Open};

}  // namespace paritect
