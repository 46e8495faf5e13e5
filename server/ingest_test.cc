#include "server/ingest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>

#include "common/digest.h"
#include "storage/fleet_keys.h"
#include "storage/fleet_test_util.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kEpoch = 0xabcdef;

v1::Record PartOf(const std::string& content) {
  v1::Record record;
  record.mutable_part()->set_content(content);
  record.mutable_part()->set_sha256(Sha256(content));
  return record;
}

v1::Record EventOf(const std::string& detail) {
  v1::Record record;
  record.mutable_event()->set_kind("started");
  record.mutable_event()->set_detail(detail);
  return record;
}

v1::Record StepsOf(const std::string& run, int rank, std::int64_t step) {
  v1::Record record;
  record.mutable_steps()->set_run(run);
  record.mutable_steps()->set_rank(rank);
  record.mutable_steps()->add_steps()->set_step(step);
  return record;
}

v1::Record PieceOf(const std::string& task, int index, const std::vector<std::string>& parts) {
  v1::Record record;
  v1::Piece& piece = *record.mutable_piece();
  piece.set_task_id(task);
  piece.set_attempt(4);
  piece.set_index(index);
  std::string whole;
  for (const std::string& part : parts) {
    piece.add_part_sha256(Sha256(part));
    whole += part;
  }
  piece.set_total_bytes(static_cast<std::int64_t>(whole.size()));
  piece.set_sha256(Sha256(whole));
  return record;
}

class BatchMaker {
 public:
  explicit BatchMaker(std::uint64_t first = 1) : next_(first) { batch.set_epoch(kEpoch); }
  BatchMaker& Add(const v1::Record& record) { return AddBytes(record.SerializeAsString()); }
  BatchMaker& AddBytes(const std::string& bytes) {
    v1::Envelope& envelope = *batch.add_envelopes();
    envelope.set_sequence(next_++);
    envelope.set_record(bytes);
    return *this;
  }
  BatchMaker& AddGap(std::uint64_t last, const std::string& reason) {
    v1::Envelope& envelope = *batch.add_envelopes();
    envelope.set_sequence(next_);
    envelope.set_last_sequence(last);
    envelope.set_gap_reason(reason);
    next_ = last + 1;
    return *this;
  }
  v1::Batch batch;

 private:
  std::uint64_t next_;
};

v1::Watermark At(std::uint64_t durable) {
  v1::Watermark watermark;
  watermark.set_durable_sequence(durable);
  return watermark;
}

std::vector<std::string> KeysOf(const WriteSet& set) {
  std::vector<std::string> keys;
  for (const DocumentWrite& one : set.documents) keys.push_back(absl::StrCat(one.collection, " ", one.key));
  return keys;
}

v1::StoredGap GapOf(const WriteSet& set) {
  v1::StoredGap gap;
  for (const DocumentWrite& one : set.documents) {
    EXPECT_TRUE(one.collection != "gap" || gap.ParseFromString(*one.value));
  }
  return gap;
}

TEST(Ingest, EveryKindOfRecordBecomesWhatItIs) {
  v1::Record begin, end;
  begin.mutable_task_begin()->set_task_id("t/1");
  end.mutable_task_end()->set_task_id("t/1");
  end.mutable_task_end()->set_pieces(1);
  BatchMaker maker;
  maker.Add(begin).Add(PartOf("aa")).Add(PartOf("bb")).Add(PieceOf("t/1", 0, {"aa", "bb"})).Add(end);
  maker.Add(EventOf("up")).Add(StepsOf("npu", 3, 10)).Add(StepsOf("npu", 3, 20)).AddGap(12, "spool_full");
  const IngestResult result = *IngestBatch("node7", {}, maker.batch, 1234);
  EXPECT_EQ(result.watermark.durable_sequence(), 12u);
  EXPECT_EQ(result.watermark.lost_records(), 4);
  EXPECT_EQ(result.records, 8);
  EXPECT_EQ(result.lost, 4);
  EXPECT_FALSE(result.resend_from);
  EXPECT_THAT(KeysOf(result.set),
              ElementsAre("piece t%2F1/node7/0000000000abcdef/00000000000000000004/0000000000", "task_end t%2F1/node7",
                          "event node7/0000000000abcdef/00000000000000000006",
                          "gap node7/0000000000abcdef/00000000000000000009", "series npu/0000000003/node7",
                          "watermark node7/0000000000abcdef"));
  EXPECT_THAT(result.set.documents[0].references, ElementsAre(Sha256("aa"), Sha256("bb")));
  ASSERT_EQ(result.ended.size(), 1u);
  EXPECT_EQ(result.ended[0].epoch(), kEpoch);
  v1::StoredSeries series;
  ASSERT_TRUE(series.ParseFromString(*result.set.documents[4].value));
  EXPECT_EQ(series.last_step(), 20);
  EXPECT_EQ(series.last_sequence(), 8u);
  const v1::StoredGap gap = GapOf(result.set);
  EXPECT_EQ(gap.first(), 9u);
  EXPECT_EQ(gap.last(), 12u);
  EXPECT_EQ(gap.reason(), "spool_full");
  EXPECT_FALSE(gap.refused());

  ASSERT_EQ(result.set.batches.size(), 1u);
  const BatchWrite& batch = result.set.batches[0];
  EXPECT_EQ(batch.first_sequence, 1u);
  EXPECT_EQ(batch.last_sequence, 12u);
  EXPECT_EQ(batch.references.size(), 2u);
  v1::Batch stored;
  ASSERT_TRUE(stored.ParseFromString(batch.payload));
  ASSERT_EQ(stored.envelopes_size(), 9);
  v1::Record part;
  ASSERT_TRUE(part.ParseFromString(stored.envelopes(1).record()));
  EXPECT_EQ(part.part().sha256(), Sha256("aa"));
  EXPECT_EQ(part.part().content(), "");
  EXPECT_THAT(result.set.contents, testing::SizeIs(2));
  EXPECT_TRUE(CheckWriteSet(result.set).ok());
}

TEST(Ingest, WhatWasTakenIsSkippedAndAHoleIsAskedFor) {
  BatchMaker maker(3);
  maker.Add(EventOf("3")).Add(EventOf("4")).Add(EventOf("5"));
  const IngestResult all_old = *IngestBatch("n", At(5), maker.batch, 1);
  EXPECT_TRUE(all_old.set.empty());
  EXPECT_EQ(all_old.duplicates, 3);
  EXPECT_EQ(all_old.watermark.durable_sequence(), 5u);
  const IngestResult half = *IngestBatch("n", At(4), maker.batch, 1);
  EXPECT_EQ(half.records, 1);
  EXPECT_EQ(half.set.batches[0].first_sequence, 5u);
  const IngestResult hole = *IngestBatch("n", At(1), maker.batch, 1);
  EXPECT_TRUE(hole.set.empty());
  EXPECT_EQ(hole.resend_from, 2u);

  BatchMaker broken(1);
  broken.Add(EventOf("1")).Add(EventOf("2"));
  broken.batch.mutable_envelopes(1)->set_sequence(9);
  const IngestResult prefix = *IngestBatch("n", {}, broken.batch, 1);
  EXPECT_EQ(prefix.watermark.durable_sequence(), 1u);
  EXPECT_EQ(prefix.resend_from, 2u);
  EXPECT_EQ(prefix.set.batches[0].last_sequence, 1u);
}

TEST(Ingest, AGapThatOverlapsCountsWhatIsNew) {
  BatchMaker maker(3);
  maker.AddGap(10, "");
  const IngestResult result = *IngestBatch("n", At(7), maker.batch, 1);
  EXPECT_EQ(result.lost, 3);
  EXPECT_EQ(GapOf(result.set).first(), 8u);
  EXPECT_EQ(GapOf(result.set).reason(), "unknown");
  EXPECT_EQ(result.set.batches[0].first_sequence, 8u);
  EXPECT_TRUE(CheckWriteSet(result.set).ok());
  EXPECT_TRUE(IngestBatch("n", At(10), maker.batch, 1)->set.empty());

  // The whole range of numbers is no spool's doing, and sums of it would overflow.
  BatchMaker all(1);
  all.AddGap(std::numeric_limits<std::uint64_t>::max(), "spool_recreated");
  const IngestResult huge = *IngestBatch("n", {}, all.batch, 1);
  EXPECT_EQ(huge.refused, 1);
  EXPECT_EQ(huge.watermark.durable_sequence(), 1u);
}

struct BadRecord {
  std::string reason;
  std::string bytes;
};

std::vector<BadRecord> BadRecords() {
  const auto bytes = [](const v1::Record& record) { return record.SerializeAsString(); };
  v1::Record wrong_digest = PartOf("x"), no_digest = PartOf("x"), end, negative_end, nameless_steps, piece_of_none;
  wrong_digest.mutable_part()->set_content("y");
  no_digest.mutable_part()->clear_sha256();
  end.mutable_task_end();
  negative_end.mutable_task_end()->set_task_id("t");
  negative_end.mutable_task_end()->set_pieces(-1);
  nameless_steps.mutable_steps();
  piece_of_none = PieceOf("", 0, {});
  return {{"unparsable", "\xff\xff\xff"},
          {"unparsable", std::string("\x3a\x04\x0a\x02\xff\xfe", 6)},  // an event whose text is no UTF-8
          {"unknown_payload", ""},
          {"unknown_payload", std::string("\xa2\x06\x01x", 4)},  // field 100
          {"digest_differs", bytes(wrong_digest)},
          {"digest_differs", bytes(no_digest)},
          {"part_too_large", bytes(PartOf(std::string(kContentPartBytesMax + 1, 'x')))},
          {"bad_piece", bytes(piece_of_none)},
          {"bad_task_end", bytes(end)},
          {"bad_task_end", bytes(negative_end)},
          {"bad_steps", bytes(nameless_steps)},
          {"name_too_long", bytes(PieceOf(std::string(1000, 't'), 0, {}))},
          {"name_too_long", bytes(StepsOf(std::string(1020, 'r'), 0, 0))}};
}

TEST(Ingest, WhatCannotBeKeptIsRecordedAndPassedOver) {
  for (const BadRecord& bad : BadRecords()) {
    BatchMaker maker;
    maker.Add(EventOf("before")).AddBytes(bad.bytes).Add(EventOf("after"));
    const IngestResult result = *IngestBatch("n", {}, maker.batch, 1);
    EXPECT_EQ(result.watermark.durable_sequence(), 3u) << bad.reason;
    EXPECT_EQ(result.records, 2) << bad.reason;
    EXPECT_EQ(result.refused, 1) << bad.reason;
    EXPECT_EQ(result.watermark.lost_records(), 1) << bad.reason;
    const v1::StoredGap gap = GapOf(result.set);
    EXPECT_EQ(gap.reason(), bad.reason);
    EXPECT_TRUE(gap.refused());
    EXPECT_EQ(gap.first(), 2u);
    EXPECT_NE(gap.detail(), "");
    v1::Batch stored;
    ASSERT_TRUE(stored.ParseFromString(result.set.batches[0].payload));
    EXPECT_EQ(stored.envelopes(1).record(), bad.bytes) << "what came is kept";
    EXPECT_TRUE(CheckWriteSet(result.set).ok()) << bad.reason;
  }
}

TEST(Ingest, AContradictoryGapIsNotBelieved) {
  BatchMaker backwards(5);
  backwards.AddGap(2, "x");
  const IngestResult one = *IngestBatch("n", At(4), backwards.batch, 1);
  EXPECT_EQ(GapOf(one.set).reason(), "bad_gap");
  EXPECT_EQ(one.watermark.durable_sequence(), 5u);
  BatchMaker with_record(5);
  with_record.AddGap(1'000'000, "x");
  with_record.batch.mutable_envelopes(0)->set_record("r");
  EXPECT_EQ(IngestBatch("n", At(4), with_record.batch, 1)->watermark.durable_sequence(), 5u);
}

TEST(Ingest, ARecordWithoutNumberIsRefusedAndMovesNothing) {
  BatchMaker maker(0);
  maker.Add(EventOf("0")).Add(EventOf("1"));
  const IngestResult result = *IngestBatch("n", {}, maker.batch, 1);
  EXPECT_EQ(GapOf(result.set).reason(), "no_sequence");
  EXPECT_EQ(result.watermark.durable_sequence(), 1u);
}

TEST(Ingest, RefusesWhatIsAboveALimit) {
  BatchMaker maker;
  maker.Add(EventOf(std::string(2000, 'x'))).Add(EventOf("2"));
  IngestLimits small;
  small.batch_bytes = 1000;
  EXPECT_EQ(IngestBatch("n", {}, maker.batch, 1, small).status().code(), absl::StatusCode::kResourceExhausted);
  IngestLimits few;
  few.envelopes = 1;
  EXPECT_EQ(IngestBatch("n", {}, maker.batch, 1, few).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(IngestBatch("", {}, maker.batch, 1).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(CheckWriteSet(IngestBatch(std::string(256, '/'), {}, maker.batch, 1)->set).ok());
}

TEST(Ingest, TheNodeIsWhomTheCertificateNames) {
  v1::Record end;
  end.mutable_task_end()->set_task_id("t");
  end.mutable_task_end()->mutable_plan()->set_node("other");
  end.mutable_task_end()->set_epoch(99);
  BatchMaker maker;
  maker.Add(end);
  const IngestResult result = *IngestBatch("a/b", {}, maker.batch, 1);
  EXPECT_THAT(KeysOf(result.set), ElementsAre("task_end t/a%2Fb", "watermark a%2Fb/0000000000abcdef"));
  EXPECT_EQ(result.ended[0].epoch(), kEpoch);
  EXPECT_EQ(result.set.batches[0].node, "a/b");
}

// An agent that resends, reorders, reconnects and loses acknowledgements; two nodes, two epochs. What is stored is what
// was sent, each record once, in order.
TEST(Ingest, WhateverTheWayEveryRecordIsStoredOnce) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    const auto store = *OpenFleetStore("memory:");
    struct Source {
      std::string node;
      std::uint64_t epoch;
      std::uint64_t next = 1;  // what the agent believes the server wants
    };
    Source sources[] = {{"a", 1}, {"a", 2}, {"b", 1}};
    constexpr std::uint64_t kRecords = 120;
    const auto detail = [](const Source& source, std::uint64_t sequence) {
      return absl::StrCat(source.node, source.epoch, ":", sequence);
    };
    const auto watermark_of = [&](const Source& source) {
      v1::Watermark watermark;
      const auto value = *store->Get("watermark", WatermarkKey(source.node, source.epoch));
      EXPECT_TRUE(!value || watermark.ParseFromString(*value));
      return watermark;
    };
    for (int step = 0; step < 100'000; ++step) {
      Source& source = sources[random() % 3];
      if (random() % 5 == 0) source.next = 1 + random() % kRecords;  // a lost acknowledgement, a reordered batch
      if (random() % 4 == 0) source.next = watermark_of(source).durable_sequence() + 1;  // a reconnect
      BatchMaker maker(source.next);
      maker.batch.set_epoch(source.epoch);
      for (std::uint64_t i = 0; i < random() % 9 && source.next <= kRecords; ++i, ++source.next) {
        maker.Add(EventOf(detail(source, source.next)));
      }
      if (random() % 6 == 0 && maker.batch.envelopes_size() > 1) maker.batch.mutable_envelopes()->SwapElements(0, 1);
      const IngestResult result = *IngestBatch(source.node, watermark_of(source), maker.batch, step);
      ASSERT_TRUE(CommitOne(*store, result.set).ok());
      if (result.resend_from) source.next = *result.resend_from;
      bool all = true;
      for (const Source& one : sources) all = all && watermark_of(one).durable_sequence() == kRecords;
      if (all) break;
    }
    std::map<std::string, std::vector<std::string>> sent, stored;
    for (const Source& source : sources) {
      for (std::uint64_t i = 1; i <= kRecords; ++i) {
        sent[absl::StrCat(source.node, source.epoch)].push_back(detail(source, i));
      }
    }
    ASSERT_TRUE(store
                    ->ScanBatches("",
                                  [&](const BatchWrite& write) {
                                    v1::Batch batch;
                                    EXPECT_TRUE(batch.ParseFromString(write.payload));
                                    for (const v1::Envelope& envelope : batch.envelopes()) {
                                      v1::Record record;
                                      EXPECT_TRUE(record.ParseFromString(envelope.record()));
                                      stored[absl::StrCat(write.node, write.epoch)].push_back(record.event().detail());
                                    }
                                    return true;
                                  })
                    .ok());
    EXPECT_EQ(stored, sent) << "seed " << seed;
    EXPECT_EQ(store->Stats()->documents, static_cast<std::int64_t>(3 * kRecords + 3));
  }
}

TEST(IngestBatch, NumbersThatWereNeverGivenAreNoLoss) {
  for (const auto& [reason, lost] :
       {std::pair<const char*, int>{"interrupted", 0}, {"not_written", 0}, {"damaged", 7}, {"dropped_age", 7}}) {
    v1::Batch batch;
    batch.set_epoch(kEpoch);
    v1::Envelope& gap = *batch.add_envelopes();
    gap.set_sequence(1);
    gap.set_last_sequence(7);
    gap.set_gap_reason(reason);
    const auto result = IngestBatch("gpu-01", {}, batch, 1);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->watermark.lost_records(), lost) << reason;
    EXPECT_EQ(result->watermark.durable_sequence(), 7u) << reason;
  }
}

}  // namespace
}  // namespace paritect
