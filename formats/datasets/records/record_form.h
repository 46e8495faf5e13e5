// The contract of one record form: how it is recognised by content and how its records are counted.
#ifndef PARITECT_FORMATS_DATASETS_RECORDS_RECORD_FORM_H_
#define PARITECT_FORMATS_DATASETS_RECORDS_RECORD_FORM_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "formats/datasets/records/record_reader.h"
#include "paritect/v1/common.pb.h"

namespace paritect {

// What a file begins with, for recognition.
struct RecordHead {
  absl::string_view path;
  absl::string_view bytes;            // at most kRecordHeadBytes; all of a shorter file
  std::optional<std::uint64_t> size;  // unset: of a stream
  std::string extension;              // lower case, without dot; of "x.csv.gz" in the stream: csv
};
inline constexpr std::size_t kRecordHeadBytes = 64 << 10;

// Size of a file of the same data set; nullopt: not there.
using SizeOfFile = std::function<std::optional<std::uint64_t>(absl::string_view path)>;

// What a scan found. The first fault stays; a scan may go on behind it to count.
class RecordScan {
 public:
  explicit RecordScan(SizeOfFile size_of) : size_of_(std::move(size_of)) {}

  std::optional<std::uint64_t> records;
  bool not_all_checked = false;  // a part of it has a compression or encryption of its own

  // `what`: a technical noun in English: "record 12", "footer".
  void Cut(std::uint64_t at, absl::string_view what) { Fault("cut", at, what); }  // goes on beyond the end
  void Checksum(std::uint64_t at, absl::string_view what) { Fault("checksum", at, what); }
  void Garbled(std::uint64_t at, absl::string_view what) { Fault("garbled", at, what); }  // something else stands there
  void NoEndMark(std::uint64_t at, absl::string_view what) { Fault("no_end", at, what); }
  // The fault of what is inside; positions are of the decompressed stream.
  void Inner(const RecordScan& inner);
  void Sizes(absl::string_view what, std::uint64_t stated, std::uint64_t found);

  bool damaged() const { return damaged_; }
  const v1::Problem& damage() const { return damage_; }
  std::optional<std::uint64_t> SizeOf(absl::string_view path) const { return size_of_ ? size_of_(path) : std::nullopt; }

 private:
  void Fault(absl::string_view kind, std::uint64_t at, absl::string_view what);

  SizeOfFile size_of_;
  bool damaged_ = false;
  v1::Problem damage_;
};

struct RecordForm {
  absl::string_view format;  // "tfrecord"
  bool forward = false;      // reads forwards only: fits a decompressed stream
  bool (*fits)(const RecordHead& head);
  // A status says why it could not be followed to its end: ResourceExhausted (budget, too large), Unimplemented
  // (encrypted, a newer version), or what the reader gave. Damage is no status.
  absl::Status (*scan)(RecordReader& reader, RecordScan& scan);
};

// The first form that fits; nullptr: none. `forward_only`: of a stream.
const RecordForm* FindRecordForm(const RecordHead& head, bool forward_only);

}  // namespace paritect

#endif  // PARITECT_FORMATS_DATASETS_RECORDS_RECORD_FORM_H_
