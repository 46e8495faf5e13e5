#include "server/ingest.h"

#include <algorithm>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"
#include "common/digest.h"
#include "common/message_bytes.h"
#include "common/status_macros.h"
#include "google/protobuf/arena.h"
#include "storage/fleet_keys.h"

namespace paritect {
namespace {

constexpr std::size_t kNodeBytesMax = 256;  // written %XX it still fits into a key
constexpr std::size_t kKeyBytesMax = 1024;
// A spool that lost both copies of its state leaps by 2^48; more is no spool's doing.
constexpr std::uint64_t kGapMax = std::uint64_t{1} << 50;
constexpr std::size_t kArenaBytesMax = 64 << 10;

// Saturates: what an agent states must not overflow.
void AddTo(std::int64_t& sum, std::uint64_t more) {
  const auto room = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() - sum);
  sum += static_cast<std::int64_t>(std::min(room, more));
}

// Numbers that an agent's spool reserved and never gave to an accepted record (a kill, a write that failed) are a jump,
// not a loss. An unknown reason counts as one.
bool IsLoss(absl::string_view gap_reason) {
  return gap_reason != "not_written" && gap_reason != "interrupted";
}

// Why a record cannot be kept as what it says; empty reason: it can.
struct Refusal {
  absl::string_view reason;
  std::string detail;
};

class BatchIngest {
 public:
  BatchIngest(absl::string_view node, const v1::Watermark& watermark, const v1::Batch& batch, std::int64_t received,
              const IngestLimits& limits)
      : node_(node),
        batch_(batch),
        received_(received),
        limits_(limits),
        kept_first_(watermark.durable_sequence() + 1) {
    result_.watermark = watermark;
    v1::Batch head;
    head.set_epoch(batch.epoch());
    kept_.reserve(batch.ByteSizeLong() + 16);
    head.AppendToString(&kept_);
    kept_head_bytes_ = kept_.size();
  }

  IngestResult Run() {
    for (const v1::Envelope& envelope : batch_.envelopes()) {
      if (!Take(envelope)) break;
    }
    Finish();
    return std::move(result_);
  }

 private:
  std::uint64_t last() const { return result_.watermark.durable_sequence(); }

  // False: a hole.
  bool Take(const v1::Envelope& envelope) {
    const bool gap = envelope.last_sequence() != 0;
    const std::uint64_t end = gap ? std::max(envelope.sequence(), envelope.last_sequence()) : envelope.sequence();
    if (envelope.sequence() == 0) {
      NoteRefused(0, 0, {"no_sequence", "records are numbered from 1"});
    } else if (end <= last()) {
      ++result_.duplicates;
    } else if (envelope.sequence() > last() + 1) {
      result_.resend_from = last() + 1;
      return false;
    } else if (gap) {
      TakeGap(envelope);
    } else {
      TakeRecord(envelope);
    }
    return true;
  }

  void TakeGap(const v1::Envelope& envelope) {
    const std::uint64_t first = last() + 1;
    if (!envelope.record().empty() || envelope.last_sequence() < envelope.sequence()) {
      // One number is passed over, not the range: a statement that contradicts itself is not believed.
      NoteRefused(first, first, {"bad_gap", "a gap holds no record and ends where it begins or later"});
      Keep(envelope);
      result_.watermark.set_durable_sequence(first);
      return;
    }
    v1::Envelope kept = envelope;
    kept.set_sequence(first);
    Keep(kept);
    if (envelope.last_sequence() - first >= kGapMax) {
      NoteRefused(first, first, {"bad_gap", "a gap of more numbers than a spool can give"});
      result_.watermark.set_durable_sequence(first);
      return;
    }
    v1::StoredGap gap;
    gap.set_first(first);
    gap.set_last(envelope.last_sequence());
    gap.set_reason(envelope.gap_reason().empty() ? "unknown" : envelope.gap_reason());
    gap.set_received_unix_ms(received_);
    Put("gap", SequenceKey(node_, batch_.epoch(), first), gap);
    const std::uint64_t count = envelope.last_sequence() - first + 1;
    if (IsLoss(gap.reason())) {
      AddTo(result_.lost, count);
      AddLost(count);
    }
    result_.watermark.set_durable_sequence(envelope.last_sequence());
  }

  void TakeRecord(const v1::Envelope& envelope) {
    result_.watermark.set_durable_sequence(envelope.sequence());
    if (arena_.SpaceUsed() > kArenaBytesMax) arena_.Reset();
    auto& record = *google::protobuf::Arena::CreateMessage<v1::Record>(&arena_);
    const Refusal refusal = ParseStable(envelope.record(), record)
                                ? TakePayload(envelope.sequence(), record)
                                : Refusal{"unparsable", "its bytes are no record message"};
    if (!refusal.reason.empty()) {
      NoteRefused(envelope.sequence(), envelope.sequence(), refusal);
      return Keep(envelope);
    }
    ++result_.records;
    if (!record.has_part()) return Keep(envelope);
    record.mutable_part()->clear_content();
    v1::Envelope kept;
    kept.set_sequence(envelope.sequence());
    kept.set_record(record.SerializeAsString());
    Keep(kept);
  }

  // Appends to the stored batch. Written by hand because a message of copies would double the work of a batch whose
  // records are kept as they came (nearly all): field 2 of Batch, length-delimited.
  void Keep(const v1::Envelope& envelope) {
    kept_.push_back(static_cast<char>(v1::Batch::kEnvelopesFieldNumber << 3 | 2));
    const std::size_t bytes = envelope.ByteSizeLong();
    std::size_t size = bytes;
    for (; size > 0x7f; size >>= 7) kept_.push_back(static_cast<char>(0x80 | (size & 0x7f)));
    kept_.push_back(static_cast<char>(size));
    kept_.resize(kept_.size() + bytes);
    envelope.SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(&kept_[kept_.size() - bytes]));
  }

  Refusal TakePayload(std::uint64_t sequence, v1::Record& record) {
    switch (record.payload_case()) {
      case v1::Record::kTaskBegin: return {};  // read from the batch, where it is wanted at all
      case v1::Record::kPart: return TakePart(*record.mutable_part());
      case v1::Record::kPiece: return TakePiece(record.piece());
      case v1::Record::kTaskEnd: return TakeTaskEnd(record.task_end());
      case v1::Record::kSteps: return TakeSteps(sequence, record.steps());
      case v1::Record::kEvent: return TakeEvent(sequence, record);
      case v1::Record::PAYLOAD_NOT_SET: break;
    }
    return {"unknown_payload", "a kind of record that this version does not know"};
  }

  Refusal TakePart(v1::ContentPart& part) {
    if (part.content().size() > limits_.part_bytes) {
      return {"part_too_large", absl::StrCat(part.content().size(), " bytes; at most ", limits_.part_bytes)};
    }
    if (Sha256(part.content()) != part.sha256()) return {"digest_differs", "its SHA-256 is not the one it states"};
    if (part.level() < 0 || part.level() > kTreeDepthMax || (part.level() > 0 && !IsTreeNode(part.content()))) {
      return {"bad_node", "a node of a tree that cannot be"};
    }
    references_.push_back(part.sha256());
    result_.set.contents.push_back({part.sha256(), std::move(*part.mutable_content()), part.level()});
    return {};
  }

  Refusal TakePiece(const v1::Piece& piece) {
    if (const absl::Status form = CheckPiece(piece); !form.ok()) return {"bad_piece", std::string(form.message())};
    const std::string key = PieceKey({piece.task_id(), node_, batch_.epoch(), piece.attempt()}, piece.index());
    if (key.size() > kKeyBytesMax) return {"name_too_long", "the task's name"};
    Put("piece", key, piece);
    result_.set.documents.back().references = ReferencesOf(piece);
    return {};
  }

  Refusal TakeTaskEnd(const v1::TaskEnd& stated) {
    if (stated.task_id().empty()) return {"bad_task_end", "it names no task"};
    if (stated.pieces() < 0) return {"bad_task_end", "a negative number of pieces"};
    v1::TaskEnd end = stated;
    end.set_epoch(batch_.epoch());
    const std::string key = TaskEndKey(end.task_id(), node_);
    if (key.size() > kKeyBytesMax) return {"name_too_long", "the task's name"};
    Put("task_end", key, end);
    result_.ended.push_back(std::move(end));
    return {};
  }

  Refusal TakeSteps(std::uint64_t sequence, const v1::StepChunk& chunk) {
    if (chunk.run().empty()) return {"bad_steps", "they name no run"};
    v1::StoredSeries* series = SeriesOf(chunk);
    if (series == nullptr) return {"name_too_long", "the run's name"};
    series->set_last_sequence(sequence);
    if (!chunk.steps().empty()) series->set_last_step(chunk.steps().rbegin()->step());
    if (!chunk.task_id().empty()) result_.steps.push_back(chunk);
    return {};
  }

  // nullptr: its key would be too long. Most batches are of one series: the last one is looked at first.
  v1::StoredSeries* SeriesOf(const v1::StepChunk& chunk) {
    if (series_at_ != nullptr && series_at_->run() == chunk.run() && series_at_->has_rank() == chunk.has_rank() &&
        series_at_->rank() == chunk.rank() && series_at_->source() == chunk.source()) {
      return series_at_;
    }
    const std::optional<std::int32_t> rank = chunk.has_rank() ? std::optional(chunk.rank()) : std::nullopt;
    const std::string key = SeriesKey(chunk.run(), rank, node_);
    if (key.size() > kKeyBytesMax) return nullptr;
    series_at_ = &series_[key];
    series_at_->set_run(chunk.run());
    if (rank) series_at_->set_rank(*rank);
    series_at_->set_node(node_);
    series_at_->set_source(chunk.source());
    series_at_->set_epoch(batch_.epoch());
    series_at_->set_received_unix_ms(received_);
    return series_at_;
  }

  Refusal TakeEvent(std::uint64_t sequence, const v1::Record& record) {
    v1::StoredEvent event;
    *event.mutable_event() = record.event();
    event.set_observed_at_unix_ms(record.observed_at_unix_ms());
    event.set_received_unix_ms(received_);
    Put("event", SequenceKey(node_, batch_.epoch(), sequence), event);
    return {};
  }

  void NoteRefused(std::uint64_t first, std::uint64_t last, const Refusal& refusal) {
    v1::StoredGap gap;
    gap.set_first(first);
    gap.set_last(last);
    gap.set_reason(std::string(refusal.reason));
    gap.set_refused(true);
    gap.set_detail(refusal.detail);
    gap.set_received_unix_ms(received_);
    Put("gap", SequenceKey(node_, batch_.epoch(), first), gap);
    ++result_.refused;
    if (first != 0) AddLost(1);
  }

  void AddLost(std::uint64_t count) {
    std::int64_t lost = result_.watermark.lost_records();
    AddTo(lost, count);
    result_.watermark.set_lost_records(lost);
  }

  void Put(absl::string_view collection, std::string key, google::protobuf::Message& message) {
    result_.set.documents.push_back({std::string(collection), std::move(key), SerializeStable(message), {}});
  }
  void Put(absl::string_view collection, std::string key, const v1::Piece& piece) {
    // As it was parsed: its texts are UTF-8 and it has no map.
    result_.set.documents.push_back({std::string(collection), std::move(key), piece.SerializeAsString(), {}});
  }

  void Finish() {
    for (auto& [key, series] : series_) Put("series", key, series);
    if (kept_.size() == kept_head_bytes_) return;
    BatchWrite& write = result_.set.batches.emplace_back();
    write.node = node_;
    write.epoch = batch_.epoch();
    write.first_sequence = kept_first_;
    write.last_sequence = last();
    write.received_unix_ms = received_;
    write.payload = std::move(kept_);
    std::sort(references_.begin(), references_.end());
    references_.erase(std::unique(references_.begin(), references_.end()), references_.end());
    write.references = std::move(references_);
    if (result_.watermark.first_seen_unix_ms() == 0) result_.watermark.set_first_seen_unix_ms(received_);
    Put("watermark", WatermarkKey(node_, batch_.epoch()), result_.watermark);
  }

  const std::string node_;
  const v1::Batch& batch_;
  const std::int64_t received_;
  const IngestLimits& limits_;
  const std::uint64_t kept_first_;
  google::protobuf::Arena arena_;  // of the records that are being looked at: one allocation for many of them
  std::string kept_;               // a serialized Batch: the fields before its envelopes, and these
  std::size_t kept_head_bytes_ = 0;
  std::vector<std::string> references_;
  std::map<std::string, v1::StoredSeries> series_;  // by key: one document, however many chunks the batch has
  v1::StoredSeries* series_at_ = nullptr;           // in series_
  IngestResult result_;
};

}  // namespace

absl::StatusOr<IngestResult> IngestBatch(absl::string_view node, const v1::Watermark& watermark, const v1::Batch& batch,
                                         std::int64_t received_unix_ms, const IngestLimits& limits) {
  if (node.empty() || node.size() > kNodeBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("a node name of ", node.size(), " bytes"));
  }
  if (batch.envelopes_size() > limits.envelopes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a batch of ", batch.envelopes_size(), " records; at most ", limits.envelopes));
  }
  if (const std::size_t bytes = batch.ByteSizeLong(); bytes > limits.batch_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("a batch of ", bytes, " bytes; at most ", limits.batch_bytes));
  }
  return BatchIngest(node, watermark, batch, received_unix_ms, limits).Run();
}

}  // namespace paritect
