// What the fuzz targets of checkpoint readers share: bytes as a file or a folder in memory, opened by one format
// whether it recognises them or not, and read whole.
#ifndef PARITECT_TESTS_FUZZ_WEIGHTS_INPUT_H_
#define PARITECT_TESTS_FUZZ_WEIGHTS_INPUT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/memory_file_system.h"
#include "common/utf8.h"
#include "formats/weights/weights_format.h"
#include "tests/fuzz/fuzz.h"

namespace paritect {

// Of one tensor: a small input may rightly tell of much (an expanded view within its bounds).
inline constexpr std::uint64_t kFuzzTensorBytesMax = 1 << 20;

inline void FuzzTensors(StoredTensors& source) {
  FuzzCheck(!source.about().format().empty(), "a checkpoint has a format");
  for (std::size_t i = 0; i < source.tensors().size(); ++i) {
    const TensorInfo& info = source.tensors()[i];
    FuzzCheck(IsValidUtf8(info.name), "names are UTF-8");
    FuzzCheck(!info.dtype_word.empty(), "a tensor has a type");
    std::uint64_t bytes = 0;
    const absl::Status read = source.Read(i, [&](absl::string_view block) {
      FuzzCheck(!block.empty() && block.size() <= kTensorBlockBytesMax, "blocks have their size");
      bytes += block.size();
      return bytes > kFuzzTensorBytesMax ? absl::CancelledError("enough") : absl::OkStatus();
    });
    FuzzCheck(!read.ok() || bytes == info.bytes, "a tensor that is read has all of its bytes");
  }
}

inline void FuzzPath(absl::string_view format, FileSystem& fs, const std::string& path) {
  for (const WeightsFormat* one : AllWeightsFormats()) {
    if (one->name != format) continue;
    auto source = one->open(fs, path);
    if (source.ok()) FuzzTensors(**source);
    if (!source.ok()) FuzzCheck(!source.status().message().empty(), "a refusal says why");
  }
  (void)OpenWeights(fs, path);
}

inline void FuzzWeightsFile(absl::string_view format, absl::string_view bytes) {
  MemoryFileSystem fs;
  fs.AddFile("/model", bytes);
  FuzzPath(format, fs, "/model");
}

// Files as "\n@@ NAME\n" and their bytes, one after the other.
inline void FuzzWeightsFolder(absl::string_view format, absl::string_view bytes) {
  MemoryFileSystem fs;
  fs.AddDirectory("/model");
  std::string first;
  for (absl::string_view part : absl::StrSplit(bytes, "\n@@ ")) {
    const std::size_t end = part.find('\n');
    if (end == absl::string_view::npos || end == 0 || part[0] == '/') continue;
    const std::string path = JoinPath("/model", part.substr(0, end));
    fs.AddFile(path, part.substr(end + 1));
    if (first.empty()) first = path;
  }
  FuzzPath(format, fs, "/model");
  if (!first.empty()) (void)OpenWeights(fs, first);
}

}  // namespace paritect

#endif  // PARITECT_TESTS_FUZZ_WEIGHTS_INPUT_H_
