// Models of several files (Hugging Face): NAME.index.json {metadata: {total_size}, weight_map: {tensor: file}} beside
// its files, or a folder that holds one, or safetensors files alone. What a file of the index lacks makes the whole
// incomplete; what it holds beside is told. Source: huggingface/transformers, modeling_utils.py (save_pretrained).
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/document.h"
#include "common/numbers.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/weights/safetensors.h"
#include "formats/weights/weights_folder.h"
#include "formats/weights/weights_format.h"
#include "re2/re2.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr std::uint64_t kIndexBytesMax = 64 << 20;
constexpr std::size_t kFilesMax = 10'000;
constexpr std::size_t kNodesMax = 2'000'000;

bool IsIndex(absl::string_view name) {
  return absl::EndsWith(name, ".index.json");
}
bool IsModelFile(absl::string_view name) {
  return absl::EndsWith(name, ".safetensors") ||
         (absl::StartsWith(name, "pytorch_model") && absl::EndsWith(name, ".bin"));
}

struct Index {
  std::map<std::string, std::set<std::string>> files;  // tensors of each
  std::optional<std::int64_t> total_size;
};

absl::StatusOr<Index> ReadIndex(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(fs, path, kIndexBytesMax));
  DocumentLimits limits;
  limits.nodes_max = kNodesMax;
  auto document = ParseJson(text, limits);
  if (!document.ok()) return absl::DataLossError(StrCat("line ", document.status().message()));
  const DocumentNode* map = document->Find("weight_map");
  if (map == nullptr || !map->is_map()) return absl::DataLossError("the index has no weight_map");
  Index index;
  for (const auto& [tensor, file] : map->fields) {
    if (!file.is_scalar() || !StaysInFolder(file.text)) {
      return absl::DataLossError(StrCat("the index places the tensor ", DisplayBytes(tensor.text), " in \"",
                                        DisplayBytes(file.text), "\", which is no file beside it"));
    }
    index.files[file.text].insert(tensor.text);
  }
  if (index.files.size() > kFilesMax) return absl::ResourceExhaustedError(StrCat("more than ", kFilesMax, " files"));
  const DocumentNode* metadata = document->Find("metadata");
  const DocumentNode* total = metadata == nullptr ? nullptr : metadata->Find("total_size");
  if (total != nullptr && total->is_scalar()) index.total_size = ParseInt(total->text);
  return index;
}

// A file of the model; never an index again.
absl::StatusOr<std::unique_ptr<StoredTensors>> ReadFile(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(const SharedBytes bytes, OpenRandomBytes(fs, path));
  PARITECT_ASSIGN_OR_RETURN(const std::string head, bytes->ReadText(0, std::min<std::uint64_t>(16, bytes->size()), 16));
  if (!LooksLikeSafetensors(head, bytes->size())) return ReadTorchFile(fs, path);
  auto source = ReadSafetensors(bytes);
  return source.ok() ? std::move(source) : Annotate(source.status(), DisplayBytes(path));
}

// Adds one file of the model; what it lacks of `wanted` makes `out` incomplete.
absl::Status AddFile(FileSystem& fs, const std::string& folder, const std::string& file,
                     const std::set<std::string>& wanted, StoredTensors& out) {
  auto source = ReadFile(fs, JoinPath(folder, file));
  if (absl::IsNotFound(source.status())) {
    out.AddIncomplete("weights_file_missing", {{"file", DisplayBytes(file)}, {"count", StrCat(wanted.size())}});
    return absl::OkStatus();
  }
  if (!source.ok()) return source.status();
  std::set<std::string> left = wanted;
  for (const TensorInfo& info : (*source)->tensors()) {
    if (left.erase(info.name) == 0) out.AddNote("not_in_index", StrCat(DisplayBytes(file), ": ", info.name));
  }
  for (const std::string& name : left) {
    out.AddIncomplete("weights_tensor_missing", {{"tensor", DisplayBytes(name)}, {"file", DisplayBytes(file)}});
  }
  out.mutable_about().set_format((*source)->about().format());
  return out.Absorb(std::move(**source), file);
}

absl::StatusOr<std::unique_ptr<StoredTensors>> ReadByIndex(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(const Index index, ReadIndex(fs, path));
  auto out = std::make_unique<StoredTensors>("safetensors");
  for (const auto& [file, tensors] : index.files) {
    PARITECT_RETURN_IF_ERROR(AddFile(fs, std::string(DirName(path)), file, tensors, *out));
  }
  std::uint64_t bytes = 0;
  for (const TensorInfo& info : out->tensors()) bytes += info.alias_of.empty() ? info.bytes : 0;
  if (index.total_size && static_cast<std::uint64_t>(*index.total_size) != bytes && out->about().incomplete().empty()) {
    out->AddNote("total_size_differs",
                 StrCat("the index states ", *index.total_size, " bytes, the tensors have ", bytes));
  }
  return out;
}

// Files without an index say of how many they are one: NAME-00002-of-00003.safetensors.
void CheckCount(const std::vector<std::string>& files, StoredTensors& out) {
  static const re2::RE2 kPattern("(.*)-(\\d{5,9})-of-(\\d{5,9})(\\..*)");
  std::map<std::vector<std::string>, std::set<std::int64_t>> found;  // by what stands around the number
  for (const std::string& file : files) {
    std::string before, number, count, after;
    if (!re2::RE2::FullMatch(file, kPattern, &before, &number, &count, &after)) continue;
    found[{before, count, after}].insert(ParseInt(number).value_or(0));
  }
  for (const auto& [name, numbers] : found) {
    const std::int64_t count = ParseInt(name[1]).value_or(0);
    if (static_cast<std::int64_t>(numbers.size()) >= count) continue;
    std::int64_t lacking = 1;  // transformers counts from 1
    while (numbers.contains(lacking)) ++lacking;
    out.AddIncomplete("weights_file_missing",
                      {{"file", DisplayBytes(absl::StrFormat("%s-%05d-of-%s%s", name[0], lacking, name[1], name[2]))},
                       {"count", "?"}});
  }
}

absl::StatusOr<std::unique_ptr<StoredTensors>> ReadFiles(FileSystem& fs, const std::string& folder,
                                                         const std::vector<std::string>& files) {
  auto out = std::make_unique<StoredTensors>("safetensors");
  CheckCount(files, *out);
  for (const std::string& file : files) {
    PARITECT_ASSIGN_OR_RETURN(auto source, ReadFile(fs, JoinPath(folder, file)));
    out->mutable_about().set_format(source->about().format());
    PARITECT_RETURN_IF_ERROR(out->Absorb(std::move(*source), files.size() == 1 ? "" : file));
  }
  return out;
}

// By content: a JSON object with a weight_map near its beginning.
bool Sniff(const WeightsSample& sample) {
  if (!sample.is_folder) return absl::StartsWith(sample.head, "{") && absl::StrContains(sample.head, "\"weight_map\"");
  return std::any_of(sample.names.begin(), sample.names.end(),
                     [](const std::string& name) { return IsIndex(name) || IsModelFile(name); });
}

absl::StatusOr<std::unique_ptr<StoredTensors>> Open(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(const WeightsSample sample, SampleWeights(fs, path));
  if (!sample.is_folder) return ReadByIndex(fs, path);
  std::vector<std::string> indexes, safetensors, torch;
  for (const std::string& name : sample.names) {
    if (IsIndex(name)) indexes.push_back(name);
    if (IsModelFile(name)) (absl::EndsWith(name, ".bin") ? torch : safetensors).push_back(name);
  }
  // Both forms of one model may stand side by side: safetensors is what is loaded first.
  for (const std::string& name : indexes) {
    if (absl::StrContains(name, "safetensors") || safetensors.empty()) return ReadByIndex(fs, JoinPath(path, name));
  }
  return ReadFiles(fs, path, safetensors.empty() ? torch : safetensors);
}

}  // namespace

extern const WeightsFormat kHfIndexWeights;
const WeightsFormat kHfIndexWeights = {"safetensors", &Sniff, &Open};

}  // namespace paritect
