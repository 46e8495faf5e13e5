// PyTorch since 1.6: a ZIP archive with ROOT/data.pkl, ROOT/data/KEY (the storages, as a rule stored), ROOT/version and
// ROOT/byteorder. ROOT/.data/serialization_id is another one at every save and no part of the weights. Refused:
// TorchScript, whose code would have to be run. Source: pytorch, torch/serialization.py (_save), caffe2/serialize.
#include "formats/weights/torch_zip.h"

#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/weights/pickled_tensors.h"
#include "formats/weights/weights_format.h"
#include "formats/weights/zip_members.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr absl::string_view kPickleName = "data.pkl";
constexpr std::uint64_t kByteOrderBytesMax = 16;

class TorchZipReader {
 public:
  explicit TorchZipReader(ZipMembers members)
      : members_(std::move(members)), out_(std::make_unique<StoredTensors>("torch-zip")) {}

  absl::StatusOr<std::unique_ptr<StoredTensors>> Read() {
    const ZipEntry* pickle_entry = FindPickle();
    if (pickle_entry == nullptr) return absl::DataLossError("the archive holds no data.pkl");
    root_ = pickle_entry->name.substr(0, pickle_entry->name.size() - kPickleName.size());
    if (members_.Find(root_ + "constants.pkl") != nullptr) {
      return absl::UnimplementedError("a TorchScript archive, whose code would have to be run: save the state_dict");
    }
    if (pickle_entry->size > kPickleBytesMax) {  // before it is unpacked
      return absl::ResourceExhaustedError(
          StrCat("data.pkl has ", pickle_entry->size, " bytes, at most ", kPickleBytesMax, " are read"));
    }
    PARITECT_ASSIGN_OR_RETURN(const SharedBytes bytes, members_.Bytes(*pickle_entry));
    PARITECT_ASSIGN_OR_RETURN(const std::string text, bytes->ReadText(0, bytes->size(), kPickleBytesMax));
    auto pickle = ReadPickle(text, kCheckpointPickleLimits);
    if (!pickle.ok()) return Annotate(pickle.status(), "data.pkl");
    PickledOptions options;
    options.file_bytes = members_.archive()->size();
    PARITECT_ASSIGN_OR_RETURN(options.big_endian, IsBigEndian());
    const FindStorage find = [this](const StorageId& id) { return Find(id); };
    const PickleView view(*pickle);
    PARITECT_RETURN_IF_ERROR(AddPickledTensors(view, find, options, *out_));
    return std::move(out_);
  }

 private:
  // At the root of the archive or one folder below.
  const ZipEntry* FindPickle() const {
    for (const ZipEntry& entry : members_.entries()) {
      const bool named = entry.name == kPickleName || absl::EndsWith(entry.name, StrCat("/", kPickleName));
      if (named && std::count(entry.name.begin(), entry.name.end(), '/') <= 1) return &entry;
    }
    return nullptr;
  }

  absl::StatusOr<bool> IsBigEndian() const {
    const ZipEntry* entry = members_.Find(root_ + "byteorder");
    if (entry == nullptr) return false;
    PARITECT_ASSIGN_OR_RETURN(const SharedBytes bytes, members_.Bytes(*entry));
    PARITECT_ASSIGN_OR_RETURN(const std::string order, bytes->ReadText(0, bytes->size(), kByteOrderBytesMax));
    if (order != "little" && order != "big")
      return absl::DataLossError(StrCat("byteorder is \"", DisplayBytes(order), "\""));
    return order == "big";
  }

  absl::StatusOr<SharedBytes> Find(const StorageId& id) {
    SharedBytes& storage = storages_[id.key];
    if (storage == nullptr) {
      const ZipEntry* entry = members_.Find(StrCat(root_, "data/", id.key));
      if (entry == nullptr)
        return absl::DataLossError(StrCat("the storage data/", DisplayBytes(id.key), " is not in the archive"));
      PARITECT_ASSIGN_OR_RETURN(storage, members_.Bytes(*entry));
      if (entry->method != 0) {
        unpacked_ += entry->size;
        if (unpacked_ > kUnpackedBytesMax) {
          return absl::ResourceExhaustedError(StrCat("its storages are compressed and unpack to more than ",
                                                     kUnpackedBytesMax, " bytes: save the file again with torch.save"));
        }
      }
    }
    const auto element = static_cast<std::uint64_t>(DTypeBits(id.dtype) / 8);
    if (id.elements > storage->size() / element) {
      return absl::DataLossError(StrCat("the storage data/", DisplayBytes(id.key), " has ", storage->size(), " bytes, ",
                                        id.elements, " elements of ", element, " bytes are stated"));
    }
    return storage;
  }

  ZipMembers members_;
  std::unique_ptr<StoredTensors> out_;
  std::string root_;
  std::map<std::string, SharedBytes> storages_;
  std::uint64_t unpacked_ = 0;
};

// The first entries decide; who re-packed the archive may have put them in another order.
bool Sniff(const WeightsSample& sample) {
  return !sample.is_folder && LooksLikeTorchZip(sample.head);
}

absl::StatusOr<std::unique_ptr<StoredTensors>> Open(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(const SharedBytes bytes, OpenRandomBytes(fs, path));
  return ReadTorchZip(bytes);
}

}  // namespace

bool LooksLikeTorchZip(absl::string_view head) {
  for (const std::string& name : ZipNamesInHead(head)) {
    const absl::string_view file = absl::string_view(name).substr(name.find('/') + 1);
    if (file == kPickleName || file == "version" || file == "byteorder" || file == ".format_version" ||
        file == ".storage_alignment" || absl::StartsWith(file, "data/") || absl::StartsWith(file, ".data/") ||
        file == "constants.pkl" || absl::StartsWith(file, "code/")) {
      return true;
    }
  }
  return false;
}

absl::StatusOr<std::unique_ptr<StoredTensors>> ReadTorchZip(const SharedBytes& bytes) {
  PARITECT_ASSIGN_OR_RETURN(ZipMembers members, ZipMembers::Open(bytes));
  return TorchZipReader(std::move(members)).Read();
}

extern const WeightsFormat kTorchZipWeights;
const WeightsFormat kTorchZipWeights = {"torch-zip", &Sniff, &Open};

}  // namespace paritect
