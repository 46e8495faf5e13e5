#!/usr/bin/env bash
# What the recorder costs an open: trace_bench.sh BUILD_DIR
# CPU time per open and close of a warm file, the least of 30 batches of 4,000, of one process after the other: without
# the recorder, with it and no match, with it and a record. Ratios within one run; look at the load.
set -euo pipefail
build=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/opens.c" << 'END'
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>
static double Cpu(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}
int main(int argc, char** argv) {
  double least = 1e9;
  for (int batch = 0; batch < 30 && argc > 1; ++batch) {
    const double begin = Cpu();
    for (int i = 0; i < 4000; ++i) close(open(argv[1], O_RDONLY));
    const double one = (Cpu() - begin) / 4000;
    if (one < least) least = one;
  }
  printf("%.2f\n", least);
  return 0;
}
END
${CC:-cc} -O2 -o "$work/opens" "$work/opens.c"
mkdir -p "$work/data/train" "$work/trace" "$work/other/some/folders/deep"
echo x > "$work/data/train/part-0001.bin"
echo x > "$work/other/some/folders/deep/module.bin"
with() { env LD_PRELOAD="$build/libparitect-trace.so" PARITECT_TRACE_DIR="$work/trace" PARITECT_TRACE_ROOTS="$work/data" "$@"; }
for round in 1 2 3; do
  none=$("$work/opens" "$work/other/some/folders/deep/module.bin")
  unmatched=$(with "$work/opens" "$work/other/some/folders/deep/module.bin")
  relative=$(cd "$work/other" && with "$work/opens" some/folders/deep/module.bin)
  matched=$(with "$work/opens" "$work/data/train/part-0001.bin")
  echo "round $round: none $none us, unmatched $unmatched us, unmatched relative $relative us, recorded $matched us"
done
echo "load: $(cut -d' ' -f1-3 /proc/loadavg)"
