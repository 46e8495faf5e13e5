#include "server/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "absl/synchronization/notification.h"
#include "storage/fleet_test_util.h"

namespace paritect {
namespace {

// Counts commits, refuses what holds a document of the collection "bad", and stands still while told to.
class WatchedStore : public FleetStore {
 public:
  absl::Status Commit(absl::Span<const WriteSet* const> sets) override {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&open_));
    groups.push_back(sets.size());
    if (full) return absl::ResourceExhaustedError("the disk is full");
    for (const WriteSet* set : sets) {
      for (const DocumentWrite& one : set->documents) {
        if (one.collection == "bad") return absl::InvalidArgumentError("a bad set");
      }
    }
    return inner_->Commit(sets);
  }
  void SetOpen(bool open) {
    absl::MutexLock lock(&mutex_);
    open_ = open;
  }
  absl::StatusOr<std::optional<std::string>> Get(absl::string_view collection, absl::string_view key) override {
    return inner_->Get(collection, key);
  }
  absl::Status Scan(absl::string_view, absl::string_view, absl::string_view,
                    absl::FunctionRef<bool(absl::string_view, absl::string_view)>) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<std::string> Content(absl::string_view) override { return absl::UnimplementedError(""); }
  absl::StatusOr<bool> HasContent(absl::string_view) override { return absl::UnimplementedError(""); }
  absl::StatusOr<bool> HasNode(absl::string_view, int) override { return absl::UnimplementedError(""); }
  absl::Status ScanBatches(absl::string_view, absl::FunctionRef<bool(const BatchWrite&)>) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<std::int64_t> DropBatches(std::int64_t) override { return absl::UnimplementedError(""); }
  absl::StatusOr<std::vector<v1::AuditLogEntry>> ReadLog(std::int64_t, int) override {
    return absl::UnimplementedError("");
  }
  absl::Status Backup(absl::string_view) override { return absl::UnimplementedError(""); }
  absl::StatusOr<std::vector<std::string>> Verify(absl::FunctionRef<bool()>) override {
    return absl::UnimplementedError("");
  }
  absl::Status Compact() override { return absl::UnimplementedError(""); }
  absl::Status Maintain() override {
    ++maintained;
    return absl::OkStatus();
  }
  absl::StatusOr<FleetStoreStats> Stats() override { return inner_->Stats(); }

  std::vector<std::size_t> groups;
  std::atomic<bool> full = false;
  std::atomic<int> maintained = 0;

 private:
  std::unique_ptr<FleetStore> inner_ = *OpenFleetStore("memory:");
  absl::Mutex mutex_;
  bool open_ = true;
};

WriteSet One(const std::string& key, const std::string& collection = "good", std::size_t bytes = 1) {
  return Documents({{collection, key, std::string(bytes, 'x')}});
}

TEST(Writer, ASynchronousSubmitReturnsWhenItIsWritten) {
  WatchedStore store;
  Writer writer(store);
  ASSERT_TRUE(writer.Submit(One("a")).ok());
  EXPECT_TRUE(*store.Get("good", "a"));
  EXPECT_EQ(writer.Submit(One("b", "bad")).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(writer.stats().commits, 1);
  EXPECT_EQ(writer.stats().failed_sets, 1);
  EXPECT_EQ(writer.stats().last_failure.message(), "a bad set");
}

TEST(Writer, WhatGathersSharesACommitAndIsAnsweredInOrder) {
  WatchedStore store;
  std::vector<int> answered;
  {
    Writer writer(store);
    store.SetOpen(false);
    for (int i = 0; i < 100; ++i) {
      writer.Submit(One(absl::StrCat(i)), [&answered, i](absl::Status status) {
        EXPECT_TRUE(status.ok());
        answered.push_back(i);
      });
    }
    store.SetOpen(true);
    writer.Stop();
    EXPECT_EQ(writer.stats().sets, 100);
    EXPECT_EQ(writer.stats().queued_bytes, 0);
    EXPECT_EQ(writer.stats().answer_latency.count(), 100);
  }
  EXPECT_LE(store.groups.size(), 5u);
  ASSERT_EQ(answered.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(answered[static_cast<std::size_t>(i)], i);
}

TEST(Writer, ABadSetDoesNotTakeTheOthersWithIt) {
  WatchedStore store;
  Writer writer(store);
  store.SetOpen(false);
  std::atomic<int> good = 0, bad = 0;
  for (int i = 0; i < 20; ++i) {
    writer.Submit(One(absl::StrCat(i), i % 7 == 3 ? "bad" : "good"), [&, i](absl::Status status) {
      EXPECT_EQ(status.ok(), i % 7 != 3);
      ++(status.ok() ? good : bad);
    });
  }
  store.SetOpen(true);
  writer.Stop();
  EXPECT_EQ(good, 17);
  EXPECT_EQ(bad, 3);
  EXPECT_EQ(store.Stats()->documents, 17);
}

TEST(Writer, TheBudgetOfBytesIsKept) {
  WatchedStore store;
  WriterOptions options;
  options.bytes_in_flight_max = 10'000;
  Writer writer(store, options);
  store.SetOpen(false);
  int accepted = 0;
  absl::Status status;
  while (status.ok()) {
    status = writer.TrySubmit(One(absl::StrCat(accepted), "good", 1000), [](absl::Status) {});
    if (status.ok()) ++accepted;
    ASSERT_LT(accepted, 100);
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_GT(accepted, 5);
  EXPECT_LT(accepted, 11);
  EXPECT_LE(writer.stats().queued_bytes, 10'000);
  EXPECT_EQ(writer.stats().refused, 1);
  EXPECT_GE(writer.RetryAfter(), absl::Milliseconds(50));
  EXPECT_LE(writer.RetryAfter(), absl::Seconds(5));
  // The waiting form gets its turn once there is room; one above the whole budget too.
  store.SetOpen(true);
  EXPECT_TRUE(writer.Submit(One("large", "good", 50'000)).ok());
  EXPECT_TRUE(writer.Submit(One("after")).ok());
}

TEST(Writer, AFullDiskIsSaidAndPasses) {
  WatchedStore store;
  Writer writer(store);
  store.full = true;
  EXPECT_EQ(writer.Submit(One("a")).code(), absl::StatusCode::kResourceExhausted);
  store.full = false;
  EXPECT_TRUE(writer.Submit(One("a")).ok());
}

TEST(Writer, StopDrainsAndThenRefuses) {
  WatchedStore store;
  Writer writer(store);
  std::atomic<int> answered = 0;
  for (int i = 0; i < 50; ++i) {
    writer.Submit(One(absl::StrCat(i)), [&](absl::Status status) { answered += status.ok() ? 1 : 0; });
  }
  writer.Stop();
  writer.Stop();
  EXPECT_EQ(answered, 50);
  EXPECT_EQ(writer.Submit(One("late")).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(writer.TrySubmit(One("late"), [](absl::Status) {}).code(), absl::StatusCode::kCancelled);
  bool told = false;
  writer.Submit(One("late"), [&](absl::Status status) { told = absl::IsCancelled(status); });
  EXPECT_TRUE(told);
}

TEST(Writer, KeepsHouseWhenIdle) {
  WatchedStore store;
  WriterOptions options;
  options.idle = absl::Milliseconds(5);
  Writer writer(store, options);
  for (int i = 0; i < 1000 && store.maintained == 0; ++i) absl::SleepFor(absl::Milliseconds(5));
  EXPECT_GT(store.maintained, 0);
}

TEST(Writer, ManyThreadsOverOneFile) {
  const auto store = *OpenFleetStore(absl::StrCat("sqlite:", NewStorePath("writer")));
  Writer writer(*store);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) ASSERT_TRUE(writer.Submit(One(absl::StrCat(t, "/", i))).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store->Stats()->documents, 160);
  EXPECT_LT(writer.stats().commits, 160) << "commits are shared";
}

TEST(LatencyHistogram, QuantilesAreUpperBounds) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.Quantile(0.5), absl::ZeroDuration());
  for (int i = 0; i < 99; ++i) histogram.Add(absl::Microseconds(100));
  histogram.Add(absl::Milliseconds(50));
  EXPECT_EQ(histogram.Quantile(0.5), absl::Microseconds(128));
  EXPECT_EQ(histogram.Quantile(0.99), absl::Microseconds(128));
  EXPECT_GE(histogram.Quantile(1), absl::Milliseconds(50));
  EXPECT_LE(histogram.Quantile(1), absl::Milliseconds(100));
}

}  // namespace
}  // namespace paritect
