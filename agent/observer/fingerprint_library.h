// libparitect-observe.so: fingerprints of tensors for the observer, which loads it by ctypes inside a training process.
// The sums are those of formats/weights, compiled once more without any library but the C library, so that it loads on
// hosts that are older than the product's own programs (tests/system/observer_symbols.sh).
//
// Plain C types in fixed order: agent/observer/paritect_observe/fingerprint.py has the same list. No thread, no state:
// calls may run side by side. Memory: the caller's, and 100 KiB of stack or heap a call.
#ifndef PARITECT_AGENT_OBSERVER_FINGERPRINT_LIBRARY_H_
#define PARITECT_AGENT_OBSERVER_FINGERPRINT_LIBRARY_H_

#include <stdint.h>

extern "C" {

enum ParitectWanted : uint32_t {
  kParitectDigest = 1,   // xxh3
  kParitectValues = 2,   // statistics, and value hash
  kParitectRounded = 4,  // values_as_bf16, values_as_fp16 of F32
  kParitectSketch = 8,
  kParitectHistogram = 16,
  kParitectStatistics = 32,  // without the value hash
};

struct ParitectFingerprint {
  uint64_t xxh3[2];    // high, low
  uint64_t values[2];  // low, high, as the next two
  uint64_t values_as_bf16[2];
  uint64_t values_as_fp16[2];
  double min, max, sum, sum_of_squares, sum_of_fourths;
  uint64_t finite, nan, positive_infinity, negative_infinity, zero, negative_zero, subnormal;
  uint64_t sketch_places;
  double sketch[128];
  uint64_t histogram_bins;
  uint32_t bins[4096];
  uint64_t counts[4096];
};

// Of `elements` elements of the type named by a word of safetensors, in C order. With `before` (of the same type and
// count, no digest is made) of the differences data - before, in fp64 rounded to fp32 where the type is narrower.
// 0: done; 1: the type is not known or has no values; 2: no memory.
__attribute__((visibility("default"))) int paritect_fingerprint(const char* type, const void* data, const void* before,
                                                                uint64_t elements, uint32_t wanted,
                                                                ParitectFingerprint* result);

// Up to 4096 elements at the places at which signs are sampled, as numbers; gives how many. -1: as above.
__attribute__((visibility("default"))) int64_t paritect_sampled(const char* type, const void* data, uint64_t elements,
                                                                double values[4096]);

// XXH3-128 of bytes: high, low.
__attribute__((visibility("default"))) void paritect_digest(const void* bytes, uint64_t size, uint64_t result[2]);

// Of this list of types and functions; counts up with each change.
__attribute__((visibility("default"))) uint32_t paritect_observe_version(void);

}  // extern "C"

#endif  // PARITECT_AGENT_OBSERVER_FINGERPRINT_LIBRARY_H_
