// Fingerprints of tensors beside a plain read, numpy and torch.load with statistics, in one run and by ratio.
//   weights_bench [MIB]      default 256: of each type
// What numpy and torch do is in weights_reference.py; each is left out where it is not installed.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/file_system.h"
#include "common/numbers.h"
#include "formats/weights/fingerprint.h"
#include "formats/weights/value_sums.h"

namespace paritect {
namespace {

double CpuSeconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

template <typename Work>
double BestOf(int times, Work work) {
  double best = 1e9;
  for (int i = 0; i < times; ++i) {
    const double began = CpuSeconds();
    work();
    best = std::min(best, CpuSeconds() - began);
  }
  return best;
}

std::string NormalBytes(std::size_t bytes) {
  std::mt19937 random(1);
  std::normal_distribution<float> law(0, 0.02F);
  std::vector<float> some(1 << 20);
  for (float& value : some) value = law(random);
  std::string all;
  while (all.size() < bytes) all.append(reinterpret_cast<const char*>(some.data()), some.size() * sizeof(float));
  all.resize(bytes);
  return all;
}

// The upper halves of fp32 are bf16; as fp16 the same bits are other numbers of the same kind.
std::string Halves(const std::string& wide) {
  std::string narrow(wide.size() / 2, '\0');
  for (std::size_t i = 0; i < narrow.size() / 2; ++i) std::memcpy(&narrow[2 * i], &wide[4 * i + 2], 2);
  return narrow;
}

void Print(const char* what, double seconds, std::size_t bytes) {
  std::printf("%-44s %6.2f GB/s\n", what, static_cast<double>(bytes) / seconds / 1e9);
}

double MeasureFingerprint(const char* what, DType type, const std::string& bytes, const FingerprintOptions& options) {
  const double seconds = BestOf(3, [&] {
    const auto fingerprinter = NewTensorFingerprinter(type, options);
    for (std::size_t at = 0; at < bytes.size(); at += kTensorBlockBytesMax) {
      fingerprinter->Add(absl::string_view(bytes).substr(at, kTensorBlockBytesMax));
    }
    (void)fingerprinter->Finish();
  });
  Print(what, seconds, bytes.size());
  return seconds;
}

double MeasureStatistics(const std::string& bytes) {
  const auto* values = reinterpret_cast<const float*>(bytes.data());
  const std::size_t count = bytes.size() / sizeof(float);
  const double seconds = BestOf(3, [&] {
    ValueSums sums;
    AddFloats(values, count, {0x1p-126, false, false, {}}, sums);
    if (sums.elements != count) std::abort();
  });
  Print("statistics alone, F32", seconds, bytes.size());
  return seconds;
}

double MeasureRead(const std::string& path, std::size_t bytes) {
  const double seconds = BestOf(3, [&] {
    auto file = PosixFileSystem().Open(path);
    std::string block(kTensorBlockBytesMax, '\0');
    while (file.ok()) {
      const auto got = (*file)->Read(absl::MakeSpan(block));
      if (!got.ok() || *got == 0) break;
    }
  });
  Print("plain read of a cached file", seconds, bytes);
  return seconds;
}

// "NAME SECONDS" a line from the script; what is not installed gives no line.
void PrintPeers(const std::string& path, double statistics, double digested, double fingerprint) {
  const std::string command =
      absl::StrCat("python3 ", PARITECT_BENCH_DIR, "/weights_reference.py ", path, " 2>/dev/null");
  std::FILE* peers = popen(command.c_str(), "r");
  if (peers == nullptr) return;
  char name[128];
  double seconds = 0;
  while (std::fscanf(peers, "%127s %lf", name, &seconds) == 2) {
    std::printf("%-44s %6.1f x slower than statistics, %5.1f x than with digests, %5.1f x than the fingerprint\n", name,
                seconds / statistics, seconds / digested, seconds / fingerprint);
  }
  pclose(peers);
}

int Run(std::size_t mib) {
  const std::string wide = NormalBytes(mib << 20);
  const std::string narrow = Halves(wide);
  const std::string path = absl::StrCat("/tmp/paritect-weights-bench.", getpid(), ".raw");
  if (!WriteFileAtomically(path, wide).ok()) return 1;
  const double read = MeasureRead(path, wide.size());
  const double statistics = MeasureStatistics(wide);
  FingerprintOptions digests;
  digests.values = false;
  const double digested = MeasureFingerprint("XXH3-128, chunks and statistics, F32", DType::kF32, wide, digests);
  const double fingerprint = MeasureFingerprint("whole fingerprint, F32", DType::kF32, wide, {});
  MeasureFingerprint("whole fingerprint, BF16", DType::kBF16, narrow, {});
  MeasureFingerprint("whole fingerprint, F16", DType::kF16, narrow, {});
  std::printf("%-44s %6.2f of a plain read (statistics %.2f, with digests %.2f)\n", "speed of the whole fingerprint",
              read / fingerprint, read / statistics, read / digested);
  PrintPeers(path, statistics, digested, fingerprint);
  std::remove(path.c_str());
  return 0;
}

}  // namespace
}  // namespace paritect

int main(int argc, char** argv) {
  const auto mib = argc > 1 ? paritect::ParseInt(argv[1]) : std::int64_t{256};
  return mib.value_or(0) > 0 ? paritect::Run(static_cast<std::size_t>(*mib)) : 2;
}
