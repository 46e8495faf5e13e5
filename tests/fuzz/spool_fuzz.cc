// A spool's folder made of what the input says: valid headers, records, drops and states with any numbers in them,
// bytes in between, and damage on top. However it looks, the spool opens or says why not, its entries cover every
// number, and what is appended afterwards gets a new number and is read back.
#include <map>
#include <string>

#include "agent/spool/fault_disk.h"
#include "agent/spool/spool.h"
#include "tests/fuzz/fuzz.h"

namespace paritect {
namespace {

using namespace spool_format;  // NOLINT(google-build-using-namespace)

constexpr std::uint64_t kEpoch = 7;

class Folder {
 public:
  explicit Folder(absl::string_view input) : rest_(input) {}

  std::map<std::string, std::string> Make() {
    while (!rest_.empty()) Step();
    return std::move(files_);
  }

 private:
  std::uint64_t Byte() {
    if (rest_.empty()) return 0;
    const auto value = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    return value;
  }
  // Mostly small, so that numbers meet.
  std::uint64_t Number() {
    const std::uint64_t value = Byte();
    if (value < 250) return value;
    std::uint64_t wide = 0;
    for (std::uint64_t i = 0; i < 8 - (value - 250); ++i) wide = wide << 8 | Byte();
    return wide;
  }
  RecordClass Class() { return Byte() % 2 == 0 ? RecordClass::kCritical : RecordClass::kBulk; }
  GapReason Reason() { return static_cast<GapReason>(Byte() % 6); }
  std::string& Current() { return files_[current_]; }

  void Segment() {
    SegmentHeader header;
    header.record_class = Class();
    header.epoch = Byte() == 13 ? kEpoch + 1 : kEpoch;
    header.first = Number();
    header.skip_from = Number();
    header.skip_to = Number();
    header.skip_reason = Reason();
    header.created_ms = static_cast<std::int64_t>(Number());
    key_ = {kEpoch, header.first};
    current_ = "spool/" + EncodeSegmentName({header.record_class, header.first});
    class_ = header.record_class;
    Current() = EncodeSegmentHeader(header);
    Current().resize(kRecordsOffset, '\0');
  }

  void Record() {
    RecordHeader header;
    header.sequence = Number();
    header.observed_ms = static_cast<std::int64_t>(Number());
    header.record_class = class_;
    AppendRecord(key_, Current().size(), header, std::string(Byte(), 'p'), Current());
  }

  void State(const std::string& name) {
    Slot slot;
    slot.epoch = kEpoch;
    slot.reserved = Number();
    slot.accepted = Number();
    slot.low_water = Number();
    const std::string bytes = EncodeSlot(slot);
    std::string& file = files_["spool/" + name];
    if (file.size() >= kSlotBytes) file.resize(kSecondSlotOffset, '\0');
    file += bytes;
  }

  void Step() {
    switch (Byte() % 8) {
      case 0: return Segment();
      case 1:
      case 2: return Record();
      case 3: return State("state");
      case 4: return State("mark");
      case 5: {
        const int slot = static_cast<int>(Byte() % 2);
        const Drop drop = {Number(), Number(), Reason()};
        if (Current().size() < kRecordsOffset) Current().resize(kRecordsOffset, '\0');
        Current().replace(DropOffset(slot), kDropBytes, EncodeDrop(key_, drop));
        return;
      }
      case 6: Current() += std::string(Byte(), static_cast<char>(Byte())); return;
      default:
        if (!Current().empty()) Current()[Number() % Current().size()] ^= static_cast<char>(Byte());
    }
  }

  absl::string_view rest_;
  std::map<std::string, std::string> files_;
  std::string current_ = "spool/other";
  SegmentKey key_;
  RecordClass class_ = RecordClass::kBulk;
};

// Reads all; the number behind the last entry.
std::uint64_t ReadAll(Spool& spool, std::string* last_payload) {
  std::uint64_t position = spool.Stats().low_water + 1;
  while (true) {
    const auto entries = spool.Read(position, 4096, 5);
    FuzzCheck(entries.ok(), "a disk that works is read");
    if (entries->empty()) return position;
    for (const SpoolEntry& entry : *entries) {
      FuzzCheck(entry.sequence == position && entry.last_sequence >= position, "entries cover every number");
      position = entry.last_sequence + 1;
      *last_payload = entry.payload;
    }
  }
}

void Run(absl::string_view input) {
  FaultDisk disk(1);
  disk.SetFiles(Folder(input).Make());
  SpoolOptions options;
  options.max_bytes = 1 << 20;
  auto spool = Spool::Open(
      "spool", options, [] { return std::int64_t{1'000'000}; }, disk);
  if (!spool.ok()) {
    FuzzCheck(absl::IsDataLoss(spool.status()), "only used-up numbers keep a spool from opening");
    return;
  }
  std::string payload;
  const std::uint64_t end = ReadAll(**spool, &payload);
  FuzzCheck(end == (*spool)->Stats().accepted_sequence + 1, "entries go to the end");
  const auto last = (*spool)->Append(RecordClass::kCritical, {{"new", 0}});
  FuzzCheck(last.ok() && *last >= end, "a new record gets a new number");
  FuzzCheck(ReadAll(**spool, &payload) == *last + 1 && payload == "new", "a new record is read back");
  FuzzCheck((*spool)->Acknowledge(*last).ok() && (*spool)->Stats().records == 0, "all can be acknowledged");
}

}  // namespace
}  // namespace paritect

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paritect::Run(paritect::FuzzInput(data, size));
  return 0;
}
