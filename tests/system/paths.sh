#!/usr/bin/env bash
# paths.sh BUILD_DIR: the same evidence by every way gives the same answer, and the programs keep their manners.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$1"
example=$source_dir/deploy/example
export SOURCE_DATE_EPOCH=1790000000
# With the cache a report says that a digest was computed before, and when.
sides=(--no-cache --baseline "$example/gpu/seed1" --baseline "$example/gpu/seed2" --baseline "$example/gpu/seed3" --migrated "$example/npu")

expect 1 '"verdict"' "$paritect" check "${sides[@]}" -o json
cp out.txt first.json
[ ! -s err.txt ] || fail "check writes to standard error: $(head -n 3 err.txt)"
expect 1 '' "$paritect" check "${sides[@]}" -o json
cmp -s out.txt first.json || fail "the same evidence gives another report the second time"

# In another locale, time zone and folder: the same bytes.
(cd / && LC_ALL=tr_TR.UTF-8 TZ=Asia/Shanghai "$paritect" check "${sides[@]}" -o json) > "$work/second.json"
cmp -s second.json first.json || fail "the report follows the locale or the time zone"

# Collected into bundles first: the same verdicts. (Explanations that need a second look at a file are weaker.)
for run in gpu/seed1 gpu/seed2 gpu/seed3 npu; do
  expect 0 '' "$agent" collect "$example/$run" -o "${run//\//-}.pbundle"
done
expect 1 '' "$paritect" check --baseline gpu-seed1.pbundle --baseline gpu-seed2.pbundle --baseline gpu-seed3.pbundle --migrated npu.pbundle -o json
verdicts() { grep -oE '"(id|verdict)": *"[^"]*"' "$1"; }
[ "$(verdicts out.txt)" = "$(verdicts first.json)" ] || fail "bundles give other verdicts than the plans they were made from"

# A damaged bundle is refused.
head -c 700 npu.pbundle > cut.pbundle
expect 2 'cut.pbundle' "$paritect" check --baseline gpu-seed1.pbundle --migrated cut.pbundle

# Every format, into files and in both languages, with the same exit code.
for format in table json jsonl markdown csv; do
  expect 1 '' "$paritect" check "${sides[@]}" --lang zh -o "$format=report.$format"
  [ -s "report.$format" ] || fail "no report.$format"
done
expect 1 '未进行' "$paritect" check "${sides[@]}" --lang zh -o table

for program in paritect paritect-agent paritect-server; do
  expect 0 "^$program [0-9]+\.[0-9]+\.[0-9]+$" "$build_dir/$program" version
done
finish
