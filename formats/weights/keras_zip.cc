// Keras 3's .keras: a ZIP of config.json, metadata.json and model.weights.h5; only the last is read, for the
// configuration may hold code. Source: keras, src/saving/saving_lib.py.
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/archives/zip.h"
#include "formats/weights/keras_h5.h"
#include "formats/weights/weights_format.h"
#include "formats/weights/zip_members.h"

namespace paritect {
namespace {

constexpr char kWeights[] = "model.weights.h5";

bool Sniff(const WeightsSample& sample) {
  if (sample.is_folder) return false;
  const std::vector<std::string> names = ZipNamesInHead(sample.head);
  return !names.empty() && (names[0] == "metadata.json" || names[0] == "config.json" || names[0] == kWeights);
}

absl::StatusOr<std::unique_ptr<StoredTensors>> Open(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(const SharedBytes bytes, OpenRandomBytes(fs, path));
  PARITECT_ASSIGN_OR_RETURN(const ZipMembers members, ZipMembers::Open(bytes));
  const ZipEntry* entry = members.Find(kWeights);
  if (entry == nullptr) return absl::DataLossError(absl::StrCat(DisplayBytes(path), ": holds no ", kWeights));
  PARITECT_ASSIGN_OR_RETURN(const SharedBytes member, members.Bytes(*entry));
  // The helper reads files: the member becomes one in memory.
  auto text = member->ReadText(0, member->size(), kUnpackedBytesMax);
  if (absl::IsResourceExhausted(text.status())) {
    return Annotate(text.status(), absl::StrCat("unpack ", kWeights, " and name it in place of the .keras file"));
  }
  if (!text.ok()) return text.status();
  PARITECT_ASSIGN_OR_RETURN(const SharedBytes file, BytesInMemoryFile(kWeights, *text));
  return ReadKerasH5(file);
}

}  // namespace

extern const WeightsFormat kKerasZipWeights;
const WeightsFormat kKerasZipWeights = {"keras-zip", &Sniff, &Open};

}  // namespace paritect
