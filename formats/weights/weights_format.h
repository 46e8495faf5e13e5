// A format of checkpoints: a descriptor, recognition, and a function that opens. One format a file, one line in
// all_weights_formats.inc; the recipe is docs/adding-a-weights-format.md. A file is recognised by its bytes, never by
// its name; a folder by the names that stand in it.
#ifndef PARITECT_FORMATS_WEIGHTS_WEIGHTS_FORMAT_H_
#define PARITECT_FORMATS_WEIGHTS_WEIGHTS_FORMAT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/file_system.h"
#include "formats/weights/stored_tensors.h"

namespace paritect {

inline constexpr std::size_t kWeightsHeadBytes = 4096;
inline constexpr std::size_t kWeightsTailBytes = 128;
inline constexpr std::size_t kWeightsFolderNamesMax = 100'000;

// What recognition sees.
struct WeightsSample {
  bool is_folder = false;
  std::string head;  // of a file: its first and last bytes
  std::string tail;
  std::uint64_t size_bytes = 0;
  std::vector<std::string> names;  // of a folder: what stands in it, sorted

  bool Holds(absl::string_view name) const;  // in the folder
};

struct WeightsFormat {
  absl::string_view name;  // as in the contract
  // Strict: what one format claims, no other does.
  bool (*sniff)(const WeightsSample& sample);
  // `path` was recognised. DataLoss, ResourceExhausted: damaged or hostile, with the place and what was found;
  // Unimplemented: of a kind that is not read; Aborted: written to meanwhile.
  absl::StatusOr<std::unique_ptr<StoredTensors>> (*open)(FileSystem& fs, const std::string& path);
};

// In the order of trial.
absl::Span<const WeightsFormat* const> AllWeightsFormats();

absl::StatusOr<WeightsSample> SampleWeights(FileSystem& fs, const std::string& path);
// nullptr: no reader claims it.
const WeightsFormat* RecogniseWeights(const WeightsSample& sample);

// A checkpoint, whatever its format. NotFound: not there; InvalidArgument: no format that is read, with what was seen;
// the errors of WeightsFormat::open.
absl::StatusOr<std::unique_ptr<StoredTensors>> OpenWeights(FileSystem& fs, const std::string& path);

}  // namespace paritect

#endif  // PARITECT_FORMATS_WEIGHTS_WEIGHTS_FORMAT_H_
