// tar (WebDataset shards are such): regular members counted, headers and ends followed.
#include "formats/archives/tar.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "formats/datasets/records/record_form.h"

namespace paritect {
namespace {

bool Fits(const RecordHead& head) {
  return LooksLikeTar(head.bytes);
}

absl::Status Scan(RecordReader& reader, RecordScan& scan) {
  TarReader tar([&reader](std::uint64_t offset, std::size_t n) { return reader.Peek(offset, n); });
  TarMember member;
  std::uint64_t members = 0;
  for (;;) {
    scan.records = members;
    PARITECT_ASSIGN_OR_RETURN(const TarReader::Found found, tar.Next(member));
    switch (found) {
      case TarReader::Found::kMember: members += member.regular() ? 1 : 0; continue;
      case TarReader::Found::kNoEndMark: scan.NoEndMark(tar.at(), "archive"); break;
      case TarReader::Found::kCutHeader: scan.Cut(tar.at(), "member header"); break;
      case TarReader::Found::kCutData: scan.Cut(member.header_at, absl::StrCat("member ", member.name)); break;
      case TarReader::Found::kGarbled: scan.Garbled(tar.at(), "member header"); break;
      case TarReader::Found::kEnd: break;
    }
    return absl::OkStatus();
  }
}

}  // namespace

extern const RecordForm kTarRecords;
const RecordForm kTarRecords = {"tar", true, &Fits, &Scan};

}  // namespace paritect
