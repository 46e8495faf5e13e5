// Marks a function whose loops the compiler shall turn into vector code, for the widest unit that the machine has.
#ifndef PARITECT_FORMATS_VECTOR_CODE_H_
#define PARITECT_FORMATS_VECTOR_CODE_H_

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define PARITECT_VECTOR_CODE __attribute__((optimize("O3"), target_clones("avx2", "default")))
#elif defined(__GNUC__) && !defined(__clang__)
#define PARITECT_VECTOR_CODE __attribute__((optimize("O3")))
#else
#define PARITECT_VECTOR_CODE
#endif

#endif  // PARITECT_FORMATS_VECTOR_CODE_H_
