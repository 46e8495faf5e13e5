// Rows of one tensor told apart: by any runs, and by what a file of Megatron states of its heads. Lines of text:
// "tensor NAME ROWS COLUMNS", "fact NAME NUMBER", "run NAME FIRST COUNT".
#include "absl/strings/str_split.h"
#include "common/numbers.h"
#include "formats/weights/megatron_rows.h"
#include "tests/fuzz/weights_input.h"

namespace paritect {
namespace {

constexpr std::int64_t kRowsMax = 1 << 12;
constexpr std::int64_t kColumnsMax = 4;

struct Input {
  StoredTensors tensors{"megatron"};
  std::vector<RowPart> parts;
};

void AddTensor(const std::string& name, std::int64_t rows, std::int64_t columns, StoredTensors& out) {
  if (name.size() > kTensorNameBytesMax / 4 || rows < 0 || rows > kRowsMax || columns < 0 || columns > kColumnsMax)
    return;
  TensorInfo info;
  info.name = IsValidUtf8(name) ? name : DisplayBytes(name);
  info.dtype_word = "U8";
  info.dtype = DType::kU8;
  info.shape = {rows, columns};
  if (!SizeTensor(info).ok()) return;
  std::string bytes;
  for (std::uint64_t i = 0; i < info.bytes; ++i) bytes.push_back(static_cast<char>(i / 251 + i));
  const BytePiece piece = {BytesInMemory("memory", std::move(bytes)), 0, info.bytes};
  FuzzCheck(out.AddPieces(std::move(info), {piece}).ok(), "a tensor in memory is added");
}

void ReadLines(absl::string_view text, Input& input) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    const auto number = [&](std::size_t i) { return i < words.size() ? ParseInt(words[i]).value_or(-1) : -1; };
    if (words.size() == 4 && words[0] == "tensor") AddTensor(words[1], number(2), number(3), input.tensors);
    if (words.size() == 3 && words[0] == "fact") input.tensors.AddFact(words[1], IntegerValue(number(2)));
    if (words.size() != 4 || words[0] != "run") continue;
    if (input.parts.empty() || input.parts.back().name != words[1]) input.parts.push_back({words[1], {}});
    input.parts.back().runs.emplace_back(number(2), number(3));
  }
}

}  // namespace
}  // namespace paritect

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paritect;  // NOLINT(google-build-using-namespace)
  Input any;
  Input stated;
  ReadLines(FuzzInput(data, size), any);
  ReadLines(FuzzInput(data, size), stated);
  const absl::Status split = any.tensors.SplitRows([&](const TensorInfo&) { return any.parts; });
  if (split.ok()) FuzzTensors(any.tensors);
  std::uint64_t before = 0, after = 0;
  for (const TensorInfo& info : stated.tensors.tensors()) before += info.bytes;
  std::size_t runs_left = 1 << 10;
  FuzzCheck(SplitMegatronRows(stated.tensors, runs_left).ok(), "rows that heads tell are there");
  for (const TensorInfo& info : stated.tensors.tensors()) after += info.bytes;
  FuzzCheck(before == after, "no row is lost or stands twice");
  FuzzTensors(stated.tensors);
  return 0;
}
