// Durable records per second of the server's write path, beside what SQLite takes of the same bytes in the same run.
//
//   ingest_bench [FOLDER [ROUNDS]]     FOLDER: on the disk to be measured (not a tmpfs); default: the current one
//
// Path: IngestBatch (500 records of about 200 bytes: one step each) by two threads for 256 nodes, each with one batch
// on its way, as sessions have; Writer; SQLite with synchronous=FULL. Limit: the same batches as blobs into a table
// with a row number, 8 MiB a transaction, the same settings. Rounds alternate, so that both see the same disk.
// On a machine that others use, wall time is what they leave (three threads share what one had): the ratio by CPU of
// the committing thread says what is left where the other core takes the rest.
#include <ctime>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "server/ingest.h"
#include "server/writer.h"
#include "storage/sqlite.h"

namespace paritect {
namespace {

constexpr int kNodes = 256;
constexpr int kThreads = 2;
constexpr int kBatchesPerNode = 4;
constexpr int kRecordsPerBatch = 500;
constexpr std::int64_t kRecords = std::int64_t{kNodes} * kBatchesPerNode * kRecordsPerBatch;
constexpr std::size_t kRawTransactionBytes = 8u << 20;

void Require(const absl::Status& status, const char* what) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s: %s\n", what, status.ToString().c_str());
  std::exit(1);
}

std::string StepRecordBytes(int node, std::int64_t step) {
  v1::Record record;
  record.set_observed_at_unix_ms(1'790'000'000'000 + step);
  v1::StepChunk& chunk = *record.mutable_steps();
  chunk.set_run("resnet50-npu-2026-11-29");
  chunk.set_rank(node);
  chunk.set_source("/data/runs/resnet50/train_rank.log");
  v1::StepRecord& one = *chunk.add_steps();
  one.set_step(step);
  one.set_loss(2.25 / static_cast<double>(step + 1));
  one.set_lr(0.1);
  one.set_grad_norm(1.5);
  one.set_loss_scale(65536);
  one.set_line(step * 3);
  for (const std::string& metric : {std::string("throughput_samples_per_s"), std::string("memory_reserved_gib")}) {
    (*one.mutable_metrics())[metric] = 1234.5;
  }
  return record.SerializeAsString();
}

// By node, in order.
std::vector<std::vector<v1::Batch>> MakeBatches() {
  std::vector<std::vector<v1::Batch>> out(kNodes);
  for (int node = 0; node < kNodes; ++node) {
    std::uint64_t sequence = 0;
    for (int b = 0; b < kBatchesPerNode; ++b) {
      v1::Batch& batch = out[static_cast<std::size_t>(node)].emplace_back();
      batch.set_epoch(1);
      for (int i = 0; i < kRecordsPerBatch; ++i) {
        v1::Envelope& envelope = *batch.add_envelopes();
        envelope.set_sequence(++sequence);
        envelope.set_record(StepRecordBytes(node, static_cast<std::int64_t>(sequence)));
      }
    }
  }
  return out;
}

struct Outcome {
  double records_per_s = 0;
  double cpu_us_per_record = 0;
  double writer_us_per_record = 0;  // CPU of the one thread that commits: what cannot be spread over cores
  WriterStats writer;
};

double CpuSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double ThreadCpuSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class Stopwatch {
 public:
  Outcome Stop() const {
    Outcome out;
    out.records_per_s = static_cast<double>(kRecords) / absl::ToDoubleSeconds(absl::Now() - begin_);
    out.cpu_us_per_record = (CpuSeconds() - cpu_) * 1e6 / static_cast<double>(kRecords);
    return out;
  }

 private:
  const absl::Time begin_ = absl::Now();
  const double cpu_ = CpuSeconds();
};

void RemoveFile(const std::string& path) {
  for (const char* tail : {"", "-wal", "-shm", ".lock"}) unlink((path + tail).c_str());
}

Outcome RunRaw(const std::string& path, const std::vector<std::string>& blobs) {
  RemoveFile(path);
  auto connection = SqliteConnection::Open(path);
  Require(connection.status(), "open");
  Require(connection->Execute("PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; "
                              "PRAGMA wal_autocheckpoint=4096; PRAGMA cache_size=-32768; "
                              "CREATE TABLE batch(id INTEGER PRIMARY KEY, payload BLOB NOT NULL) STRICT"),
          "prepare");
  const Stopwatch watch;
  auto insert = connection->Prepare("INSERT INTO batch(payload) VALUES(?)");
  Require(insert.status(), "prepare");
  for (std::size_t next = 0; next < blobs.size();) {
    auto transaction = SqliteTransaction::Begin(*connection);
    Require(transaction.status(), "begin");
    for (std::size_t bytes = 0; next < blobs.size() && bytes < kRawTransactionBytes; ++next) {
      bytes += blobs[next].size();
      Require(insert->BindBlob(1, blobs[next]).Run(), "insert");
    }
    Require(transaction->Commit(), "commit");
  }
  return watch.Stop();
}

// One node's session: one batch on its way, the next when it is durable.
struct Session {
  std::string node;
  const std::vector<v1::Batch>* batches = nullptr;
  std::size_t next = 0;
  v1::Watermark durable;
  double* writer_cpu_s = nullptr;  // written by the writer's thread alone
  absl::Mutex mutex;
  bool in_flight ABSL_GUARDED_BY(mutex) = false;
};

void Deliver(Session& session, Writer& writer) {
  {
    absl::MutexLock lock(&session.mutex);
    const auto idle = [&session]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(session.mutex) { return !session.in_flight; };
    session.mutex.Await(absl::Condition(&idle));
    session.in_flight = true;
  }
  auto result = IngestBatch(session.node, session.durable, (*session.batches)[session.next++], 1'790'000'000'000);
  Require(result.status(), "ingest");
  session.durable = result->watermark;
  writer.Submit(std::move(result->set), [&session](absl::Status status) {
    Require(status, "commit");
    *session.writer_cpu_s = ThreadCpuSeconds();
    absl::MutexLock lock(&session.mutex);
    session.in_flight = false;
  });
}

// Acknowledgement at a load that leaves room: 10,000 records a second, a batch every 50 ms.
WriterStats RunPaced(const std::string& path, const std::vector<std::vector<v1::Batch>>& batches) {
  RemoveFile(path);
  auto store = OpenFleetStore("sqlite:" + path);
  Require(store.status(), "open");
  Writer writer(**store);
  double writer_cpu_s = 0;
  std::vector<Session> sessions(kNodes);
  for (std::size_t i = 0; i < 100; ++i) {
    sessions[i].node = absl::StrCat("node", i);
    sessions[i].batches = &batches[i];
    sessions[i].writer_cpu_s = &writer_cpu_s;
    Deliver(sessions[i], writer);
    absl::SleepFor(absl::Milliseconds(50));
  }
  writer.Stop();
  return writer.stats();
}

Outcome RunPath(const std::string& path, const std::vector<std::vector<v1::Batch>>& batches) {
  RemoveFile(path);
  auto store = OpenFleetStore("sqlite:" + path);
  Require(store.status(), "open");
  Writer writer(**store);
  double writer_cpu_s = 0;
  std::vector<Session> sessions(kNodes);
  for (std::size_t i = 0; i < kNodes; ++i) {
    sessions[i].node = absl::StrCat("node", i);
    sessions[i].batches = &batches[i];
    sessions[i].writer_cpu_s = &writer_cpu_s;
  }
  const Stopwatch watch;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&sessions, &writer, t] {
      for (int b = 0; b < kBatchesPerNode; ++b) {
        for (std::size_t i = t; i < kNodes; i += kThreads) Deliver(sessions[i], writer);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  writer.Stop();
  Outcome out = watch.Stop();
  out.writer = writer.stats();
  out.writer_us_per_record = writer_cpu_s * 1e6 / static_cast<double>(kRecords);
  const auto stats = (*store)->Stats();
  Require(stats.status(), "stats");
  if (stats->batches != kNodes * kBatchesPerNode) Require(absl::DataLossError("batches are missing"), "count");
  return out;
}

double Ms(const LatencyHistogram& histogram, double quantile) {
  return absl::ToDoubleMilliseconds(histogram.Quantile(quantile));
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int Run(const std::string& folder, int rounds) {
  const std::vector<std::vector<v1::Batch>> batches = MakeBatches();
  std::vector<std::string> blobs;
  for (int b = 0; b < kBatchesPerNode; ++b) {
    for (const auto& node : batches) blobs.push_back(node[static_cast<std::size_t>(b)].SerializeAsString());
  }
  std::printf("%d nodes, %lld records, %zu bytes a batch of %d\n", kNodes, static_cast<long long>(kRecords),
              blobs[0].size(), kRecordsPerBatch);
  const std::string path = absl::StrCat(folder, "/ingest_bench.", getpid(), ".db");
  std::vector<double> ratios, rates, limits, cpu_ratios;
  for (int round = 0; round < rounds; ++round) {
    const Outcome raw = RunRaw(path, blobs);
    const Outcome ours = RunPath(path, batches);
    RemoveFile(path);
    rates.push_back(ours.records_per_s);
    limits.push_back(raw.records_per_s);
    ratios.push_back(ours.records_per_s / raw.records_per_s);
    cpu_ratios.push_back(raw.cpu_us_per_record / ours.writer_us_per_record);
    std::printf("round %d: %.0f records/s durable (%.2f us CPU each, %.2f of them the writer's), SQLite alone %.0f "
                "(%.2f us), ratio %.2f; %lld commits p50 <%.0f ms p99 <%.0f ms; answers p50 <%.0f ms p99 <%.0f ms\n",
                round + 1, ours.records_per_s, ours.cpu_us_per_record, ours.writer_us_per_record, raw.records_per_s,
                raw.cpu_us_per_record, ratios.back(), static_cast<long long>(ours.writer.commits),
                Ms(ours.writer.commit_latency, 0.5), Ms(ours.writer.commit_latency, 0.99),
                Ms(ours.writer.answer_latency, 0.5), Ms(ours.writer.answer_latency, 0.99));
  }
  std::printf("median: %.0f records/s durable, SQLite alone %.0f, ratio %.2f; by CPU of the committing thread %.2f\n",
              Median(rates), Median(limits), Median(ratios), Median(cpu_ratios));
  const WriterStats paced = RunPaced(path, batches);
  RemoveFile(path);
  std::printf("at 10000 records/s: answer p50 <%.0f ms p99 <%.0f ms, commit p50 <%.0f ms p99 <%.0f ms\n",
              Ms(paced.answer_latency, 0.5), Ms(paced.answer_latency, 0.99), Ms(paced.commit_latency, 0.5),
              Ms(paced.commit_latency, 0.99));
  return 0;
}

}  // namespace
}  // namespace paritect

int main(int argc, char** argv) {
  int rounds = 5;
  if (argc > 2 && (!absl::SimpleAtoi(argv[2], &rounds) || rounds < 1)) {
    std::fprintf(stderr, "usage: ingest_bench [FOLDER [ROUNDS]]\n");
    return 2;
  }
  return paritect::Run(argc > 1 ? argv[1] : ".", rounds);
}
