// PyTorch's distributed checkpoint: .metadata (a pickle of dataclasses) and __R_I.distcp files, in which each chunk of
// a tensor is a file of torch.save of its own. A tensor is put together from its chunks, which must tile it. Source:
// pytorch, torch/distributed/checkpoint/{metadata,filesystem}.py.
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/weights/boxes.h"
#include "formats/weights/pickle_view.h"
#include "formats/weights/safetensors.h"
#include "formats/weights/torch_zip.h"
#include "formats/weights/weights_folder.h"
#include "formats/weights/weights_format.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr absl::string_view kMetadata = ".metadata";
constexpr std::size_t kChunksMax = 1'000'000;
constexpr std::size_t kPlainItemsMax = 10'000;

struct Place {
  std::string file;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  bool transformed = false;
};

class DcpReader {
 public:
  DcpReader(FileSystem& fs, std::string folder, const PickleView& view)
      : fs_(fs), folder_(std::move(folder)), view_(view), out_(std::make_unique<StoredTensors>("torch-dcp")) {}

  absl::StatusOr<std::unique_ptr<StoredTensors>> Read() {
    const auto root = Attributes(view_.pickle().root);
    const auto entries = root ? view_.Find(*root, "state_dict_metadata") : std::nullopt;
    const auto storage = root ? view_.Find(*root, "storage_data") : std::nullopt;
    if (!entries || !storage) return absl::DataLossError("the metadata lack state_dict_metadata or storage_data");
    PARITECT_RETURN_IF_ERROR(ReadPlaces(*storage));
    const std::vector<std::int32_t> pairs = view_.PairsOf(*entries);
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      const std::string& name = view_.at(pairs[i]).text;
      const std::string kind = view_.NameOf(pairs[i + 1]);
      if (absl::EndsWith(kind, ".TensorStorageMetadata")) {
        PARITECT_RETURN_IF_ERROR(Annotate(AddTensor(name, pairs[i + 1]), StrCat("tensor ", DisplayBytes(name))));
      } else if (absl::EndsWith(kind, ".BytesStorageMetadata")) {
        AddPlain(name);
      }
    }
    return std::move(out_);
  }

 private:
  // The state of an instance of a dataclass.
  std::optional<std::int32_t> Attributes(std::int32_t place) const { return view_.StateOf(place); }
  std::optional<std::int32_t> Attribute(std::int32_t place, absl::string_view name) const {
    const auto state = Attributes(place);
    return state ? view_.Find(*state, name) : std::nullopt;
  }
  std::optional<std::vector<std::int64_t>> Extents(std::int32_t place, absl::string_view name) const {
    const auto value = Attribute(place, name);
    return value ? view_.IntegersOf(*value) : std::nullopt;
  }
  static std::string PlaceKey(absl::string_view name, const std::vector<std::int64_t>& offsets) {
    return StrCat(name, absl::string_view("\0", 1), absl::StrJoin(offsets, ","));
  }

  // {MetadataIndex(fqn, offset): _StorageInfo(relative_path, offset, length)}
  absl::Status ReadPlaces(std::int32_t storage) {
    const std::vector<std::int32_t> pairs = view_.PairsOf(storage);
    if (pairs.size() / 2 > kChunksMax) return absl::ResourceExhaustedError(StrCat("more than ", kChunksMax, " chunks"));
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      const auto name = Attribute(pairs[i], "fqn");
      const auto file = Attribute(pairs[i + 1], "relative_path");
      const auto offset = Attribute(pairs[i + 1], "offset");
      const auto length = Attribute(pairs[i + 1], "length");
      if (!name || !file || !offset || !length) return absl::DataLossError("a place in storage_data that is none");
      Place place;
      place.file = view_.at(*file).text;
      place.offset = static_cast<std::uint64_t>(std::max<std::int64_t>(0, view_.IntegerOf(*offset).value_or(0)));
      place.length = static_cast<std::uint64_t>(std::max<std::int64_t>(0, view_.IntegerOf(*length).value_or(0)));
      const auto transforms = Attribute(pairs[i + 1], "transform_descriptors");
      place.transformed = transforms && !view_.ItemsOf(*transforms).empty();
      if (!StaysInFolder(place.file)) {
        return absl::DataLossError(
            StrCat("a chunk is placed in \"", DisplayBytes(place.file), "\", which is no file of the folder"));
      }
      places_[PlaceKey(view_.at(*name).text, Extents(pairs[i], "offset").value_or(std::vector<std::int64_t>()))] =
          place;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<StoredTensors>> ReadPlace(const Place& place) {
    SharedBytes& file = files_[place.file];
    if (file == nullptr) {
      PARITECT_ASSIGN_OR_RETURN(file, OpenRandomBytes(fs_, JoinPath(folder_, place.file)));
    }
    if (place.transformed) return absl::UnimplementedError("a chunk that is compressed or otherwise transformed");
    PARITECT_ASSIGN_OR_RETURN(const SharedBytes part, PartOfBytes(file, place.offset, place.length));
    // A chunk is a file of torch.save, or of safetensors (SerializationFormat).
    constexpr std::uint64_t kMagicBytes = 2;
    if (part->size() < kMagicBytes) return absl::DataLossError("a chunk of no bytes");
    PARITECT_ASSIGN_OR_RETURN(const std::string magic, part->ReadText(0, kMagicBytes, kMagicBytes));
    return magic == "PK" ? ReadTorchZip(part) : ReadSafetensors(part);
  }

  absl::Status AddTensor(const std::string& name, std::int32_t metadata) {
    const auto size = Extents(metadata, "size");
    const auto chunks = Attribute(metadata, "chunks");
    if (!size || !chunks) return absl::DataLossError("its metadata lack size or chunks");
    TensorInfo info;
    info.name = name;
    // The optimizer's fp32 copies (Megatron-LM core/optimizer, sharded_state_dict).
    if (absl::StartsWith(name, "optimizer.state.fp32_param.")) info.role = v1::TENSOR_ROLE_MASTER;
    info.shape = *size;
    std::vector<Box> boxes;
    for (const std::int32_t chunk : view_.ItemsOf(*chunks)) {
      const auto offsets = Extents(chunk, "offsets");
      const auto sizes = Extents(chunk, "sizes");
      if (!offsets || !sizes) return absl::DataLossError("a chunk without offsets or sizes");
      const auto place = places_.find(PlaceKey(name, *offsets));
      if (place == places_.end()) return Missing(std::move(info), "a chunk that storage_data does not place");
      auto source = ReadPlace(place->second);
      if (absl::IsNotFound(source.status())) return Missing(std::move(info), place->second.file);
      if (!source.ok()) return source.status();
      const auto piece = (*source)->tensors().size() == 1 ? (*source)->PieceOf(0) : std::nullopt;
      if (!piece) return out_->AddUnreadable(std::move(info), "a chunk that is no plain tensor");
      const TensorInfo& part = (*source)->tensors()[0];
      if (part.shape != *sizes) return absl::DataLossError("a chunk of another shape than the metadata state");
      if (!boxes.empty() && part.dtype != info.dtype) return absl::DataLossError("chunks of different types");
      info.dtype = part.dtype;
      info.device = part.device;
      boxes.push_back({*offsets, *sizes, *piece});
    }
    if (const absl::Status sized = SizeTensor(info); !sized.ok()) return absl::DataLossError(sized.message());
    return AddBoxes(std::move(info), std::move(boxes), *out_);
  }

  absl::Status Missing(TensorInfo info, absl::string_view file) {
    if (missing_.emplace(std::string(file), true).second) {
      out_->AddIncomplete("weights_file_missing", {{"file", DisplayBytes(file)}, {"count", "?"}});
    }
    return out_->AddUnreadable(std::move(info), StrCat("a part of it is missing: ", DisplayBytes(file)));
  }

  // Values that are no tensors: learning rates, steps. What is not read of them is not missed.
  void AddPlain(const std::string& name) {
    const auto place = places_.find(PlaceKey(name, {}));
    if (place == places_.end() || ++plain_ > kPlainItemsMax) return;
    auto source = ReadPlace(place->second);
    if (!source.ok()) return;
    for (const v1::CheckpointFact& fact : (*source)->about().facts()) {
      out_->AddFact(fact.name().empty() ? name : StrCat(name, ".", fact.name()), fact.value());
    }
  }

  FileSystem& fs_;
  std::string folder_;
  const PickleView& view_;
  std::unique_ptr<StoredTensors> out_;
  std::map<std::string, Place> places_;
  std::map<std::string, SharedBytes> files_;
  std::map<std::string, bool> missing_;
  std::size_t plain_ = 0;
};

bool Sniff(const WeightsSample& sample) {
  return sample.is_folder && sample.Holds(kMetadata);
}

absl::StatusOr<std::unique_ptr<StoredTensors>> Open(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(const SharedBytes bytes, OpenRandomBytes(fs, JoinPath(path, kMetadata)));
  PARITECT_ASSIGN_OR_RETURN(const std::string text, bytes->ReadText(0, bytes->size(), kPickleBytesMax));
  auto pickle = ReadPickle(text, kCheckpointPickleLimits);
  if (!pickle.ok()) return Annotate(pickle.status(), kMetadata);
  const PickleView view(*pickle);
  PARITECT_RETURN_IF_ERROR(CheckPickleNames(view));
  return DcpReader(fs, path, view).Read();
}

}  // namespace

extern const WeightsFormat kTorchDcpWeights;
const WeightsFormat kTorchDcpWeights = {"torch-dcp", &Sniff, &Open};

}  // namespace paritect
