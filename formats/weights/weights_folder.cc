#include "formats/weights/weights_folder.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/weights/weights_format.h"

namespace paritect {
namespace {

constexpr std::uint64_t kNameFileBytesMax = 4096;

}  // namespace

bool StaysInFolder(absl::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find_first_of("/\\") == absl::string_view::npos &&
         name.find('\0') == absl::string_view::npos;
}

absl::StatusOr<std::string> ReadNameFile(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(fs, path, kNameFileBytesMax));
  const std::string name(absl::StripAsciiWhitespace(text));
  if (StaysInFolder(name)) return name;
  return absl::DataLossError(
      absl::StrCat(DisplayBytes(path), ": names no folder beside it: \"", DisplayBytes(name), "\""));
}

absl::StatusOr<std::unique_ptr<StoredTensors>> ReadTorchFile(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(const WeightsSample sample, SampleWeights(fs, path));
  const WeightsFormat* format = sample.is_folder ? nullptr : RecogniseWeights(sample);
  if (format == nullptr || !absl::StartsWith(format->name, "torch-")) {
    return absl::UnimplementedError(absl::StrCat(DisplayBytes(path), ": no file of torch.save"));
  }
  auto source = format->open(fs, path);
  return source.ok() ? std::move(source) : Annotate(source.status(), DisplayBytes(path));
}

const v1::Value* FindFact(const v1::Weights& about, absl::string_view name) {
  for (const v1::CheckpointFact& fact : about.facts()) {
    if (fact.name() == name) return &fact.value();
  }
  return nullptr;
}

std::optional<std::int64_t> IntegerFact(const v1::Weights& about, absl::string_view name) {
  const v1::Value* value = FindFact(about, name);
  if (value == nullptr || !value->has_integer()) return std::nullopt;
  return value->integer();
}

}  // namespace paritect
