// Keras 3's .keras: a ZIP archive of metadata.json, config.json and model.weights.h5. The configuration describes
// layers and may hold code (Lambda): it is not read. Source: keras, src/saving/saving_lib.py (save_model, H5IOStore).
//   metadata.json       {"keras_version": "3.3.3", "date_saved": "2024-05-02@11:12:13"}
//   model.weights.h5    layers/NAME/vars/0, layers/NAME/vars/1, ..., optimizer/vars/0, ...
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/document.h"
#include "common/status_macros.h"
#include "formats/weights/hdf5.h"
#include "formats/weights/weights_format.h"
#include "formats/weights/zip_members.h"

namespace paritect {
namespace {

constexpr char kMetadata[] = "metadata.json";
constexpr char kConfiguration[] = "config.json";
constexpr char kWeights[] = "model.weights.h5";
constexpr std::uint64_t kMetadataBytesMax = 64 << 10;

// The version that wrote it; what is damaged here says nothing of the weights.
void AddVersion(const ZipMembers& members, StoredTensors& out) {
  const ZipEntry* entry = members.Find(kMetadata);
  if (entry == nullptr || entry->size > kMetadataBytesMax) return;
  const auto bytes = members.Bytes(*entry);
  if (!bytes.ok()) return;
  const auto text = (*bytes)->ReadText(0, (*bytes)->size(), kMetadataBytesMax);
  const auto document = text.ok() ? ParseJson(*text) : absl::StatusOr<DocumentNode>(text.status());
  const DocumentNode* version = document.ok() ? document->Find("keras_version") : nullptr;
  if (version != nullptr && version->is_scalar()) out.AddFact("keras_version", TextValue(version->text));
}

// The first entries, as Keras writes them; who packed it anew may have put the weights before.
bool Sniff(const WeightsSample& sample) {
  if (sample.is_folder) return false;
  const std::vector<std::string> names = ZipNamesInHead(sample.head);
  const auto holds = [&](absl::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  return holds(kWeights) || (holds(kMetadata) && holds(kConfiguration));
}

absl::StatusOr<std::unique_ptr<StoredTensors>> Open(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(const SharedBytes bytes, OpenRandomBytes(fs, path));
  PARITECT_ASSIGN_OR_RETURN(const ZipMembers members, ZipMembers::Open(bytes));
  const ZipEntry* weights = members.Find(kWeights);
  if (weights == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("no ", kWeights, " in the archive: weights of .npz or in several files are not read; save the "
                     "model with model.save(\"x.keras\"), or its weights with model.save_weights(\"x.weights.h5\")"));
  }
  auto out = std::make_unique<StoredTensors>("keras-h5");
  AddVersion(members, *out);
  PARITECT_ASSIGN_OR_RETURN(const SharedBytes file, members.Bytes(*weights));
  const bool stored = weights->method == 0;
  return ReadHdf5({file, stored ? bytes->Descriptor() : -1, stored ? weights->data_at : 0}, std::move(out));
}

}  // namespace

extern const WeightsFormat kKerasArchiveWeights;
const WeightsFormat kKerasArchiveWeights = {"keras-h5", &Sniff, &Open};

}  // namespace paritect
