#!/usr/bin/env bash
# Programs that break careless preloads run unchanged under `paritect run`: the same output, the same exit code, the
# same files; and what cannot be recorded is said.
. "$(dirname "$0")/lib.sh" "$@"
[ -f "$build_dir/libparitect-trace.so" ] || exit 77
mkdir data
for i in 1 2 3; do echo "content $i" > data/part-$i.bin; done
data=$work/data
attempt=0

# same COMMAND...: output, errors and exit code as without the recorder. The run's folder is in $run.
same() {
  local plain recorded
  "$@" > plain.out 2> plain.err < /dev/null
  plain=$?
  attempt=$((attempt + 1))
  "$paritect" run --run "r$attempt" --data "$data" --agent none -- "$@" > run.out 2> run.all < /dev/null
  recorded=$?
  grep -v '^paritect run: ' run.all > run.err
  [ "$plain" = "$recorded" ] || fail "exit code $recorded, not $plain: $*"
  cmp -s plain.out run.out || { fail "other output: $*"; diff plain.out run.out | head -n 5 >&2; }
  cmp -s plain.err run.err || { fail "other errors: $*"; diff plain.err run.err | head -n 5 >&2; }
  run=$(echo "$work/paritect-runs/r$attempt"/*/)
}

# saw NAME: the last run recorded that data/NAME was opened.
records() { cat "$run"trace/*.ptrace "$run"trace/*/*.ptrace 2> /dev/null | tr '\0' '\n' > records.txt; }
saw() { records; LC_ALL=C grep -aq "^[oO] [0-9 ]* $data/$1\$" records.txt || fail "did not see $1"; }
saw_not() { records; LC_ALL=C grep -aq "^[oO] [0-9 ]* $data/$1\$" records.txt && fail "saw $1"; }

same cat "$data/part-1.bin" && saw part-1.bin && saw_not part-2.bin
same bash -c 'cd data && read -r line < part-2.bin && echo "$line"' && saw part-2.bin
same bash -c 'exit 3'
same bash -c 'kill -TERM $$'
same bash -c 'echo one; echo two >&2; cat data/part-3.bin' && saw part-3.bin
same sh -c "tar -cf - -C '$work' --mtime=@0 data | tar -tf -" && saw part-1.bin && saw part-3.bin
same sh -c 'tar -cf - data | tar -xf - -O'
same ls -U "$data"
same find data -type f -newer /nowhere
same grep -r content data && saw part-2.bin
same sort data/part-1.bin data/part-2.bin
same env -i /bin/cat "$data/part-1.bin" && saw_not part-1.bin
same env LD_PRELOAD= cat "$data/part-1.bin" && saw_not part-1.bin
expect 127 "No such file" "$paritect" run --run nowhere -- /nowhere/program

if command -v git > /dev/null; then
  same git -c init.defaultBranch=main init -q repository
  rm -rf repository
  same sh -c 'rm -rf g && git -c init.defaultBranch=main init -q g && cp data/* g && cd g && git add . && git ls-files -s'
fi
if command -v node > /dev/null; then
  same node -e 'console.log(require("fs").readFileSync("data/part-2.bin", "utf8"))' && saw part-2.bin
fi

# A program that closes every descriptor, ours too, and opens its own files under the freed numbers.
python=$(command -v /usr/bin/python3 || command -v python3)
if [ -n "$python" ]; then
  cat > close_all.py << 'END'
import os
open("data/part-1.bin").read()
os.closerange(3, 4096)
made = [os.open("mine-%d" % i, os.O_CREAT | os.O_WRONLY | os.O_TRUNC) for i in range(1200)]
open("data/part-2.bin").read()
os.closerange(3, 4096)
print(sum(os.path.getsize("mine-%d" % i) for i in range(1200)))
END
  same "$python" close_all.py && saw part-1.bin && saw part-2.bin
  cat > workers.py << 'END'
import multiprocessing, os, signal
def work(name):
    with open(name) as file:
        return file.read()
if __name__ == "__main__":
    signal.signal(signal.SIGALRM, lambda *_: open("data/part-1.bin").close())
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(pool.map(work, sorted("data/" + name for name in os.listdir("data"))))
    signal.setitimer(signal.ITIMER_REAL, 0)
    os.environ["RANK"] = "5"
    print(os.environ["RANK"], len(os.listdir(b"data")), [e.name for e in sorted(os.scandir("data"), key=lambda e: e.name)])
    try:
        open("data/none")
    except FileNotFoundError as error:
        print(error)
END
  same "$python" workers.py && saw part-1.bin && saw part-2.bin && saw part-3.bin
  same "$python" -c 'import subprocess; print(subprocess.run(["cat", "data/part-3.bin"], close_fds=True, capture_output=True).stdout)' &&
    saw part-3.bin
fi

# says LINE: the last run's records hold it.
says() { records; LC_ALL=C grep -aq "$1" records.txt || fail "no record '$1'"; }
# One case a kind of trouble: trace_breakers.c.
if ${CC:-cc} -O2 -pthread -o breakers "$source_dir/tests/system/trace_breakers.c" 2> cc.err; then
  echo "content 4" > data/part-4.bin
  echo "bytes" > "data/n"$'\xff\xfe'".bin"
  same "$work/breakers" closefrom "$data" && saw part-1.bin && saw part-2.bin
  same "$work/breakers" spawn "$data" && saw part-1.bin && saw part-3.bin && says '^u /bin/cat$'
  same "$work/breakers" threads "$data" && saw part-1.bin && saw part-3.bin
  [ "$(grep -ac '^[oO] ' records.txt)" = 20000 ] || fail "threads: not every open is recorded"
  same "$work/breakers" odd "$data" && saw part-1.bin && saw part-2.bin && saw part-3.bin && saw part-4.bin
  says 'n..\.bin$'
  same "$work/breakers" seccomp "$data" && saw part-1.bin
  grep -q 'no seccomp' run.out || { says '^q seccomp$' && saw_not part-2.bin; }
  # Of an open whose path cannot be told it is said that it is lost.
  same "$work/breakers" deep "$data" && says '^l 1$'
  rm -rf data/ddd*
  rm -f data/part-4.bin data/n*
else
  echo "note: no C compiler: $(head -n 1 cc.err)" >&2
fi
# A limit of file sizes ends no program: the record says that it is full.
same bash -c '(ulimit -f 0; exec cat data/part-1.bin > /dev/null); echo $?'
same bash -c '(ulimit -f 4; for i in $(seq 300); do read -r x < "$0/part-2.bin"; done); echo $?' "$data" && says '^f '
# A reader that leaves is no secret to the command.
(yes; echo "$?" > yes.plain) 2> /dev/null | head -n 1 > /dev/null
(timeout 20 "$paritect" run --run yes --agent none -- yes; echo "$?" > yes.run) 2> /dev/null | head -n 1 > /dev/null
[ "$(cat yes.plain)" = "$(cat yes.run)" ] || fail "yes | head: exit code $(cat yes.run), not $(cat yes.plain)"
# A child that is started without the recorder's environment is named.
same bash -c 'RANK=0 WORLD_SIZE=1 env -i /bin/cat data/part-1.bin' && saw_not part-1.bin && says '^u /bin/cat$'
# Each launcher's variables tell the recorder the rank, and the run's folder; what an image left behind does not.
for rank in "TORCHELASTIC_RUN_ID=x RANK=3 WORLD_SIZE=8" "OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=8 RANK_ID=0" \
  "PMI_RANK=3 PMI_SIZE=8 MPI_LOCALNRANKS=4" "PMIX_RANK=3" "MV2_COMM_WORLD_RANK=3 MV2_COMM_WORLD_SIZE=8" \
  "SLURM_PROCID=3 SLURM_STEP_NUM_TASKS=8" "HOROVOD_RANK=3 HOROVOD_SIZE=8" "PADDLE_TRAINER_ID=3 PADDLE_TRAINERS_NUM=8" \
  "RANK_ID=3 RANK_SIZE=8 DEVICE_ID=3" "MS_NODE_ID=3 MS_WORKER_NUM=8"; do
  same env $rank cat "$data/part-1.bin" && says "^v ${rank%% *}$"
  # shellcheck disable=SC2086
  env $rank "$paritect" run --run "launched-$attempt" --data "$data" --agent none -- cat "$data/part-1.bin" > /dev/null 2> launched.err
  [ -d "$(echo "$work/paritect-runs/launched-$attempt"/*-rank3)" ] || fail "no folder of rank 3: $rank"
  case $rank in
    *RANK_ID=0*) grep -q 'variables give different ranks: OMPI_COMM_WORLD_RANK=3' launched.err || fail "nothing said of $rank" ;;
    *) grep -q 'different ranks' launched.err && fail "said of $rank: $(cat launched.err)" ;;
  esac
done
# A name that is not there ends before the command starts.
expect 2 'not there' "$paritect" run --run typo --data "$work/dta" -- touch "$work/ran"
[ -e ran ] && fail "the command ran in spite of a wrong --data"
printf 'run: x\ndatasets: [{name: train, root: nowhere}]\n' > nowhere.yaml
"$paritect" run --run nowhere --plan nowhere.yaml --agent none -- true 2> nowhere.err
grep -q 'nowhere is not there' nowhere.err || fail "a data set that is not there: $(cat nowhere.err)"
grep -q 'no file of the data was opened' nowhere.err || fail "nothing recorded, and nothing said: $(cat nowhere.err)"
# The bundle holds the plan's data sets, each with the files that were read of it.
mkdir -p two/train two/val
echo a > two/train/a; echo b > two/train/b; echo v > two/val/v
printf 'run: two\nworld_size: 1\ndatasets: [{name: train, root: two/train}, {name: val, root: two/val}]\n' > two.yaml
RANK=0 WORLD_SIZE=1 "$paritect" run --run two --plan two.yaml --agent none -o two.pbundle -- cat two/train/a two/train/b two/val/v > /dev/null 2> two.err
"$paritect" check --baseline two.pbundle --migrated two.pbundle -o json > two.json 2> /dev/null
grep -q '"expected_from_union"' two.json && fail "the data sets of the plan are not in the bundle"
python=$(command -v /usr/bin/python3 || command -v python3)
[ -z "$python" ] || "$python" - << 'PY' || fail "a run of two data sets is not judged whole: $(cat two.err)"
import json, sys
checks = {c["id"]: c["verdict"] for i in json.load(open("two.json"))["items"] for c in i["checks"]}
wanted = ["data.dataset.files", "data.dataset.content", "data.sharding.complete", "data.sharding.disjoint", "data.sharding.same-assignment"]
bad = {name: checks[name] for name in wanted if checks[name] != "pass"}
print(bad, file=sys.stderr)
sys.exit(bool(bad))
PY
# The code of a command that ends by a signal.
for signal in TERM KILL SEGV; do
  "$paritect" run --run "signal-$signal" --agent none -- bash -c "kill -$signal \$\$" > /dev/null 2>&1
  code=$?
  [ "$code" = $((128 + $(kill -l $signal))) ] || fail "SIG$signal: exit code $code"
done

# What cannot be recorded is named.
if echo 'int main(void) { return 0; }' | ${CC:-cc} -x c -static -o static - 2> /dev/null; then
  same bash -c 'RANK=0 WORLD_SIZE=1 exec bash -c "cat data/part-1.bin; ./static; true"'
  expect 0 'static' "$paritect" inspect --as shards "$run"trace
  tr '\0' '\n' < <(cat "$run"trace/* "$run"trace/*/* 2> /dev/null) | grep -q '^u ./static$' || fail "does not declare the static program"
fi
if [ "$(id -u)" = 0 ] && cp /bin/cat suid 2> /dev/null && chown nobody suid && chmod 4755 suid; then
  chmod 755 "$work"
  same bash -c './suid data/part-1.bin; true' && saw_not part-1.bin
  tr '\0' '\n' < <(cat "$run"trace/* "$run"trace/*/* 2> /dev/null) | grep -q '^u ./suid$' || fail "does not declare the setuid program"
fi

# Signals: passed on when sent to the wrapper; 128 + signal as the shell tells it.
"$paritect" run --run signals -- bash -c 'trap "echo caught; exit 9" TERM; echo ready; while :; do sleep 0.1; done' > sig.out 2> /dev/null &
wrapper=$!
for _ in $(seq 100); do grep -q ready sig.out && break; sleep 0.1; done
kill -TERM $wrapper
wait $wrapper
[ $? = 9 ] && grep -q caught sig.out || fail "SIGTERM is not passed on"
# A job left behind goes on printing, and nobody waits for it.
start=$(date +%s)
"$paritect" run --run behind -- bash -c '(sleep 8; echo late >> late.txt; echo late) & echo now' > behind.out 2> /dev/null
[ $(($(date +%s) - start)) -lt 7 ] && grep -q now behind.out || fail "waits for a background job"
# A terminal stays one.
if command -v script > /dev/null; then
  script -qec "$paritect run --run tty -- bash -c 'test -t 1 && test -t 2 && echo is-a-terminal'" /dev/null > tty.out 2>&1 < /dev/null
  grep -q is-a-terminal tty.out || fail "the terminal is lost"
  grep -rq is-a-terminal paritect-runs/tty/*/output.log || fail "a terminal's output is not kept"
fi
# Secrets stay: neither in the folder nor in the bundle.
env MY_API_TOKEN=planted-77 OMP_NUM_THREADS=3 "$paritect" run --run secrets -- true --api-key planted-88 > /dev/null 2>&1
grep -rqa 'planted-' paritect-runs/secrets && fail "a secret is written down"
grep -q 'OMP_NUM_THREADS=3' paritect-runs/secrets/*/environment.txt || fail "the allow-list is not written down"
expect 0 "" "$paritect" check --migrated paritect-runs/secrets/*.pbundle -o json
finish
