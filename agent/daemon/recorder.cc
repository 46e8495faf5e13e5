#include "agent/daemon/recorder.h"

#include "common/message_bytes.h"
#include "common/utf8.h"

namespace paritect {

std::vector<NewRecord> Recorder::Serialize(absl::Span<v1::Record> records) const {
  const std::int64_t now = ports_.wall_ms();
  std::vector<NewRecord> out;
  out.reserve(records.size());
  for (v1::Record& record : records) {
    record.set_observed_at_unix_ms(now);
    out.push_back({SerializeStable(record), now});
  }
  return out;
}

absl::StatusOr<std::uint64_t> Recorder::TryPut(RecordClass record_class, absl::Span<v1::Record> records) {
  const std::vector<NewRecord> batch = Serialize(records);
  auto last = spool_.Append(record_class, batch);
  if (last.ok()) ports_.wake();
  return last;
}

absl::StatusOr<std::uint64_t> Recorder::Put(RecordClass record_class, absl::Span<v1::Record> records,
                                            Cancellation& cancellation,
                                            absl::FunctionRef<void(const absl::Status& why)> waiting) {
  const std::vector<NewRecord> batch = Serialize(records);
  for (;;) {
    auto last = spool_.Append(record_class, batch);
    if (last.ok()) {
      ports_.wake();
      return last;
    }
    if (absl::IsInvalidArgument(last.status())) return last.status();  // waiting does not mend it
    waiting(last.status());
    if (cancellation.WaitFor(ports_.retry)) return absl::CancelledError("stopped while the spool was full");
  }
}

void Recorder::PutEvent(absl::string_view kind, absl::string_view detail) {
  v1::Record record;
  record.mutable_event()->set_kind(std::string(kind));
  record.mutable_event()->set_detail(DisplayBytes(detail));
  (void)TryPut(RecordClass::kCritical, absl::MakeSpan(&record, 1));
}

}  // namespace paritect
