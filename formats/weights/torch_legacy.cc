// PyTorch before 1.6, and with _use_new_zipfile_serialization=False: pickles one after the other (magic number,
// protocol, facts of the machine, the object, the keys of the storages), then the storages in the order of the keys,
// each as i64 elements and its bytes. A pickle alone (of numpy arrays, as model zoos have them) is read as one that has
// no storages. Source: pytorch, torch/serialization.py (_legacy_save).
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/little_endian.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/weights/pickled_tensors.h"
#include "formats/weights/weights_format.h"
#include "re2/re2.h"

namespace paritect {
namespace {

using absl::StrCat;
using Kind = PickleValue::Kind;

// PROTO, LONG1 of ten bytes: 0x1950a86a20f9469cfc6c.
constexpr absl::string_view kMagic("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 14);
constexpr std::uint64_t kPickleBytesFirst = 64 << 10;

class LegacyReader {
 public:
  explicit LegacyReader(SharedBytes bytes)
      : bytes_(std::move(bytes)), out_(std::make_unique<StoredTensors>("torch-legacy")) {}

  absl::StatusOr<std::unique_ptr<StoredTensors>> Read() {
    PARITECT_RETURN_IF_ERROR(NextPickle().status());  // the magic number
    PARITECT_RETURN_IF_ERROR(NextPickle().status());  // version of the protocol
    PARITECT_ASSIGN_OR_RETURN(const Pickle machine, NextPickle());
    PickledOptions options;
    options.file_bytes = bytes_->size();
    const PickleView facts(machine);
    if (const auto little = facts.Find(machine.root, "little_endian"))
      options.big_endian = !machine.at(*little).boolean;
    PARITECT_ASSIGN_OR_RETURN(const Pickle object, NextPickle());
    PARITECT_ASSIGN_OR_RETURN(const Pickle keys, NextPickle());
    const PickleView view(object);
    CollectTypes(view);
    PARITECT_RETURN_IF_ERROR(PlaceStorages(PickleView(keys)));
    const FindStorage find = [this](const StorageId& id) { return Find(id); };
    PARITECT_RETURN_IF_ERROR(AddPickledTensors(view, find, options, *out_));
    return std::move(out_);
  }

 private:
  // How long a pickle is, only reading it tells: more is taken until it is whole.
  absl::StatusOr<Pickle> NextPickle() {
    for (std::uint64_t bytes = kPickleBytesFirst;; bytes *= 8) {
      const std::uint64_t left = bytes_->size() - at_;
      const std::uint64_t taken = std::min({bytes, left, kPickleBytesMax});
      PARITECT_ASSIGN_OR_RETURN(const std::string text, bytes_->ReadText(at_, taken, kPickleBytesMax));
      auto pickle = ReadPickle(text, kCheckpointPickleLimits);
      if (pickle.ok()) at_ += pickle->bytes;
      if (pickle.ok() || taken == left || taken == kPickleBytesMax || absl::IsResourceExhausted(pickle.status())) {
        if (!pickle.ok()) return Annotate(pickle.status(), StrCat("the pickle at byte ", at_));
        return pickle;
      }
    }
  }

  void CollectTypes(const PickleView& view) {
    for (std::size_t i = 0; i < view.pickle().values.size(); ++i) {
      if (auto id = ReadStorageId(view, static_cast<std::int32_t>(i))) types_.emplace(id->key, *std::move(id));
    }
  }

  // DataLoss: a key that the object does not use has no known type, and all after it no known place.
  absl::Status PlaceStorages(const PickleView& keys) {
    for (const std::int32_t item : keys.ItemsOf(keys.pickle().root)) {
      const PickleValue& value = keys.at(item);
      const std::string key = value.kind == Kind::kInteger ? StrCat(value.integer) : value.text;
      const auto type = types_.find(key);
      if (type == types_.end())
        return absl::DataLossError(StrCat("the storage ", DisplayBytes(key), " is of no known type"));
      if (!type->second.sized) return absl::UnimplementedError(type->second.unreadable);
      PARITECT_ASSIGN_OR_RETURN(const std::string count, bytes_->ReadText(at_, 8, 8));
      const std::uint64_t elements = LittleEndian(count, 0, 8);
      const auto element = static_cast<std::uint64_t>(DTypeBits(type->second.dtype) / 8);
      const std::uint64_t left = bytes_->size() - at_ - 8;
      if (elements > left / element) {
        return absl::DataLossError(StrCat("the storage ", DisplayBytes(key), " at byte ", at_, " states ", elements,
                                          " elements of ", element, " bytes, ", left,
                                          " bytes are left (file cut off?)"));
      }
      PARITECT_ASSIGN_OR_RETURN(SharedBytes part, PartOfBytes(bytes_, at_ + 8, elements * element));
      places_.emplace(key, std::move(part));
      at_ += 8 + elements * element;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<SharedBytes> Find(const StorageId& id) const {
    const auto place = places_.find(id.key);
    if (place == places_.end())
      return absl::DataLossError(StrCat("the storage ", DisplayBytes(id.key), " is not there"));
    return place->second;
  }

  SharedBytes bytes_;
  std::unique_ptr<StoredTensors> out_;
  std::uint64_t at_ = 0;
  std::map<std::string, StorageId> types_;
  std::map<std::string, SharedBytes> places_;
};

constexpr int kPicklesMax = 100;

// torch.load takes whatever begins as a pickle, and so would run what one holds: PROTO, or a name of protocol 0.
bool Sniff(const WeightsSample& sample) {
  static const re2::RE2 kName("(?s)c[A-Za-z_][\\w.]*\\n[A-Za-z_][\\w.]*\\n[^A-Za-z ].*");
  if (sample.is_folder || sample.head.size() < 3) return false;
  if (sample.head[0] == '\x80') return sample.head[1] >= 2 && sample.head[1] <= 5;
  return re2::RE2::FullMatch(sample.head, kName);
}

// Pickles that follow the first: harmless ones in front are a way to hide another.
absl::Status CheckPicklesBehind(absl::string_view rest) {
  for (int i = 0; i < kPicklesMax && !rest.empty(); ++i) {
    const auto pickle = ReadPickle(rest, kCheckpointPickleLimits);
    if (!pickle.ok()) return absl::OkStatus();  // something else
    PARITECT_RETURN_IF_ERROR(CheckPickleNames(PickleView(*pickle)));
    rest.remove_prefix(pickle->bytes);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<StoredTensors>> ReadPlainPickle(RandomBytes& bytes) {
  PARITECT_ASSIGN_OR_RETURN(const std::string text, bytes.ReadText(0, bytes.size(), kPickleBytesMax));
  PARITECT_ASSIGN_OR_RETURN(const Pickle pickle, ReadPickle(text, kCheckpointPickleLimits));
  const FindStorage find = [](const StorageId&) -> absl::StatusOr<SharedBytes> {
    return absl::DataLossError("a tensor without its storage");
  };
  auto out = std::make_unique<StoredTensors>("torch-legacy");
  PARITECT_RETURN_IF_ERROR(CheckPicklesBehind(absl::string_view(text).substr(pickle.bytes)));
  PARITECT_RETURN_IF_ERROR(AddPickledTensors(PickleView(pickle), find, {false, bytes.size()}, *out));
  if (out->tensors().empty()) return absl::InvalidArgumentError("a pickle that holds no tensors");
  out->AddNote("plain_pickle", "a pickle that torch.save did not write");
  return out;
}

absl::StatusOr<std::unique_ptr<StoredTensors>> Open(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(const SharedBytes bytes, OpenRandomBytes(fs, path));
  const std::uint64_t head = std::min<std::uint64_t>(kMagic.size(), bytes->size());
  PARITECT_ASSIGN_OR_RETURN(const std::string magic, bytes->ReadText(0, head, head));
  return magic == kMagic ? LegacyReader(bytes).Read() : ReadPlainPickle(*bytes);
}

}  // namespace

extern const WeightsFormat kTorchLegacyWeights;
const WeightsFormat kTorchLegacyWeights = {"torch-legacy", &Sniff, &Open};

}  // namespace paritect
