#!/usr/bin/env bash
# stored.sh BUILD_DIR: bundles and databases of earlier versions give the answer that they gave then.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$1"
server=$build_dir/paritect-server
stored=$source_dir/tests/system/stored

# verdicts: a report in JSON as lines ITEM VERDICT.
verdicts() { python3 -c 'import json, sys
for item in json.load(sys.stdin)["items"]: print(item["id"], item["verdict"])'; }

# same FILE COMMAND...: the report that COMMAND prints holds these verdicts.
same() {
  local file=$1
  shift
  timeout 60 "$@" -o json 2> err.txt > report.json
  verdicts < report.json | diff "$file" - >&2 || { fail "other verdicts: $*"; head -n 5 err.txt >&2; }
}

serve() {
  "$server" run "$1" --listen "$address" > server.log 2>&1 &
  pid=$!
  until grep -q "listening on" server.log; do
    kill -0 $pid 2>/dev/null || { fail "the server does not start"; cat server.log >&2; return 1; }
    sleep 0.1
  done
}

own_ports port
address=127.0.0.1:$port
for folder in "$stored"/*; do
  [ -d "$folder" ] || continue
  name=$(basename "$folder")
  for file in kept fleet; do zcat "$folder/$file.db.gz" > "$name.$file.db" || fail "no $file.db"; done
  expect 1 "seed 1 → 4" \
    "$paritect" check --baseline "$folder/gpu.pbundle" --migrated "$folder/npu.pbundle"
  same "$folder/judged.txt" "$paritect" check --baseline "$folder/gpu.pbundle" --migrated "$folder/npu.pbundle"
  same "$folder/reported.txt" "$paritect" report --db "$name.kept.db"

  expect 0 "" "$server" init "$name" --host 127.0.0.1 --address "$address"
  expect 0 "" "$server" restore "$name" "$name.fleet.db"
  expect 0 "whole" "$server" verify "$name"
  serve "$name" || continue
  export PARITECT_CREDENTIAL=$work/$name/admin.credential
  expect 0 "gpu-seed1 +gpu-01 +1 .*import of gpu.pbundle" "$paritect" runs ls
  expect 0 "npu +npu-01 +1 " "$paritect" runs ls
  same "$folder/reported.txt" "$paritect" report example --run 1
  expect 1 "" "$paritect" audit run example
  same "$folder/judged.txt" "$paritect" report example --run 2
  kill $pid
  wait $pid
done
finish
