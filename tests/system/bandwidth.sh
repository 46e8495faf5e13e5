#!/usr/bin/env bash
# bandwidth.sh BUILD_DIR: `manifest create --bwlimit` keeps to its limit over all files and makes the same list.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$1"
mkdir data
for i in 1 2 3 4; do head -c 524288 /dev/urandom > "data/$i"; done

expect 0 '' "$paritect" manifest create data --progress none
cp out.txt free.txt
started=$(date +%s%N)
expect 0 '' "$paritect" manifest create data --progress none --bwlimit 1M
took_ms=$((($(date +%s%N) - started) / 1000000))
cmp -s out.txt free.txt || fail "the limit changes the list"
# 2 MiB at 1 MiB a second, of which a quarter of a second's bytes are free at once.
[ "$took_ms" -ge 1700 ] || fail "2 MiB were read in $took_ms ms at 1 MiB a second"

for bad in fast 10X -5M 1; do
  expect 2 'bandwidth' "$paritect" manifest create data --progress none "--bwlimit=$bad"
done
expect 0 '' "$paritect" manifest create data --progress none --bwlimit 0
finish
