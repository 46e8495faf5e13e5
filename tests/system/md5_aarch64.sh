#!/usr/bin/env bash
# md5_aarch64.sh BUILD_DIR: the NEON kernel, cross-compiled and run by an emulator, gives the digests of md5sum.
# Not here: no cross compiler or no emulator.
set -euo pipefail
compiler=$(command -v aarch64-linux-gnu-g++) || { echo "no aarch64-linux-gnu-g++"; exit 77; }
emulator=$(command -v qemu-aarch64 || command -v qemu-aarch64-static) || { echo "no qemu-aarch64"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The headers of Abseil and Highway are the same for every processor; only they are put in the way.
mkdir "$work/include"
for headers in absl hwy; do ln -s "/usr/include/$headers" "$work/include/$headers"; done
"$compiler" -std=c++20 -O2 -static -DHWY_COMPILE_ONLY_STATIC -I . -idirafter "$work/include" \
  common/md5/md5_lanes.cc common/md5/md5_cross_check.cc -o "$work/check"
"$emulator" "$work/check" > "$work/digests" 2> "$work/says"
cat "$work/says"
grep -q "^NEON, 16 lanes" "$work/says"
[ "$(wc -l < "$work/digests")" = 400 ]
# Message by message: what the program hashed is what it writes with the number as argument.
g++ -std=c++20 -O1 -I . -DHWY_COMPILE_ONLY_STATIC common/md5/md5_lanes.cc common/md5/md5_cross_check.cc -o "$work/native" \
  2>/dev/null
while read -r number digest; do
  [ "$("$work/native" "$number" | md5sum | cut -d' ' -f1)" = "$digest" ] || { echo "message $number: wrong"; exit 1; }
done < "$work/digests"
