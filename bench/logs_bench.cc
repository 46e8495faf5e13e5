// How fast logs are read, as ratios within one run: to `wc -l` on the same warm file (text), and to the same
// extraction with Python's `re`, `json` and a plain loop over TFRecord frames. Inputs are made here.
//   logs_bench [MEBIBYTES]      size of the text inputs, 200 unless told
// Each figure is the best of a few turns; the programs take turns, so that a busy machine slows all of them.
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "agent/collectors/log_files.h"
#include "common/crc.h"
#include "common/numbers.h"

namespace paritect {
namespace {

constexpr int kTurns = 5;
constexpr int kPythonTurns = 2;
constexpr double kWcAim = 0.5;
constexpr double kPythonAim = 5;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// CPU seconds of this process, or of its children that have ended.
double CpuSeconds(int who) {
  rusage usage = {};
  getrusage(who, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// A value that wanders as a loss does; no generator that costs more than the file.
double Wander(std::int64_t i) {
  return 2 + std::exp(-static_cast<double>(i) * 1e-5) + 0.01 * static_cast<double>((i * 7919) % 1000) / 1000;
}

class Output {
 public:
  explicit Output(const std::string& path) : file_(std::fopen(path.c_str(), "wb")) {
    if (file_ == nullptr) std::abort();
  }
  ~Output() { std::fclose(file_); }
  void Write(absl::string_view bytes) {
    size_ += bytes.size();
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) std::abort();
  }
  std::size_t size() const { return size_; }

 private:
  std::FILE* file_;
  std::size_t size_ = 0;
};

void WriteMegatron(const std::string& path, std::size_t bytes) {
  Output out(path);
  for (int i = 1; out.size() < bytes; ++i) {
    out.Write(absl::StrFormat(
        " [2026-08-20 10:%02d:%02d.%06d] iteration %8d/ 5000000 | consumed samples: %12d | elapsed time per iteration "
        "(ms): %.1f | throughput per GPU (TFLOP/s/GPU): %.1f | learning rate: %.6E | global batch size:   256 | "
        "lm loss: %.6E | loss scale: 65536.0 | grad norm: %.3f | num zeros: 0 | params norm: 512.123 | number of "
        "skipped iterations: %3d | number of nan iterations:   0 |\n",
        i / 60 % 60, i % 60, i * 7919LL % 1000000, i, i * 256LL, 1200 + i % 97 * 0.7, 140 + i % 13 * 0.3, 1.5e-9 * i,
        Wander(i), 0.5 + Wander(3LL * i) / 4, i % 997 == 0 ? 1 : 0));
  }
}

// What a log mostly is: lines that tell nothing, a record in forty.
void WriteChatter(const std::string& path, std::size_t bytes) {
  Output out(path);
  for (int i = 1; out.size() < bytes; ++i) {
    if (i % 40 == 0) {
      out.Write(
          absl::StrFormat("step %d loss %.5f lr %.3e grad_norm %.3f\n", i / 40, Wander(i), 1e-4, Wander(3LL * i)));
    } else {
      out.Write(
          absl::StrFormat("[2026-08-20 10:%02d:%02d] [INFO] worker %d fetched shard %d of bucket alpha in %d ms, "
                          "queue depth %d, cache hit rate %.2f\n",
                          i / 60 % 60, i % 60, i % 8, i, i % 311, i % 17, 0.5 + i % 50 * 0.01));
    }
  }
}

void WriteJsonLines(const std::string& path, std::size_t bytes) {
  Output out(path);
  for (int i = 1; out.size() < bytes; ++i) {
    out.Write(
        absl::StrFormat("{\"step\": %d, \"loss\": %.6f, \"lr\": %.6e, \"grad_norm\": %.4f, \"epoch\": %.4f, "
                        "\"tokens\": %d, \"time\": \"2026-08-20 10:%02d:%02d\"}\n",
                        i, Wander(i), 1e-9 * i, Wander(3LL * i), i * 1e-5, i * 4096LL, i / 60 % 60, i % 60));
  }
}

std::string Varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>((value & 0x7F) | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}

template <typename T>
std::string Bytes(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

void WriteFrame(Output& out, const std::string& payload) {
  const std::string length = Bytes<std::uint64_t>(payload.size());
  out.Write(absl::StrCat(length, Bytes(MaskedCrc32c(length)), payload, Bytes(MaskedCrc32c(payload))));
}

void WriteEvents(const std::string& path, int steps) {
  Output out(path);
  WriteFrame(out, absl::StrCat("\x09", Bytes(1.7e9), "\x1A", Varint(13), "brain.Event:2"));
  for (int step = 1; step <= steps; ++step) {
    for (const absl::string_view tag : {"train/loss", "train/learning_rate", "train/grad_norm"}) {
      const std::string value =
          absl::StrCat("\x0A", Varint(tag.size()), tag, "\x15", Bytes(static_cast<float>(Wander(step))));
      const std::string summary = absl::StrCat("\x0A", Varint(value.size()), value);
      WriteFrame(out, absl::StrCat("\x09", Bytes(1.7e9 + step), "\x10", Varint(static_cast<std::uint64_t>(step)),
                                   "\x2A", Varint(summary.size()), summary));
    }
  }
}

struct Timed {
  double seconds = 1e9;  // of the clock
  double cpu = 1e9;
};

void Best(Timed& best, double seconds, double cpu) {
  best.seconds = std::min(best.seconds, seconds);
  best.cpu = std::min(best.cpu, cpu);
}

std::string Run(const std::string& command) {
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "";
  std::string output;
  char buffer[256];
  while (std::fgets(buffer, sizeof(buffer), pipe) != nullptr) output += buffer;
  return pclose(pipe) == 0 ? output : "";
}

Timed Ours(const std::string& path, Timed best, int& records) {
  const double begin = Now();
  const double cpu = CpuSeconds(RUSAGE_SELF);
  const auto log = ReadLogFiles(PosixFileSystem(), {path}, {});
  if (!log.ok()) std::abort();
  Best(best, Now() - begin, CpuSeconds(RUSAGE_SELF) - cpu);
  records = log->records_size();
  return best;
}

Timed LineCount(const std::string& path, Timed best) {
  const double begin = Now();
  const double cpu = CpuSeconds(RUSAGE_CHILDREN);
  if (Run("wc -l " + path).empty()) std::abort();
  Best(best, Now() - begin, CpuSeconds(RUSAGE_CHILDREN) - cpu);
  return best;
}

// Python says how long its loop took: its start is not counted.
double Python(const std::string& kind, const std::string& path) {
  double best = 0;
  for (int turn = 0; turn < kPythonTurns; ++turn) {
    const std::string said = Run(absl::StrCat("python3 " PARITECT_BENCH_DIR "/logs_reference.py ", kind, " ", path));
    const std::vector<std::string> words = absl::StrSplit(said, ' ');
    const double seconds = ParseDouble(words[0]).value_or(0);
    if (seconds > 0 && (best == 0 || seconds < best)) best = seconds;
  }
  return best;
}

bool Measure(const std::string& name, const std::string& path, bool to_wc, const std::string& python) {
  auto info = PosixFileSystem().Stat(path);
  if (!info.ok()) std::abort();
  const double mebibytes = static_cast<double>(info->size_bytes) / (1 << 20);
  Timed ours;
  Timed count;
  int records = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    ours = Ours(path, ours, records);
    if (to_wc) count = LineCount(path, count);
  }
  std::printf("%-9s %5.0f MiB, %7d records: %5.0f MiB/s (%.0f of CPU time)", name.c_str(), mebibytes, records,
              mebibytes / ours.seconds, mebibytes / ours.cpu);
  bool met = true;
  if (to_wc) {
    met = count.seconds / ours.seconds >= kWcAim;
    std::printf("; %.2f x wc -l (%.2f of CPU time; aim %.1f)", count.seconds / ours.seconds, count.cpu / ours.cpu,
                kWcAim);
  }
  if (const double seconds = python.empty() ? 0 : Python(python, path); seconds > 0) {
    met = met && seconds / ours.seconds >= kPythonAim;
    std::printf("; %.1f x Python (aim %.0f)", seconds / ours.seconds, kPythonAim);
  }
  std::printf("\n");
  return met;
}

int Main(std::size_t bytes) {
  char folder[] = "/tmp/paritect-logs-bench-XXXXXX";
  if (mkdtemp(folder) == nullptr) std::abort();
  const auto path = [&](const char* name) { return absl::StrCat(folder, "/", name); };
  WriteMegatron(path("megatron.log"), bytes);
  WriteChatter(path("chatter.log"), bytes);
  WriteJsonLines(path("rows.jsonl"), bytes / 4);
  WriteEvents(path("events.out.tfevents.1"), 200'000);
  bool met = Measure("chatter", path("chatter.log"), true, "");
  met = Measure("megatron", path("megatron.log"), true, "megatron") && met;
  met = Measure("jsonl", path("rows.jsonl"), false, "jsonl") && met;
  met = Measure("events", path("events.out.tfevents.1"), false, "events") && met;
  (void)Run(absl::StrCat("rm -r ", folder));
  return met ? 0 : 1;
}

}  // namespace
}  // namespace paritect

int main(int argc, char** argv) {
  const auto mebibytes = argc > 1 ? paritect::ParseInt(argv[1]).value_or(200) : 200;
  return paritect::Main(static_cast<std::size_t>(mebibytes) << 20);
}
