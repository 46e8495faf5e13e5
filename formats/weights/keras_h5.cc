// Keras's HDF5 (and any other HDF5 file of plain tensors), by a helper program that holds libhdf5 and is confined
// (agent/hdf5/main.c): it tells what stands where, and unpacks what is in chunks. What it tells is checked as any
// input. Source: HDF Group, "HDF5 File Format Specification"; keras, saving/legacy/hdf5_format.py.
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/child_process.h"
#include "common/numbers.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/weights/hdf5.h"
#include "formats/weights/weights_format.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr absl::string_view kMagic("\x89HDF\r\n\x1a\n", 8);
constexpr absl::string_view kHelper = "paritect-hdf5";
constexpr std::uint64_t kListBytesMax = 256 << 20;
constexpr absl::Duration kListTimeMax = absl::Seconds(60);
constexpr absl::Duration kReadTimeMax = absl::Minutes(10);
// Chunks that were never written read as zeros: a small file may state a tensor of any size.
constexpr std::uint64_t kUnpackRatioMax = 1100;
constexpr std::uint64_t kUnpackBytesExtra = 64 << 20;
constexpr std::uint64_t kCopiedBytesMax = 256 << 20;  // of what stands in no file: a deflated entry of an archive

absl::Status CheckEnd(const absl::StatusOr<ChildResult>& result) {
  if (!result.ok()) {
    if (absl::IsAborted(result.status())) {
      return absl::DataLossError(
          StrCat("the reader of HDF5 was ended by what the file holds (", result.status().message(), ")"));
    }
    return result.status();
  }
  if (result->exit_code == 0) return absl::OkStatus();
  return absl::DataLossError("the HDF5 library refuses the file (damaged, or cut off?)");
}

ChildCommand Command(const std::string& program, const SharedBytes& bytes, std::vector<std::string> words) {
  ChildCommand command;
  const RandomBytes::Place place = bytes->InFile();
  command.words = {program};
  command.words.insert(command.words.end(), words.begin(), words.end());
  command.words.insert(command.words.end(), {StrCat(place.offset), StrCat(bytes->size())});
  command.input = place.descriptor;
  return command;
}

// "\xHH" as the helper writes bytes that a line cannot hold.
std::string Unescaped(absl::string_view text) {
  std::string out;
  return absl::CUnescape(text, &out) ? out : std::string(text);
}

class H5Reader {
 public:
  H5Reader(std::string program, SharedBytes bytes, std::unique_ptr<StoredTensors> out)
      : program_(std::move(program)), bytes_(std::move(bytes)), out_(std::move(out)) {}

  absl::StatusOr<std::unique_ptr<StoredTensors>> Read() {
    ChildCommand command = Command(program_, bytes_, {"list"});
    command.time_max = kListTimeMax;
    command.output_bytes_max = kListBytesMax;
    const auto result = RunChild(command);
    PARITECT_RETURN_IF_ERROR(CheckEnd(result));
    PARITECT_RETURN_IF_ERROR(bytes_->CheckUnchanged());
    for (absl::string_view line : absl::StrSplit(result->output, '\n', absl::SkipEmpty())) {
      PARITECT_RETURN_IF_ERROR(Line(absl::StrSplit(line, '\t')));
    }
    return std::move(out_);
  }

 private:
  absl::Status Line(const std::vector<absl::string_view>& fields) {
    if (fields[0] == "a" && fields.size() == 3) {
      out_->AddFact(Unescaped(fields[1]), TextValue(Unescaped(fields[2])));
      return absl::OkStatus();
    }
    if (fields[0] == "u" && fields.size() == 3) {
      TensorInfo info;
      info.name = Unescaped(fields[2]);
      info.dtype = DType::kBlocks;
      info.dtype_word = "unknown";
      return out_->AddUnreadable(std::move(info), fields[1]);
    }
    if (fields[0] != "t" || fields.size() != 6) return absl::InternalError("the reader of HDF5 said something unknown");
    return Dataset(fields);
  }

  absl::Status Dataset(const std::vector<absl::string_view>& fields) {
    TensorInfo info;
    info.name = Unescaped(fields[5]);
    const auto type = DTypeOfWord(fields[2]);
    if (!type) return absl::InternalError("the reader of HDF5 said something unknown");
    info.dtype = *type;
    for (absl::string_view part : absl::StrSplit(fields[3], 'x', absl::SkipEmpty())) {
      info.shape.push_back(ParseInt(part).value_or(-1));
    }
    if (absl::StrContains(info.name, "optimizer")) info.role = v1::TENSOR_ROLE_OPTIMIZER_STATE;
    if (const absl::Status sized = SizeTensor(info); !sized.ok()) {
      return absl::DataLossError(StrCat("dataset ", DisplayBytes(info.name), ": ", sized.message()));
    }
    if (const auto offset = ParseInt(fields[4])) {
      if (*offset < 0) return absl::InternalError("the reader of HDF5 said something unknown");
      const BytePiece piece = {bytes_, static_cast<std::uint64_t>(*offset), info.bytes};
      return out_->AddPieces(std::move(info), {piece});
    }
    unpacked_ += std::min(info.bytes, std::uint64_t{1} << 60);
    if (unpacked_ > bytes_->size() * kUnpackRatioMax + kUnpackBytesExtra) {
      return absl::ResourceExhaustedError(
          StrCat("its datasets unpack to more than ", kUnpackRatioMax, " times the file's ", bytes_->size(), " bytes"));
    }
    return out_->Add(info, Unpack(std::string(fields[1]), info.bytes));
  }

  ReadElements Unpack(const std::string& index, std::uint64_t bytes) const {
    return [program = program_, file = bytes_, index, bytes](BlockSink sink) -> absl::Status {
      ChildCommand command = Command(program, file, {"read", index});
      command.time_max = kReadTimeMax;
      command.output_bytes_max = bytes;
      BlockWriter writer(sink);
      std::uint64_t got = 0;
      PARITECT_RETURN_IF_ERROR(CheckEnd(RunChild(command, [&](absl::string_view block) {
        got += block.size();
        return writer.Add(block);
      })));
      if (got != bytes) return absl::DataLossError(StrCat(bytes, " bytes of a dataset are wanted, ", got, " came"));
      PARITECT_RETURN_IF_ERROR(writer.Finish());
      return file->CheckUnchanged();
    };
  }

  std::string program_;
  SharedBytes bytes_;
  std::unique_ptr<StoredTensors> out_;
  std::uint64_t unpacked_ = 0;
};

bool Sniff(const WeightsSample& sample) {
  return !sample.is_folder && absl::StartsWith(sample.head, kMagic);
}

absl::StatusOr<std::unique_ptr<StoredTensors>> Open(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(const SharedBytes bytes, OpenRandomBytes(fs, path));
  return ReadHdf5(bytes, std::make_unique<StoredTensors>("keras-h5"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<StoredTensors>> ReadHdf5(const SharedBytes& bytes, std::unique_ptr<StoredTensors> out) {
  const std::string program = FindHelperProgram(kHelper);
  if (program.empty()) {
    return absl::UnimplementedError(
        StrCat("HDF5 is read by the program ", kHelper,
               ", which stands neither beside this one nor in ../libexec/paritect: install it"));
  }
  PARITECT_ASSIGN_OR_RETURN(const SharedBytes file, WithDescriptor(bytes, kCopiedBytesMax));
  return H5Reader(program, file, std::move(out)).Read();
}

extern const WeightsFormat kKerasH5Weights;
const WeightsFormat kKerasH5Weights = {"keras-h5", &Sniff, &Open};

}  // namespace paritect
