#!/usr/bin/env bash
# quickstart.sh BUILD_DIR: quickstart ends with the matrix and 0, twice, without git configuration.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$1"
[ "$build_dir" = "$source_dir/build/release" ] || { echo "another build folder than quickstart's"; exit 77; }
for time in first second; do
  "$source_dir/deploy/quickstart" > out.txt 2>&1 || { cat out.txt; fail "the $time time it ends with an error"; }
  for item in data.dataset migrated.mixed-precision training.flow; do
    grep -qE "^ *(fail|pass|open) +$item" out.txt || fail "the matrix lacks $item"
  done
  # The closing text speaks of three faults: these fail, and nothing else does.
  failing=$(sed -nE 's/^ *fail +([a-z.-]+) .*/\1/p' out.txt | sort -u | tr '\n' ' ')
  [ "$failing" = "data.dataset migrated.loss-scale migrated.mixed-precision " ] || fail "other items fail: $failing"
  [ -s "$source_dir/quickstart-report.md" ] && [ -s "$source_dir/quickstart-report.html" ] || fail "no report"
  grep -qE "page is at https://127.0.0.1:[0-9]+/#/login/" out.txt || fail "the page's address is not printed"
done
finish
