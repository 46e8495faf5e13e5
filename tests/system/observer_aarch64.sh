#!/usr/bin/env bash
# observer_aarch64.sh BUILD_DIR: the observer's library and the recorder, built for aarch64, need no newer symbols than old
# Ascend hosts have, and run there (in an emulator): the fingerprints are those of this processor's library, and a
# program that the recorder is loaded into does what it did. Not here: no cross compiler or no emulator.
. "$(dirname "$0")/lib.sh" "$@"
compiler=$(command -v aarch64-linux-gnu-g++) || { echo "no aarch64-linux-gnu-g++"; exit 77; }
emulator=$(command -v qemu-aarch64 || command -v qemu-aarch64-static) || { echo "no qemu-aarch64"; exit 77; }
[ -f "$build_dir/observer/libparitect-observe.so" ] || exit 77
root=/usr/aarch64-linux-gnu
mkdir include gen
for headers in hwy xxhash.h xxh3.h; do
  [ -e "/usr/include/$headers" ] && ln -s "/usr/include/$headers" "include/$headers"
done

observer="$source_dir/agent/observer" weights="$source_dir/formats/weights"
"$compiler" -shared -fPIC -std=c++20 -O2 -ffp-contract=off -fno-exceptions -fno-rtti -fno-threadsafe-statics \
  -fno-stack-protector -fvisibility=hidden -fvisibility-inlines-hidden -I "$source_dir" -idirafter include \
  "$observer"/{fingerprint_library,vector_choice,without_libstdcxx}.cc \
  "$weights"/{place_sums,sketch,value_sums,value_sums_plain,widen}.cc \
  -nodefaultlibs -static-libgcc -Wl,--version-script="$observer/exports.map" -Wl,--no-undefined -lm -lc -lgcc \
  -o libparitect-observe.so || fail "the observer's library is not built"
"${compiler%g++}gcc" -shared -fPIC -O2 -D_GNU_SOURCE -fvisibility=hidden -fno-builtin-fopen -U_FORTIFY_SOURCE \
  -I "$source_dir" -I "$build_dir/gen" "$source_dir"/agent/trace/trace_*.c \
  -Wl,--no-as-needed -l:libdl.so.2 -Wl,--as-needed -Wl,--no-undefined -o libparitect-trace.so || fail "the recorder is not built"

for library in libparitect-observe.so libparitect-trace.so; do
  newest=$("${compiler%g++}objdump" -T "$library" | grep '\*UND\*' | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
  [ -n "$newest" ] || fail "$library: no symbol of the C library: was it read?"
  [ "$(printf '%s\nGLIBC_2.28\n' "$newest" | sort -V | tail -n 1)" = GLIBC_2.28 ] || fail "$library needs $newest"
done

cat > check.c <<'C'
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
typedef int (*Fingerprint)(const char*, const void*, const void*, uint64_t, uint32_t, void*);
int main(int argc, char** argv) {
  void* library = dlopen(argv[1], RTLD_NOW);
  if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
  Fingerprint fingerprint = (Fingerprint)dlsym(library, "paritect_fingerprint");
  static float values[100003];
  static unsigned char result[1 << 16];
  uint32_t state = 7;
  for (int i = 0; i < 100003; ++i) {
    state = state * 1664525u + 1013904223u;
    values[i] = (float)((int32_t)state) / 65536.0f / 65536.0f;
  }
  for (uint64_t size = 0; size <= 100003; size = size * 3 + 1) {
    if (fingerprint("F32", values, NULL, size, 1 | 2 | 4 | 8, result) != 0) return 2;
    for (int i = 0; i < 64 + 5 * 8 + 6 * 8; ++i) printf("%02x", result[i]);
    printf("\n");
  }
  FILE* file = fopen("check.c", "r");
  return file == NULL || fgetc(file) != '#';
}
C
gcc -O1 check.c -o check-here -ldl && "${compiler%g++}gcc" -O1 check.c -o check-there -ldl || fail "the program is not built"
./check-here "$build_dir/observer/libparitect-observe.so" > here.txt || fail "here"
"$emulator" -L "$root" ./check-there "$work/libparitect-observe.so" > there.txt || fail "there"
[ -s here.txt ] && cmp -s here.txt there.txt || { fail "other fingerprints"; diff here.txt there.txt | head -4; }

mkdir trace
"$emulator" -L "$root" -E LD_PRELOAD="$work/libparitect-trace.so" -E PARITECT_TRACE_DIR="$work/trace" \
  ./check-there "$work/libparitect-observe.so" > traced.txt || fail "with the recorder"
cmp -s here.txt traced.txt || fail "the recorder changes what a program prints"
[ -n "$(ls trace)" ] || fail "the recorder recorded nothing"
finish
