// Weights & Biases offline runs (`run-ID.wandb`): LevelDB's log form with a header of its own and plain CRC-32.
//   header ":W&B" | u16 0xBEE1 | u8 version; 32 KiB blocks of records: u32 crc(type + payload) | u16 length | u8 type
//   Record: 2 history{1 item{1 key, 2 nested_key, 16 value_json}, 2 step{1 num}}, 5 config, 18 exit{1 code}
// Source: wandb/wandb wandb/sdk/internal/datastore.py, wandb/proto/wandb_internal.proto.

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/crc.h"
#include "common/little_endian.h"
#include "formats/logs/log_format.h"
#include "formats/logs/machinery/json_fields.h"
#include "formats/logs/machinery/printed_settings.h"
#include "formats/logs/machinery/series_table.h"
#include "formats/logs/machinery/wire.h"

namespace paritect {
namespace {

constexpr absl::string_view kMagic("\x3A\x57\x26\x42\xE1\xBE", 6);
constexpr std::size_t kFileHeaderBytes = 7;
constexpr std::size_t kBlockBytes = 32 << 10;
constexpr std::size_t kRecordHeaderBytes = 7;
constexpr std::size_t kRecordBytesMax = 64 << 20;

struct Item {
  std::string key;
  std::string value;
};

Item ReadItem(absl::string_view bytes) {
  Item item;
  WireReader reader(bytes);
  for (WireField field; reader.Next(field);) {
    if (field.type != 2) continue;
    if (field.number == 1) item.key = std::string(field.bytes);
    if (field.number == 2) absl::StrAppend(&item.key, item.key.empty() ? "" : ".", field.bytes);
    if (field.number == 16) item.value = std::string(field.bytes);
  }
  return item;
}

class WandbParser : public LogParser {
 public:
  absl::Status Feed(absl::string_view chunk, RunLogBuilder& out) override {
    if (stopped_) return absl::OkStatus();
    pending_.append(chunk.data(), chunk.size());
    std::size_t at = 0;
    while (!stopped_ && Step(at, out)) {
    }
    pending_.erase(0, at);
    return absl::OkStatus();
  }

  absl::Status Finish(RunLogBuilder& out) override {
    if (!pending_.empty() || !record_.empty()) out.set_incomplete_tail();
    table_.Finish(out);
    settings_.set_format("json");
    out.AddSettings(std::move(settings_));
    return absl::OkStatus();
  }

  void HandOver(RunLogBuilder& out) override { table_.Finish(out); }

 private:
  // One record header with its payload, or the rest of a block; false where more bytes are needed.
  bool Step(std::size_t& at, RunLogBuilder& out) {
    const absl::string_view all = pending_;
    if (offset_ == 0) {
      if (all.size() - at < kFileHeaderBytes) return false;
      return Advance(kFileHeaderBytes, at);
    }
    const std::size_t left = kBlockBytes - static_cast<std::size_t>(offset_ % kBlockBytes);
    if (left < kRecordHeaderBytes) return all.size() - at >= left && Advance(left, at);
    if (all.size() - at < kRecordHeaderBytes) return false;
    const auto crc = static_cast<std::uint32_t>(LittleEndian(all, at, 4));
    const auto length = static_cast<std::size_t>(LittleEndian(all, at + 4, 2));
    const auto type = static_cast<std::uint32_t>(LittleEndian(all, at + 6, 1));
    if (all.size() - at < kRecordHeaderBytes + length) return false;
    const absl::string_view checked = all.substr(at + 6, 1 + length);
    const std::uint32_t found = Crc32(0, checked);
    if (crc == 0 && length == 0 && type == 0) {  // room that a writer laid out and did not come to fill
      stopped_ = true;
      out.set_incomplete_tail();
      return false;
    }
    if (found != crc || type < 1 || type > 4 || length > left - kRecordHeaderBytes) {
      stopped_ = true;
      out.AddNote("damaged", 0,
                  absl::StrCat("a wrong checksum at byte ", offset_, "; what stands behind it is not read"));
      return false;
    }
    Part(type, checked.substr(1), out);
    return Advance(kRecordHeaderBytes + length, at);
  }

  bool Advance(std::size_t n, std::size_t& at) {
    at += n;
    offset_ += n;
    return true;
  }

  // 1 whole, 2 first, 3 middle, 4 last
  void Part(std::uint32_t type, absl::string_view payload, RunLogBuilder& out) {
    if (type <= 2) record_.clear();
    if (record_.size() + payload.size() > kRecordBytesMax) return;
    record_.append(payload.data(), payload.size());
    if (type == 2 || type == 3) return;
    Record(record_, out);
    record_.clear();
  }

  void Record(absl::string_view record, RunLogBuilder& out) {
    WireReader reader(record);
    for (WireField field; reader.Next(field);) {
      if (field.type != 2) continue;
      if (field.number == 2) History(field.bytes);
      if (field.number == 5) Config(field.bytes);
      if (field.number == 18) Exit(field.bytes, out);
    }
  }

  void History(absl::string_view history) {
    std::vector<Item> items;
    std::optional<std::int64_t> step;
    WireReader reader(history);
    for (WireField field; reader.Next(field);) {
      if (field.type != 2) continue;
      if (field.number == 1) items.push_back(ReadItem(field.bytes));
      if (field.number != 2) continue;
      WireReader inner(field.bytes);
      for (WireField number; inner.Next(number);) {
        if (number.number == 1 && number.type == 0) step = static_cast<std::int64_t>(number.integer);
      }
    }
    // A step that the script logs itself is the training step; wandb's own counts calls of log().
    for (const Item& item : items) {
      if (item.key == "_step" && !step) step = StepOf(item.value);
    }
    for (const Item& item : items) {
      if (item.key == "train/global_step" || item.key == "trainer/global_step" || item.key == "global_step") {
        if (const auto own = StepOf(item.value)) step = own;
      }
    }
    for (const Item& item : items) {
      if (absl::StartsWith(item.key, "_")) continue;
      AddValue(step.value_or(0), item);
    }
  }

  static std::optional<std::int64_t> StepOf(absl::string_view value) {
    const auto number = ParseLogNumber(value);
    return number ? WholeLogNumber(*number) : std::nullopt;
  }

  // A number, or an object of numbers: {"loss": 0.5} below "train". What a chart or an image is described by is none.
  void AddValue(std::int64_t step, const Item& item) {
    if (!absl::StartsWith(item.value, "{")) {
      if (const auto value = ParseLogNumber(item.value)) table_.Add(step, item.key, *value);
      return;
    }
    if (absl::StrContains(item.value, "\"_type\"")) return;
    ForEachJsonField(item.value, [&](absl::string_view path, absl::string_view text) {
      const auto value = ParseLogNumber(text);
      if (value) table_.Add(step, absl::StrCat(item.key, ".", path), *value);
    });
  }

  void Config(absl::string_view config) {
    WireReader reader(config);
    for (WireField field; reader.Next(field);) {
      if (field.number != 1 || field.type != 2) continue;
      const Item item = ReadItem(field.bytes);
      if (!absl::StartsWith(item.key, "_wandb")) AddPrintedSetting(settings_, item.key, item.value, 0);
    }
  }

  static void Exit(absl::string_view exit, RunLogBuilder& out) {
    std::int64_t code = 0;
    WireReader reader(exit);
    for (WireField field; reader.Next(field);) {
      if (field.number == 1 && field.type == 0) code = static_cast<std::int64_t>(field.integer);
    }
    out.End(code == 0 ? v1::RunEnd::STATE_FINISHED : v1::RunEnd::STATE_ABORTED, absl::StrCat("exit code ", code), 0);
  }

  SeriesTable table_;
  v1::SettingsDocument settings_;
  std::string pending_;
  std::string record_;
  std::uint64_t offset_ = 0;
  bool stopped_ = false;
};

bool Sniff(const LogHead& head) {
  return head.first && absl::StartsWith(head.raw, kMagic);
}

std::unique_ptr<LogParser> Create(TextEncoding) {
  return std::make_unique<WandbParser>();
}

}  // namespace

extern const LogFormat kWandbLogFormat;
const LogFormat kWandbLogFormat = {"wandb", &Sniff, &Create};

}  // namespace paritect
