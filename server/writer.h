// The server's one door to durability: any thread hands over what is to be written, one thread commits what has
// gathered in one transaction (group commit), and says so.
//
// A commit costs a flush of the disk (milliseconds) whatever its size; what arrives while one runs shares the next.
#ifndef PARITECT_SERVER_WRITER_H_
#define PARITECT_SERVER_WRITER_H_

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "storage/fleet_store.h"

namespace paritect {

struct WriterOptions {
  std::size_t bytes_in_flight_max = 256u << 20;  // submitted and not answered yet
  std::size_t group_bytes_max = 8u << 20;
  std::size_t group_sets_max = 2000;
  // How long the first of a group waits for others, where nobody stands still for it (the synchronous form ends the
  // wait) and the group is not full. A group that gathered while the one before was committed does not wait.
  absl::Duration gather = absl::Milliseconds(5);
  absl::Duration idle = absl::Seconds(1);  // then the store may keep house
};

// Latencies in powers of two of a microsecond: bucket i holds those below 2^i.
struct LatencyHistogram {
  std::array<std::int64_t, 40> buckets = {};
  absl::Duration sum;

  void Add(absl::Duration latency);
  std::int64_t count() const;
  // An upper bound of the quantile (0..1), at most a factor two above it; zero: nothing was counted.
  absl::Duration Quantile(double quantile) const;
};

struct WriterStats {
  std::int64_t commits = 0;  // transactions that succeeded
  std::int64_t sets = 0;     // write sets in them
  std::int64_t bytes = 0;    // of those sets
  std::int64_t failed_sets = 0;
  std::int64_t failed_commits = 0;
  std::int64_t refused = 0;       // by TrySubmit, for want of room
  std::int64_t queued_sets = 0;   // now
  std::int64_t queued_bytes = 0;  // now, those being committed included
  absl::Duration last_commit;
  LatencyHistogram commit_latency;  // of one transaction
  LatencyHistogram answer_latency;  // from submission to `done`
  absl::Status last_failure;        // the newest; OK: none yet
  absl::Status newest;              // what the newest transaction ended with
};

// Thread-safe. The store must outlive it. Others may read it and keep house in it; what they commit themselves is right
// too, but shares no flush.
class Writer {
 public:
  // Called by the writer's thread in the order of submission, after the commit; it must not block and not call the
  // synchronous Submit. A status that is not OK means that nothing of the set was written.
  using Done = std::function<void(absl::Status)>;

  explicit Writer(FleetStore& store, WriterOptions options = {});
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer();  // Stop()

  // Waits for room. After Stop: `done` is called at once, with Cancelled.
  void Submit(WriteSet set, Done done);
  // ResourceExhausted: no room, `done` will not be called; try again after RetryAfter(). Cancelled: after Stop.
  absl::Status TrySubmit(WriteSet set, Done done);
  // Returns when the set is durable or refused.
  absl::Status Submit(WriteSet set);

  // How long what is in flight will take at the present speed; between 50 ms and 5 s.
  absl::Duration RetryAfter() const;

  // Commits what was submitted, then refuses what comes. Idempotent.
  void Stop();
  WriterStats stats() const;

 private:
  struct Entry {
    WriteSet set;
    Done done;
    std::size_t bytes = 0;
    absl::Time submitted;
    bool urgent = false;
  };

  bool Fits(std::size_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Enqueue(Entry entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool GroupIsReady() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Loop();
  bool NextGroup(std::vector<Entry>& group);
  std::vector<absl::Status> CommitGroup(const std::vector<Entry>& group);
  absl::Status CommitOnce(const std::vector<const WriteSet*>& sets, std::int64_t bytes);
  void Answer(std::vector<Entry>& group, const std::vector<absl::Status>& results);

  FleetStore& store_;
  const WriterOptions options_;

  mutable absl::Mutex mutex_;
  std::deque<Entry> queue_ ABSL_GUARDED_BY(mutex_);
  std::size_t queue_bytes_ ABSL_GUARDED_BY(mutex_) = 0;      // of queue_
  std::size_t in_flight_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // queue_ and the group being committed
  std::size_t urgent_ ABSL_GUARDED_BY(mutex_) = 0;           // entries of queue_ that somebody stands still for
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  WriterStats stats_ ABSL_GUARDED_BY(mutex_);

  absl::Mutex join_mutex_;
  std::thread thread_ ABSL_GUARDED_BY(join_mutex_);
};

// What a set counts in the budget: its bytes and what its rows cost beside them.
std::size_t WriteSetBytes(const WriteSet& set);

}  // namespace paritect

#endif  // PARITECT_SERVER_WRITER_H_
