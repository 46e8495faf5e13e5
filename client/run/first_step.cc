#include "client/run/first_step.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "agent/collectors/record_files.h"

namespace paritect {
namespace {

constexpr absl::string_view kEndings[] = {".jsonl"};
constexpr absl::string_view kStep = "\n{\"k\":\"step\",";
// The fingerprints of the weights stand before it: about a kibibyte a tensor.
constexpr std::size_t kBytesMax = 8 << 20;
constexpr std::size_t kPart = 256 << 10;

bool HoldsStep(FileSystem& fs, const std::string& path) {
  auto file = fs.Open(path);
  if (!file.ok()) return false;
  std::string bytes;
  for (std::size_t size = 0; size < kBytesMax;) {
    bytes.resize(size + kPart);
    const auto read = (*file)->Read(absl::MakeSpan(&bytes[size], kPart));
    if (!read.ok() || *read == 0) {
      bytes.resize(size);
      break;
    }
    size += *read;
    bytes.resize(size);
  }
  return absl::StrContains(bytes, kStep);
}

}  // namespace

bool HoldsFirstStep(FileSystem& fs, const std::string& folder) {
  RecordFiles found;
  if (!FindRecordFiles(fs, folder, kEndings, found).ok()) return false;
  return std::any_of(found.files.begin(), found.files.end(), [&](const auto& path) { return HoldsStep(fs, path); });
}

}  // namespace paritect
