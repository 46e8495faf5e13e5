#!/usr/bin/env bash
# `paritect attach` as root: a job that starts its ranks after it is attached to is seen whole, static programs too; a rank
# that was there before is never passed as whole. Not as root: what stays open is seen, and the rest is said.
. "$(dirname "$0")/lib.sh" "$@"
python=$(command -v /usr/bin/python3 || command -v python3) || exit 77
[ "$(id -u)" = 0 ] || exit 77
mkdir data
for i in 0 1 2 3 4 5; do echo "content $i" > "data/part-$i.bin"; done

# A launcher that waits for the sign, then starts two ranks; each reads its share through a worker process.
cat > job.py << 'END'
import os, subprocess, sys, time
while not os.path.exists("go"):
    time.sleep(0.05)
code = """
import os, sys, time
rank = int(os.environ["RANK"])
for name in sorted(os.listdir("data"))[rank::2]:
    open("data/" + name).read()
if len(sys.argv) > 1:
    import subprocess
    subprocess.run([sys.argv[1], "data/part-%d.bin" % rank])
time.sleep(1.5)
"""
ranks = [subprocess.Popen([sys.executable, "-c", code] + sys.argv[1:], env=dict(os.environ, RANK=str(i), WORLD_SIZE="2"))
         for i in range(2)]
for rank in ranks:
    rank.wait()
END
# shards BUNDLE: rank, names and problems, one line a list.
shards() { "$paritect" diff shards "$1" "$1" -o json --all > diff.json; }

"$python" job.py & job=$!
"$paritect" attach --pid $job --data data --run late -o late.pbundle 2> late.err & attach=$!
for _ in $(seq 100); do grep -q recording late.err && break; sleep 0.1; done
sleep 1
touch go
wait $job
wait $attach || fail "attach failed: $(cat late.err)"
if grep -q 'not as root' late.err; then exit 77; fi
shards late.pbundle
for i in 0 1 2 3 4 5; do
  grep -A3 "part-$i.bin" diff.json | tr -d ' \n' | grep -q "\"mark\":\"same\",\"a\":{\"rank\":$((i % 2)),\"readers\":1" ||
    grep -A5 "part-$i.bin" diff.json | tr -d ' \n' | grep -q "\"rank\":$((i % 2)),\"readers\":1" || fail "part-$i.bin: $(cat diff.json)"
done
"$paritect" check --baseline late.pbundle --migrated late.pbundle --item data.sharding -o json > report.json 2> /dev/null
grep -q 'ran before it was recorded' report.json && fail "ranks that came later count as there before"

# A rank that is there before: never whole.
rm -f go
RANK=0 WORLD_SIZE=1 "$python" -c 'import time, sys
time.sleep(4)
open("data/part-1.bin").read()
time.sleep(1)' & job=$!
sleep 0.5
"$paritect" attach --pid $job --data data --run before -o before.pbundle 2> before.err || fail "attach: $(cat before.err)"
"$paritect" check --baseline before.pbundle --migrated before.pbundle --item data.sharding -o json > report.json 2> /dev/null
grep -q 'ran before it was recorded' report.json || fail "a rank that was there before counts as whole: $(cat before.err)"
"$python" - << 'END' || fail "a list that is not whole passed"
import json, sys
checks = json.load(open("report.json"))["items"][0]["checks"]
sys.exit(any(c["verdict"] == "pass" for c in checks if c["id"].split(".")[-1] in ("complete", "disjoint", "same-assignment")))
END
expect 2 'no process' "$paritect" attach --pid 999999999 --data data
expect 2 'which files are data' "$paritect" attach --pid $$
finish
