// TensorBoard event files: TFRecord frames of Event messages.
//   frame: u64le length | u32le masked CRC-32C of it | payload | u32le masked CRC-32C of the payload
//   Event: 2 step, 3 file_version, 5 summary{1 value{1 tag, 2 simple_value, 8 tensor}}, 7 session_log
// A frame that is cut off is normal for a file that is still written; a wrong checksum ends the reading, with a note.
// Source: tensorflow/core/util/event.proto, tensorflow/core/lib/io/record_writer.h.
#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/crc.h"
#include "common/little_endian.h"
#include "formats/logs/log_format.h"
#include "formats/logs/machinery/series_table.h"
#include "formats/logs/machinery/wire.h"

namespace paritect {
namespace {

constexpr std::size_t kHeaderBytes = 12;
constexpr std::size_t kFooterBytes = 4;
constexpr std::uint64_t kEventBytesMax = 1ULL << 30;
constexpr std::uint64_t kEventKeptBytesMax =
    4 << 20;  // scalars are small; larger events (images, graphs) are passed over

// The number of T's width at `at`.
template <typename T>
T Little(absl::string_view bytes, std::size_t at) {
  return static_cast<T>(LittleEndian(bytes, at, sizeof(T)));
}

double Bits16(std::uint32_t bits, bool bfloat) {
  if (bfloat) {
    const std::uint32_t wide = bits << 16;
    float value = 0;
    std::memcpy(&value, &wide, sizeof(value));
    return value;
  }
  const int exponent = static_cast<int>((bits >> 10) & 31);
  const double mantissa = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31)
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * mantissa * 0x1p-24;
  double value = sign * (1 + mantissa / 1024);
  for (int e = exponent; e < 15; ++e) value /= 2;
  for (int e = 15; e < exponent; ++e) value *= 2;
  return value;
}

// TensorProto.dtype: 1 float, 2 double, 3 int32, 9 int64, 14 bfloat16, 19 half.
std::optional<double> ContentValue(int dtype, absl::string_view content) {
  switch (dtype) {
    case 1: {
      if (content.size() != 4) return std::nullopt;
      WireField field;
      field.integer = Little<std::uint32_t>(content, 0);
      return field.AsFloat();
    }
    case 2: {
      if (content.size() != 8) return std::nullopt;
      WireField field;
      field.integer = Little<std::uint64_t>(content, 0);
      return field.AsDouble();
    }
    case 3:
      return content.size() == 4 ? std::optional<double>(static_cast<std::int32_t>(Little<std::uint32_t>(content, 0)))
                                 : std::nullopt;
    case 9:
      return content.size() == 8 ? std::optional<double>(static_cast<double>(
                                       static_cast<std::int64_t>(Little<std::uint64_t>(content, 0))))
                                 : std::nullopt;
    case 14:
    case 19:
      return content.size() == 2 ? std::optional<double>(Bits16(Little<std::uint16_t>(content, 0), dtype == 14))
                                 : std::nullopt;
    default: return std::nullopt;
  }
}

std::optional<double> TensorValue(absl::string_view tensor) {
  int dtype = 0;
  std::optional<double> value;
  absl::string_view content;
  WireReader reader(tensor);
  for (WireField field; reader.Next(field);) {
    if (field.number == 1) dtype = static_cast<int>(field.integer);
    if (field.number == 4) content = field.bytes;
    if (field.number == 5) {  // float_val, packed or not
      if (field.type == 5) value = field.AsFloat();
      if (field.type == 2) value = ContentValue(1, field.bytes);
    }
    if (field.number == 6) {
      if (field.type == 1) value = field.AsDouble();
      if (field.type == 2) value = ContentValue(2, field.bytes);
    }
    if ((field.number == 7 || field.number == 10) && field.type == 0)
      value = static_cast<double>(static_cast<std::int64_t>(field.integer));
  }
  if (!content.empty()) return ContentValue(dtype, content);
  return value;
}

// SessionLog: 1 status, whose value 1 is START.
bool IsSessionStart(absl::string_view session) {
  WireReader reader(session);
  for (WireField field; reader.Next(field);) {
    if (field.number == 1 && field.type == 0) return field.integer == 1;
  }
  return false;
}

class TensorBoardParser : public LogParser {
 public:
  absl::Status Feed(absl::string_view chunk, RunLogBuilder& out) override {
    while (!chunk.empty() && !stopped_) {
      if (skip_ > 0) {
        const std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(skip_, chunk.size()));
        skip_ -= n;
        offset_ += n;
        chunk.remove_prefix(n);
        continue;
      }
      pending_.append(chunk.data(), chunk.size());
      chunk = {};
      Frames(out);
    }
    return absl::OkStatus();
  }

  absl::Status Finish(RunLogBuilder& out) override {
    if (!pending_.empty() || skip_ > 0) out.set_incomplete_tail();
    if (restarts_ > 0)
      out.AddNote("resumed", 0, absl::StrCat("steps go back ", restarts_, " times; the later values count"));
    table_.Finish(out);
    if (samples_axis_) out.AddNote("axis_is_samples", 0, "tags of DeepSpeed count samples, not steps");
    return absl::OkStatus();
  }

  void HandOver(RunLogBuilder& out) override { table_.Finish(out); }

  void StartNewFile() override {
    pending_.clear();
    skip_ = 0;
    offset_ = 0;
    stopped_ = false;
  }

 private:
  void Frames(RunLogBuilder& out) {
    std::size_t at = 0;
    const absl::string_view all = pending_;
    while (all.size() - at >= kHeaderBytes) {
      const auto length = Little<std::uint64_t>(all, at);
      if (MaskedCrc32c(all.substr(at, 8)) != Little<std::uint32_t>(all, at + 8) || length > kEventBytesMax) {
        return Stop(offset_ + at, out);
      }
      if (length > kEventKeptBytesMax) {
        skip_ = length + kHeaderBytes + kFooterBytes;
        const std::uint64_t here = std::min<std::uint64_t>(skip_, all.size() - at);
        skip_ -= here;
        at += static_cast<std::size_t>(here);
        continue;
      }
      const auto size = static_cast<std::size_t>(length);
      if (all.size() - at < kHeaderBytes + size + kFooterBytes) break;
      const absl::string_view payload = all.substr(at + kHeaderBytes, size);
      if (MaskedCrc32c(payload) != Little<std::uint32_t>(all, at + kHeaderBytes + size)) return Stop(offset_ + at, out);
      Event(payload);
      at += kHeaderBytes + size + kFooterBytes;
    }
    offset_ += at;
    pending_.erase(0, at);
  }

  void Stop(std::uint64_t offset, RunLogBuilder& out) {
    stopped_ = true;
    pending_.clear();
    out.AddNote("damaged", 0, absl::StrCat("a wrong checksum at byte ", offset, "; what stands behind it is not read"));
  }

  void Event(absl::string_view event) {
    std::int64_t step = 0;
    absl::string_view summary;
    absl::string_view session;
    WireReader reader(event);
    for (WireField field; reader.Next(field);) {
      if (field.number == 2 && field.type == 0) step = static_cast<std::int64_t>(field.integer);
      if (field.number == 5 && field.type == 2) summary = field.bytes;
      if (field.number == 7 && field.type == 2) session = field.bytes;
    }
    if (IsSessionStart(session) && step > 0) {
      // The run goes on from `step`: what was written behind it is void.
      table_.DropFrom(step);
      ++restarts_;
    }
    if (summary.empty()) return;
    WireReader values(summary);
    for (WireField field; values.Next(field);) {
      if (field.number == 1 && field.type == 2) Value(step, field.bytes);
    }
  }

  void Value(std::int64_t step, absl::string_view value) {
    absl::string_view tag;
    std::optional<double> number;
    WireReader reader(value);
    for (WireField field; reader.Next(field);) {
      if (field.number == 1 && field.type == 2) tag = field.bytes;
      if (field.number == 2 && field.type == 5) number = field.AsFloat();
      if (field.number == 8 && field.type == 2) number = TensorValue(field.bytes);
    }
    // Megatron and MindFormers write every scalar a second time over samples.
    if (!number || absl::EndsWith(tag, " vs samples") || absl::EndsWith(tag, " vs steps")) return;
    samples_axis_ = samples_axis_ || absl::StartsWith(tag, "Train/Samples/");
    if (table_.Add(step, tag, *number)) ++restarts_;
  }

  SeriesTable table_;
  std::string pending_;
  std::uint64_t skip_ = 0;
  std::uint64_t offset_ = 0;
  int restarts_ = 0;
  bool stopped_ = false;
  bool samples_axis_ = false;
};

// The first frame of every event file holds the file version.
bool Sniff(const LogHead& head) {
  if (!head.first || head.raw.size() < kHeaderBytes) return false;
  const auto length = Little<std::uint64_t>(head.raw, 0);
  return length > 0 && length < kEventBytesMax &&
         MaskedCrc32c(head.raw.substr(0, 8)) == Little<std::uint32_t>(head.raw, 8) &&
         absl::StrContains(head.raw.substr(0, 256), "brain.Event:");
}

std::unique_ptr<LogParser> Create(TextEncoding) {
  return std::make_unique<TensorBoardParser>();
}

}  // namespace

extern const LogFormat kTensorBoardLogFormat;
const LogFormat kTensorBoardLogFormat = {"tensorboard", &Sniff, &Create};

}  // namespace paritect
