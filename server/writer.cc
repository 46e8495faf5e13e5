#include "server/writer.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"

namespace paritect {
namespace {

constexpr std::size_t kRowBytes = 64;

}  // namespace

std::size_t WriteSetBytes(const WriteSet& set) {
  std::size_t bytes = kRowBytes;
  for (const DocumentWrite& one : set.documents) {
    bytes += kRowBytes + one.key.size() + (one.value ? one.value->size() : 0) + one.references.size() * kRowBytes;
  }
  for (const ContentWrite& one : set.contents) bytes += kRowBytes + one.bytes.size();
  for (const BatchWrite& one : set.batches) {
    bytes += kRowBytes + one.payload.size() + one.references.size() * kRowBytes;
  }
  for (const v1::AuditLogEntry& one : set.log) bytes += kRowBytes + one.ByteSizeLong();
  return bytes;
}

void LatencyHistogram::Add(absl::Duration latency) {
  const std::int64_t us = std::max<std::int64_t>(absl::ToInt64Microseconds(latency), 0);
  const auto bucket = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(us)));
  ++buckets[std::min(bucket, buckets.size() - 1)];
  sum += latency;
}

std::int64_t LatencyHistogram::count() const {
  std::int64_t all = 0;
  for (const std::int64_t one : buckets) all += one;
  return all;
}

absl::Duration LatencyHistogram::Quantile(double quantile) const {
  const std::int64_t all = count();
  const auto wanted = static_cast<std::int64_t>(std::ceil(quantile * static_cast<double>(all)));
  std::int64_t seen = 0;
  for (std::size_t i = 0; i < buckets.size() && all > 0; ++i) {
    seen += buckets[i];
    if (seen >= std::max<std::int64_t>(wanted, 1)) return absl::Microseconds(std::int64_t{1} << i);
  }
  return absl::ZeroDuration();
}

Writer::Writer(FleetStore& store, WriterOptions options)
    : store_(store), options_(options), thread_([this] { Loop(); }) {}

Writer::~Writer() {
  Stop();
}

// An empty flight takes anything: a set above the whole budget must not wait for ever.
bool Writer::Fits(std::size_t bytes) const {
  return in_flight_bytes_ == 0 || in_flight_bytes_ + bytes <= options_.bytes_in_flight_max;
}

void Writer::Enqueue(Entry entry) {
  in_flight_bytes_ += entry.bytes;
  queue_bytes_ += entry.bytes;
  if (entry.urgent) ++urgent_;
  queue_.push_back(std::move(entry));
}

void Writer::Submit(WriteSet set, Done done) {
  const std::size_t bytes = WriteSetBytes(set);
  {
    absl::MutexLock lock(&mutex_);
    const auto room = [this, bytes]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || Fits(bytes); };
    mutex_.Await(absl::Condition(&room));
    if (!stopping_) return Enqueue({std::move(set), std::move(done), bytes, absl::Now(), false});
  }
  done(absl::CancelledError("the server is stopping"));
}

absl::Status Writer::TrySubmit(WriteSet set, Done done) {
  const std::size_t bytes = WriteSetBytes(set);
  absl::MutexLock lock(&mutex_);
  if (stopping_) return absl::CancelledError("the server is stopping");
  if (!Fits(bytes)) {
    ++stats_.refused;
    return absl::ResourceExhaustedError(
        absl::StrCat(in_flight_bytes_, " bytes wait to be written; at most ", options_.bytes_in_flight_max));
  }
  Enqueue({std::move(set), std::move(done), bytes, absl::Now(), false});
  return absl::OkStatus();
}

absl::Status Writer::Submit(WriteSet set) {
  absl::Notification answered;
  absl::Status result;
  const std::size_t bytes = WriteSetBytes(set);
  {
    absl::MutexLock lock(&mutex_);
    const auto room = [this, bytes]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || Fits(bytes); };
    mutex_.Await(absl::Condition(&room));
    if (stopping_) return absl::CancelledError("the server is stopping");
    const auto done = [&answered, &result](absl::Status status) {
      result = std::move(status);
      answered.Notify();
    };
    Enqueue({std::move(set), done, bytes, absl::Now(), true});
  }
  answered.WaitForNotification();
  return result;
}

absl::Duration Writer::RetryAfter() const {
  absl::MutexLock lock(&mutex_);
  const auto groups = static_cast<double>(in_flight_bytes_) / static_cast<double>(options_.group_bytes_max);
  return std::clamp(groups * stats_.last_commit, absl::Milliseconds(50), absl::Seconds(5));
}

void Writer::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  absl::MutexLock lock(&join_mutex_);
  if (thread_.joinable()) thread_.join();
}

WriterStats Writer::stats() const {
  absl::MutexLock lock(&mutex_);
  WriterStats stats = stats_;
  stats.queued_sets = static_cast<std::int64_t>(queue_.size());
  stats.queued_bytes = static_cast<std::int64_t>(in_flight_bytes_);
  return stats;
}

bool Writer::GroupIsReady() const {
  return stopping_ || urgent_ > 0 || queue_bytes_ >= options_.group_bytes_max ||
         queue_.size() >= options_.group_sets_max;
}

void Writer::Loop() {
  std::vector<Entry> group;
  while (NextGroup(group)) {
    if (group.empty()) {
      // Its failure is no news: what it would have done is done later, and a full disk shows in the next commit.
      (void)store_.Maintain();
      continue;
    }
    Answer(group, CommitGroup(group));
  }
}

// False: stopped and drained. An empty group: nothing came for a while.
bool Writer::NextGroup(std::vector<Entry>& group) {
  group.clear();
  absl::MutexLock lock(&mutex_);
  if (queue_.empty()) {
    const auto work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || !queue_.empty(); };
    if (!mutex_.AwaitWithTimeout(absl::Condition(&work), options_.idle)) return true;
    if (queue_.empty()) return false;
    mutex_.AwaitWithTimeout(absl::Condition(this, &Writer::GroupIsReady), options_.gather);
  }
  std::size_t bytes = 0;
  while (!queue_.empty() && group.size() < options_.group_sets_max) {
    Entry& next = queue_.front();
    if (!group.empty() && bytes + next.bytes > options_.group_bytes_max) break;
    bytes += next.bytes;
    if (next.urgent) --urgent_;
    group.push_back(std::move(next));
    queue_.pop_front();
  }
  queue_bytes_ -= bytes;
  return true;
}

absl::Status Writer::CommitOnce(const std::vector<const WriteSet*>& sets, std::int64_t bytes) {
  const absl::Time begin = absl::Now();
  absl::Status status = store_.Commit(sets);
  const absl::Duration took = absl::Now() - begin;
  absl::MutexLock lock(&mutex_);
  stats_.last_commit = took;
  stats_.newest = status;
  if (status.ok()) {
    ++stats_.commits;
    stats_.sets += static_cast<std::int64_t>(sets.size());
    stats_.bytes += bytes;
    stats_.commit_latency.Add(took);
  } else {
    ++stats_.failed_commits;
    stats_.last_failure = status;
  }
  return status;
}

// One that cannot be written must not take the others with it: then each is tried alone.
std::vector<absl::Status> Writer::CommitGroup(const std::vector<Entry>& group) {
  std::vector<const WriteSet*> sets;
  std::int64_t bytes = 0;
  for (const Entry& entry : group) {
    sets.push_back(&entry.set);
    bytes += static_cast<std::int64_t>(entry.bytes);
  }
  std::vector<absl::Status> results(group.size(), CommitOnce(sets, bytes));
  if (results.front().ok() || group.size() == 1) return results;
  for (std::size_t i = 0; i < group.size(); ++i) {
    results[i] = CommitOnce({&group[i].set}, static_cast<std::int64_t>(group[i].bytes));
  }
  return results;
}

void Writer::Answer(std::vector<Entry>& group, const std::vector<absl::Status>& results) {
  const absl::Time now = absl::Now();
  std::size_t bytes = 0;
  {
    absl::MutexLock lock(&mutex_);
    for (std::size_t i = 0; i < group.size(); ++i) {
      bytes += group[i].bytes;
      stats_.answer_latency.Add(now - group[i].submitted);
      if (!results[i].ok()) ++stats_.failed_sets;
    }
  }
  for (std::size_t i = 0; i < group.size(); ++i) group[i].done(results[i]);
  // After `done`: until then the caller still holds what it will answer.
  absl::MutexLock lock(&mutex_);
  in_flight_bytes_ -= bytes;
}

}  // namespace paritect
