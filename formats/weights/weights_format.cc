#include "formats/weights/weights_format.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {

#define PARITECT_WEIGHTS_FORMAT(name) extern const WeightsFormat k##name##Weights;
#include "formats/weights/all_weights_formats.inc"
#undef PARITECT_WEIGHTS_FORMAT

namespace {

constexpr std::size_t kNamesShown = 8;

// What a stand-in for a checkpoint says of itself; "" where it is none.
absl::string_view StandIn(const WeightsSample& sample) {
  const absl::string_view head = sample.head;
  if (sample.size_bytes == 0) return "an empty file";
  if (absl::StartsWith(head, "version https://git-lfs"))
    return "a Git LFS pointer: fetch the file itself (git lfs pull)";
  if (absl::StartsWithIgnoreCase(head, "<!doctype html") || absl::StartsWithIgnoreCase(head, "<html")) {
    return "an HTML page, most likely an error page of a download";
  }
  return "";
}

absl::Status NotRecognised(const WeightsSample& sample, absl::string_view path) {
  std::string seen;
  if (sample.is_folder) {
    const auto end = sample.names.begin() + static_cast<std::ptrdiff_t>(std::min(kNamesShown, sample.names.size()));
    seen = absl::StrCat("a folder with ", sample.names.size(), " entries (",
                        DisplayBytes(absl::StrJoin(sample.names.begin(), end, ", ")), ")");
  } else if (!StandIn(sample).empty()) {
    return absl::DataLossError(absl::StrCat("read ", DisplayBytes(path), ": ", StandIn(sample)));
  } else {
    seen = absl::StrCat("a file of ", sample.size_bytes, " bytes that begins with \"",
                        absl::CHexEscape(absl::string_view(sample.head).substr(0, 16)), "\"");
  }
  std::vector<absl::string_view> words;
  for (const WeightsFormat* format : AllWeightsFormats()) words.push_back(format->name);
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return absl::InvalidArgumentError(
      absl::StrCat("recognise ", DisplayBytes(path), ": ", seen,
                   " is none of the formats of weights that are read: ", absl::StrJoin(words, ", ")));
}

absl::Status ReadFolderNames(FileSystem& fs, const std::string& path, WeightsSample& sample) {
  PARITECT_RETURN_IF_ERROR(fs.List(path, [&](const DirectoryEntry& entry) {
    if (sample.names.size() < kWeightsFolderNamesMax) sample.names.push_back(entry.name);
  }));
  std::sort(sample.names.begin(), sample.names.end());
  return absl::OkStatus();
}

}  // namespace

absl::Span<const WeightsFormat* const> AllWeightsFormats() {
  static constexpr const WeightsFormat* kAll[] = {
#define PARITECT_WEIGHTS_FORMAT(name) &k##name##Weights,
#include "formats/weights/all_weights_formats.inc"
#undef PARITECT_WEIGHTS_FORMAT
  };
  return kAll;
}

bool WeightsSample::Holds(absl::string_view name) const {
  return std::binary_search(names.begin(), names.end(), name);
}

absl::StatusOr<WeightsSample> SampleWeights(FileSystem& fs, const std::string& path) {
  WeightsSample sample;
  PARITECT_ASSIGN_OR_RETURN(const FileInfo info, fs.Stat(path));
  sample.is_folder = info.type == FileInfo::Type::kDirectory;
  if (sample.is_folder) {
    PARITECT_RETURN_IF_ERROR(ReadFolderNames(fs, path, sample));
    return sample;
  }
  PARITECT_ASSIGN_OR_RETURN(const SharedBytes bytes, OpenRandomBytes(fs, path));
  sample.size_bytes = bytes->size();
  const std::uint64_t head = std::min<std::uint64_t>(kWeightsHeadBytes, bytes->size());
  const std::uint64_t tail = std::min<std::uint64_t>(kWeightsTailBytes, bytes->size());
  PARITECT_ASSIGN_OR_RETURN(sample.head, bytes->ReadText(0, head, head));
  PARITECT_ASSIGN_OR_RETURN(sample.tail, bytes->ReadText(bytes->size() - tail, tail, tail));
  return sample;
}

const WeightsFormat* RecogniseWeights(const WeightsSample& sample) {
  for (const WeightsFormat* format : AllWeightsFormats()) {
    if (format->sniff(sample)) return format;
  }
  return nullptr;
}

absl::StatusOr<std::unique_ptr<StoredTensors>> OpenWeights(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(const WeightsSample sample, SampleWeights(fs, path));
  const WeightsFormat* format = RecogniseWeights(sample);
  if (format == nullptr) return NotRecognised(sample, path);
  auto source = format->open(fs, path);
  if (source.ok()) return source;
  return Annotate(source.status(), absl::StrCat("read ", DisplayBytes(path), " as ", format->name));
}

}  // namespace paritect
