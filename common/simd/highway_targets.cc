// The two functions of Highway that decide which instructions its dispatch calls, and the one by which
// tests choose others. They stand here in place of libhwy.so: that library measures the resolution of a timer whenever
// it is loaded, 2.6 ms that each start of each program would pay for nothing. x86-64 alone; elsewhere libhwy is linked.
#include <hwy/targets.h>

namespace hwy {
namespace {

// What HWY_TARGET_STR of each target lets the compiler use (of 1.0.3).
std::int64_t Detect() {
  std::int64_t targets = HWY_EMU128 | HWY_SCALAR;
  if (__builtin_cpu_supports("ssse3")) targets |= HWY_SSSE3;
  const bool sse4 = __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("sse4.2") &&
                    __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("aes");
  if (sse4) targets |= HWY_SSE4;
  const bool avx2 = sse4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  if (avx2) targets |= HWY_AVX2;
  const bool avx3 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  if (avx3) targets |= HWY_AVX3;
  return targets;
}

std::int64_t targets_for_test = 0;

}  // namespace

std::int64_t SupportedTargets() {
  static const std::int64_t detected = Detect();
  return targets_for_test != 0 ? targets_for_test : detected;
}

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

void SetSupportedTargetsForTest(std::int64_t targets) {
  targets_for_test = targets;
  GetChosenTarget().DeInit();  // the next call chooses anew
}

}  // namespace hwy
