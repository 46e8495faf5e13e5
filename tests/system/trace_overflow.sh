#!/usr/bin/env bash
# A queue of the kernel that overflows makes every list incomplete: no check passes. As root: the recorder is stopped while a
# job opens 20,000 files, with a queue of a few events.
. "$(dirname "$0")/lib.sh" "$@"
[ "$(id -u)" = 0 ] || { echo "skipped: fanotify needs root" >&2; exit 77; }
python=$(command -v /usr/bin/python3 || command -v python3) || { echo "skipped: no Python" >&2; exit 77; }
limit=/proc/sys/fs/fanotify/max_queued_events
before=$(cat "$limit" 2> /dev/null) || { echo "skipped: the kernel has no fanotify" >&2; exit 77; }
restore() { echo "$before" > "$limit"; chmod -R u+rwx "$work" 2> /dev/null; rm -rf "$work"; }
trap restore EXIT
echo 64 2> /dev/null > "$limit" || { echo "skipped: $limit cannot be set here" >&2; exit 77; }

mkdir data
"$python" - << 'PY'
for i in range(20000):
    open("data/part-%05d.bin" % i, "w").close()
PY
cat > job.py << 'PY'
import os, subprocess, sys, time
code = """
import os
rank = int(os.environ["RANK"])
for name in sorted(os.listdir("data"))[rank::2]:
    open("data/" + name).close()
"""
while not os.path.exists("go"):
    time.sleep(0.02)
ranks = [subprocess.Popen([sys.executable, "-c", code], env=dict(os.environ, RANK=str(i), WORLD_SIZE="2")) for i in range(2)]
for rank in ranks:
    rank.wait()
open("done", "w").close()
time.sleep(2)
PY
# record NAME OPTION...: attaches, stops the recorder while the ranks read when OPTION asks for a bounded queue.
record() {
  local name=$1 job attach
  shift
  rm -f go done
  "$python" job.py & job=$!
  "$paritect" attach --pid $job --data data --run "$name" -o "$name.pbundle" "$@" 2> "$name.err" & attach=$!
  for _ in $(seq 200); do grep -q recording "$name.err" && break; sleep 0.05; done
  sleep 1
  [ $# -gt 0 ] && kill -STOP $attach
  touch go
  for _ in $(seq 600); do [ -e done ] && break; sleep 0.05; done
  [ $# -gt 0 ] && kill -CONT $attach
  wait $job
  wait $attach || fail "attach: $(cat "$name.err")"
}
record over --bounded-queue
grep -q 'not as root' over.err && { echo "skipped: fanotify is not allowed here" >&2; exit 77; }
grep -q 'dropped events' over.err || fail "the queue did not overflow: $(cat over.err)"
"$paritect" check --baseline over.pbundle --migrated over.pbundle --item data.sharding -o json > report.json 2> /dev/null
"$python" - << 'PY' || fail "a list with dropped events passed: $(cat report.json)"
import json, sys
checks = {c["id"].split(".")[-1]: c for c in json.load(open("report.json"))["items"][0]["checks"]}
names = ("ranks", "complete", "disjoint", "same-assignment", "rule")
sys.exit(any(checks[name]["verdict"] == "pass" or not checks[name]["missing"] for name in names))
PY
# Without a limit nothing is dropped, however slow the recorder is.
record whole
grep -q 'dropped events' whole.err && fail "an unbounded queue overflowed"
finish
