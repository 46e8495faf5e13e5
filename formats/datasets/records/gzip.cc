// gzip: every member inflated to its CRC-32 and length; what is inside is counted where it is a form that is read
// forwards. Source: RFC 1952.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file_system.h"
#include "common/status_macros.h"
#include "formats/archives/inflate.h"
#include "formats/datasets/records/record_form.h"

namespace paritect {
namespace {

constexpr std::uint64_t kInflatedBytesMax = std::uint64_t{8} << 30;

bool Fits(const RecordHead& head) {
  return head.size && head.bytes.size() >= 10 && absl::StartsWith(head.bytes, "\x1F\x8B\x08");
}

// The decompressed stream, read forwards.
class Stream {
 public:
  explicit Stream(RecordReader& reader) : reader_(reader) {}

  // Fills the buffer; less only at the end or at a fault.
  absl::StatusOr<std::size_t> Read(absl::Span<char> buffer) {
    std::size_t done = 0;
    while (done < buffer.size() && good_ && !ended_) {
      PARITECT_ASSIGN_OR_RETURN(const absl::string_view piece, reader_.Next(at_));
      if (piece.empty()) {
        // Between two members the end is the end; inside one it is a cut.
        cut_ = inside_;
        ended_ = true;
        break;
      }
      done += Inflate(piece, buffer.subspan(done));
    }
    produced_ += done;
    return done;
  }

  std::uint64_t at() const { return at_; }  // of the compressed file
  std::uint64_t produced() const { return produced_; }
  bool cut() const { return cut_; }
  bool garbled() const { return !good_; }
  bool bad_checksum() const { return bad_checksum_; }

 private:
  std::size_t Inflate(absl::string_view piece, absl::Span<char> out) {
    if (!inside_ && members_ > 0) {
      // Padding of zeros behind the last member is common (tapes, tar).
      if (piece[0] == '\0') {
        ended_ = true;
        return 0;
      }
      inflater_.Reset();
    }
    inside_ = true;
    const Inflater::Step step = inflater_.Next(piece, out);
    at_ += step.taken;
    if (step.state == Inflater::State::kEnd) {
      inside_ = false;
      ++members_;
    }
    bad_checksum_ = step.state == Inflater::State::kChecksum;
    good_ = !bad_checksum_ && step.state != Inflater::State::kDamaged;
    return step.given;
  }

  RecordReader& reader_;
  Inflater inflater_ = Inflater(Inflater::Form::kGzip);
  std::uint64_t at_ = 0;
  std::uint64_t produced_ = 0;
  int members_ = 0;
  bool inside_ = false;
  bool good_ = true;
  bool cut_ = false;
  bool ended_ = false;
  bool bad_checksum_ = false;
};

std::string InnerName(absl::string_view path) {
  if (absl::EndsWithIgnoreCase(path, ".gz")) return std::string(path.substr(0, path.size() - 3));
  if (absl::EndsWithIgnoreCase(path, ".tgz")) return absl::StrCat(path.substr(0, path.size() - 4), ".tar");
  return std::string(path);
}

absl::Status ScanInner(RecordReader& inner, RecordScan& scan) {
  PARITECT_ASSIGN_OR_RETURN(const absl::string_view head, inner.Peek(0, kRecordHeadBytes));
  const std::string bytes(head);
  const absl::string_view name = BaseName(inner.path());
  const auto dot = name.rfind('.');
  const std::string extension = dot == absl::string_view::npos ? "" : absl::AsciiStrToLower(name.substr(dot + 1));
  const RecordForm* form = FindRecordForm({inner.path(), bytes, std::nullopt, extension}, true);
  return form == nullptr ? absl::OkStatus() : form->scan(inner, scan);
}

absl::Status Scan(RecordReader& reader, RecordScan& scan) {
  Stream stream(reader);
  RecordScan inner_scan(nullptr);
  std::string name = InnerName(reader.path());
  RecordReader inner(
      name, std::nullopt,
      [&](std::uint64_t offset, absl::Span<char> buffer) -> absl::StatusOr<std::size_t> {
        // Forwards only: what lies between is inflated and dropped.
        std::string dropped(64 << 10, '\0');
        while (stream.produced() < offset) {
          const std::size_t n =
              static_cast<std::size_t>(std::min<std::uint64_t>(dropped.size(), offset - stream.produced()));
          PARITECT_ASSIGN_OR_RETURN(const std::size_t got, stream.Read(absl::MakeSpan(dropped).subspan(0, n)));
          if (got < n) return std::size_t{0};
        }
        return stream.Read(buffer);
      },
      kInflatedBytesMax);
  PARITECT_RETURN_IF_ERROR(ScanInner(inner, inner_scan));
  std::string rest(256 << 10, '\0');
  for (;;) {
    if (stream.produced() > kInflatedBytesMax) return absl::ResourceExhaustedError("too much when decompressed");
    PARITECT_ASSIGN_OR_RETURN(const std::size_t n, stream.Read(absl::MakeSpan(rest)));
    if (n < rest.size()) break;
  }
  if (stream.cut()) {
    scan.Cut(*reader.size(), "compressed data");
  } else if (stream.bad_checksum()) {
    scan.Checksum(stream.at(), "compressed data");
  } else if (stream.garbled()) {
    scan.Garbled(stream.at(), "compressed data");
  } else if (inner_scan.damaged()) {
    scan.Inner(inner_scan);
  }
  if (!scan.damaged()) scan.records = inner_scan.records;
  return absl::OkStatus();
}

}  // namespace

extern const RecordForm kGzipRecords;
const RecordForm kGzipRecords = {"gzip", false, &Fits, &Scan};

}  // namespace paritect
