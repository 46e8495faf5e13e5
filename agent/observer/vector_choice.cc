// Which of the vector codes of formats/weights/value_sums.cc this processor runs: the two functions that Highway's
// headers ask of its library, so that libparitect-observe.so needs no library.
#include <hwy/targets.h>

namespace hwy {

#if HWY_ARCH_X86

// __builtin_cpu_supports counts what the operating system saves, too.
int64_t SupportedTargets() {
  __builtin_cpu_init();
  int64_t targets = 0;
  const bool sse4 =
      __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("aes");
  if (sse4) targets |= HWY_SSE4;
  const bool avx2 = sse4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  if (avx2) targets |= HWY_AVX2;
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd");
  if (avx512) targets |= HWY_AVX3;
  return targets;
}

#else

int64_t SupportedTargets() {
  return HWY_STATIC_TARGET;
}

#endif

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
