// Keras's HDF5 (and any other HDF5 file of plain tensors), by a helper program that holds libhdf5 and is confined
// (agent/hdf5/main.c): it tells what stands where, and unpacks what is in chunks. What it tells is checked as any
// input. Source: HDF Group, "HDF5 File Format Specification"; keras, saving/legacy/hdf5_format.py.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/child_process.h"
#include "common/descriptor.h"
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
constexpr std::size_t kCopyBlockBytes = 256 << 10;
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

// A file without a name, in memory: what stands in no file has to, for a program that reads it.
absl::StatusOr<std::shared_ptr<Descriptor>> CopyInMemory(RandomBytes& bytes) {
  if (bytes.size() > kCopiedBytesMax) {
    return absl::ResourceExhaustedError(StrCat(DisplayBytes(bytes.name()), ": ", bytes.size(), " bytes, at most ",
                                               kCopiedBytesMax, " are copied for the reader of HDF5"));
  }
  auto copy = std::make_shared<Descriptor>(memfd_create("hdf5", MFD_CLOEXEC));
  if (copy->get() < 0) return absl::ErrnoToStatus(errno, "make a file in memory");
  std::string block;
  for (std::uint64_t at = 0; at < bytes.size(); at += block.size()) {
    block.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kCopyBlockBytes, bytes.size() - at)));
    PARITECT_RETURN_IF_ERROR(bytes.Read(at, absl::MakeSpan(block.data(), block.size())));
    for (std::size_t done = 0; done < block.size();) {
      const ssize_t put = write(copy->get(), block.data() + done, block.size() - done);
      if (put <= 0) return absl::ErrnoToStatus(errno, "copy into a file in memory");
      done += static_cast<std::size_t>(put);
    }
  }
  return copy;
}

ChildCommand Command(const std::string& program, const Hdf5File& file, std::vector<std::string> words) {
  ChildCommand command;
  command.words = {program};
  command.words.insert(command.words.end(), words.begin(), words.end());
  command.words.insert(command.words.end(), {StrCat(file.offset), StrCat(file.bytes->size())});
  command.input = file.descriptor;
  return command;
}

// "\xHH" as the helper writes bytes that a line cannot hold.
std::string Unescaped(absl::string_view text) {
  std::string out;
  return absl::CUnescape(text, &out) ? out : std::string(text);
}

class H5Reader {
 public:
  // `copy`: what holds the descriptor open where the bytes do not; else empty.
  H5Reader(std::string program, Hdf5File file, std::shared_ptr<Descriptor> copy, std::unique_ptr<StoredTensors> out)
      : program_(std::move(program)),
        file_(std::move(file)),
        bytes_(file_.bytes),
        copy_(std::move(copy)),
        out_(std::move(out)) {}

  absl::StatusOr<std::unique_ptr<StoredTensors>> Read() {
    ChildCommand command = Command(program_, file_, {"list"});
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
    return [program = program_, file = file_, copy = copy_, index, bytes](BlockSink sink) -> absl::Status {
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
      return file.bytes->CheckUnchanged();
    };
  }

  std::string program_;
  Hdf5File file_;
  SharedBytes bytes_;
  std::shared_ptr<Descriptor> copy_;
  std::unique_ptr<StoredTensors> out_;
  std::uint64_t unpacked_ = 0;
};

bool Sniff(const WeightsSample& sample) {
  return !sample.is_folder && absl::StartsWith(sample.head, kMagic);
}

absl::StatusOr<std::unique_ptr<StoredTensors>> Open(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(const SharedBytes bytes, OpenRandomBytes(fs, path));
  return ReadHdf5({bytes, bytes->Descriptor(), 0}, std::make_unique<StoredTensors>("keras-h5"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<StoredTensors>> ReadHdf5(Hdf5File file, std::unique_ptr<StoredTensors> out) {
  const std::string program = FindHelperProgram(kHelper);
  if (program.empty()) {
    return absl::UnimplementedError(
        StrCat("HDF5 is read by the program ", kHelper,
               ", which stands neither beside this one nor in ../libexec/paritect: install it"));
  }
  std::shared_ptr<Descriptor> copy;
  if (file.descriptor < 0) {
    PARITECT_ASSIGN_OR_RETURN(copy, CopyInMemory(*file.bytes));
    file.descriptor = copy->get();
    file.offset = 0;
  }
  return H5Reader(program, std::move(file), std::move(copy), std::move(out)).Read();
}

extern const WeightsFormat kKerasH5Weights;
const WeightsFormat kKerasH5Weights = {"keras-h5", &Sniff, &Open};

}  // namespace paritect
