#include "formats/datasets/record_count.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/file_system.h"
#include "common/utf8.h"

namespace paritect {

#define PARITECT_RECORD_FORM(name) extern const RecordForm k##name##Records;
#include "formats/datasets/all_record_forms.inc"
#undef PARITECT_RECORD_FORM

namespace {

constexpr const RecordForm* kForms[] = {
#define PARITECT_RECORD_FORM(name) &k##name##Records,
#include "formats/datasets/all_record_forms.inc"
#undef PARITECT_RECORD_FORM
};

v1::Problem NotLooked(const v1::FileEntry& entry, const absl::Status& status) {
  v1::Problem problem;
  const bool large = absl::IsResourceExhausted(status);
  problem.set_id(large                           ? "records_too_large"
                 : absl::IsUnimplemented(status) ? "records_not_readable"
                                                 : "source_unreadable");
  (*problem.mutable_args())["source"] = DisplayBytes(entry.path());
  (*problem.mutable_args())["why"] = DisplayBytes(status.message());
  return problem;
}

std::string ExtensionOf(absl::string_view path) {
  const absl::string_view name = BaseName(path);
  const auto dot = name.rfind('.');
  return dot == absl::string_view::npos ? "" : absl::AsciiStrToLower(name.substr(dot + 1));
}

}  // namespace

const RecordForm* FindRecordForm(const RecordHead& head, bool forward_only) {
  for (const RecordForm* form : kForms) {
    if ((form->forward || !forward_only) && form->fits(head)) return form;
  }
  return nullptr;
}

void RecordScan::Fault(absl::string_view kind, std::uint64_t at, absl::string_view what) {
  if (damaged_) return;
  damaged_ = true;
  damage_.set_id(absl::StrCat("record_damaged/", kind));
  (*damage_.mutable_args())["at"] = absl::StrCat(at);
  (*damage_.mutable_args())["what"] = DisplayBytes(what);
}

void RecordScan::Inner(const RecordScan& inner) {
  if (damaged_ || !inner.damaged_) return;
  damaged_ = true;
  damage_ = inner.damage_;
  std::string& what = (*damage_.mutable_args())["what"];
  what = absl::StrCat(what, " (decompressed)");
}

void RecordScan::Sizes(absl::string_view what, std::uint64_t stated, std::uint64_t found) {
  if (damaged_) return;
  Fault("size", std::min(stated, found), what);
  (*damage_.mutable_args())["stated"] = absl::StrCat(stated);
  (*damage_.mutable_args())["found"] = absl::StrCat(found);
}

std::uint64_t CountRecords(const RecordReader::ReadAt& read_at, const SizeOfFile& size_of, const RecordLimits& limits,
                           v1::FileEntry& entry) {
  RecordReader reader(entry.path(), entry.size_bytes(), read_at, limits.bytes_max);
  v1::RecordLook& look = *entry.mutable_record_look();
  look.Clear();
  const auto head = reader.Peek(0, kRecordHeadBytes);
  if (!head.ok()) {
    *look.mutable_not_looked() = NotLooked(entry, head.status());
    return reader.bytes_read();
  }
  const std::string bytes(*head);
  const RecordForm* form = FindRecordForm({entry.path(), bytes, entry.size_bytes(), ExtensionOf(entry.path())}, false);
  if (form == nullptr || bytes.empty()) return reader.bytes_read();
  look.set_format(std::string(form->format));
  RecordScan scan(size_of);
  const absl::Status status = form->scan(reader, scan);
  if (scan.damaged()) *look.mutable_damage() = scan.damage();
  if (scan.damaged()) (*look.mutable_damage()->mutable_args())["format"] = look.format();
  if (!status.ok()) *look.mutable_not_looked() = NotLooked(entry, status);
  look.set_whole(status.ok() && !scan.damaged() && !scan.not_all_checked);
  if (status.ok() && scan.records) entry.set_records(*scan.records);
  return reader.bytes_read();
}

}  // namespace paritect
