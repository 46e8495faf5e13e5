#!/usr/bin/env bash
# slurm.sh BUILD_DIR: the scripts of deploy/slurm under a real Slurm on this machine (munged, slurmctld, slurmd, as root), with
# a training of two tasks: which jobs are recorded, what becomes of their records, that no job waits for it or fails of it;
# and `attach --slurm`.
. "$(dirname "$0")/lib.sh" "$@"
[ "$(id -u)" = 0 ] || exit 77
for program in munged slurmctld slurmd sbatch setpriv; do
  command -v $program > /dev/null || [ -x /usr/sbin/$program ] || exit 77
done
python=
for one in python3 /usr/bin/python3; do "$one" -c 'import torch' 2> /dev/null && { python=$(command -v $one); break; }; done
[ -n "$python" ] || exit 77
PATH=$PATH:/usr/sbin:/sbin
chmod 0755 "$work"

own_ports ctld_port slurmd_port master_port
pids=
# until_true SECONDS COMMAND...: waits for what must come, however busy the machine is, for as long as the daemons of this
# script live.
until_true() {
  local end=$((SECONDS + $1)) pid
  shift
  until "$@" > /dev/null 2>&1; do
    [ $SECONDS -lt $end ] || { fail "never: $*"; return 1; }
    for pid in $pids; do
      kill -0 "$pid" 2> /dev/null || { fail "a daemon of Slurm has ended, so never: $*"; return 1; }
    done
    sleep 0.2
  done
}

mkdir -p slurm/state slurm/spool slurm/etc records data munge
chmod 1777 records
head -c 1024 /dev/urandom > munge/key
chmod 0600 munge/key
cp "$source_dir"/deploy/slurm/paritect-* slurm/etc/
for i in 0 1 2 3; do echo "$i" > data/part-$i; done
settings() { # settings LINE...: paritect.conf for the next job
  { sed "s|^records=.*|records=$work/records|; s|^data=.*|data=$work/data|; s|^marks=.*|marks=$work/marks|
         s|^programs=.*|programs=$build_dir|" "$source_dir/deploy/slurm/paritect.conf.example"; printf '%s\n' "$@"; } \
    > slurm/etc/paritect.conf
}
settings partitions=npu
export SLURM_CONF=$work/slurm/slurm.conf
cat > slurm/slurm.conf <<CONF
ClusterName=test
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=$ctld_port
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
StateSaveLocation=$work/slurm/state
SlurmdSpoolDir=$work/slurm/spool
SlurmctldPidFile=$work/slurm/slurmctld.pid
SlurmdPidFile=$work/slurm/slurmd.pid
SlurmctldLogFile=$work/slurm/slurmctld.log
SlurmdLogFile=$work/slurm/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
InactiveLimit=0
SlurmdTimeout=3600
Prolog=$work/slurm/etc/paritect-prolog
TaskProlog=$work/slurm/etc/paritect-task-prolog
Epilog=$work/slurm/etc/paritect-epilog
NodeName=n1 NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$slurmd_port CPUs=$(nproc)
PartitionName=main Nodes=n1 Default=YES State=UP
PartitionName=npu Nodes=n1 State=UP
CONF
munged --foreground --force --key-file="$work/munge/key" --socket="$work/munge/socket" --pid-file="$work/munge/pid" \
  --log-file="$work/munge/log" --seed-file="$work/munge/seed" 2> munge/out & pids=$!
trap 'touch "$work/go"; kill $pids 2>/dev/null; wait $pids 2>/dev/null; cd /; rm -rf "$work"' EXIT
idle() { [ "$(sinfo -h -n n1 -o %t | head -n 1)" = idle ]; }
# Each answers before the next one needs it.
{ until_true 300 munge --no-input --socket="$work/munge/socket" &&
  { slurmctld -D > slurm/ctld.out 2>&1 & pids="$pids $!"; } && until_true 300 sh -c 'scontrol ping | grep -q "is UP"' &&
  { slurmd -D -N n1 > slurm/d.out 2>&1 & pids="$pids $!"; } && until_true 300 idle; } ||
  { tail -n 20 munge/out slurm/*.out slurm/*.log; finish; exit 1; }

cat > train.py <<'PYTHON'
import os, sys, time
rank, ranks = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
import ctypes, torch, torch.distributed as dist
dist.init_process_group("gloo", rank=rank, world_size=ranks)
# The end of a Gloo group can wait for a thread that waits for the interpreter (PyTorch 1.13): it has no end.
ctypes.pythonapi.Py_IncRef(ctypes.py_object(dist.distributed_c10d._get_default_group()))
torch.manual_seed(1)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    with open(f"{sys.argv[1]}/part-{step % 2 * 2 + rank}") as file:
        number = float(file.read())
    optimizer.zero_grad()
    loss = (model(torch.full((2, 4), number)) ** 2).mean()
    loss.backward()
    optimizer.step()
    if rank == 0:
        print(f"step {step + 1} loss {loss.item():.6f}", flush=True)
PYTHON
# Reads its part of the data, at first and then again until the file $2 is there.
cat > read.py <<'PYTHON'
import os, sys, time
part = f"{sys.argv[1]}/part-{os.environ['SLURM_PROCID']}"
while True:
    with open(part) as file:
        file.read()
    print("step 1 loss 0.5", flush=True)
    if len(sys.argv) < 3 or os.path.exists(sys.argv[2]):
        break
    time.sleep(0.1)
PYTHON
job() { # job OPTION... -- COMMAND: its number in $id, its own code as the result
  local options=()
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  id=$(sbatch --parsable --wait -n 2 -o "$work/out-%j" "${options[@]}" --wrap "MASTER_ADDR=127.0.0.1 MASTER_PORT=$master_port $*")
}

# Of a job that asks, by its comment or its partition, there is a bundle with both ranks.
job --comment=paritect -- srun "$python" train.py "$work/data" || fail "a recorded job ended with $?: $(cat "out-$id")"
[ "$(grep -c '^step' "out-$id")" = 3 ] || fail "what the job printed: $(cat "out-$id")"
until_true 300 test -e "records/$id/n1.pbundle" || { ls -R records | head -30; cat records/*/n1/collect.log; }
"$paritect" check --baseline "records/$id/n1.pbundle" -o json=report.json > /dev/null 2> err.txt
ranks=$(/usr/bin/python3 -c 'import json; print(json.load(open("report.json"))["coverage"]["ranks"])')
[ "$ranks" = "{'expected': 2, 'reported': 2}" ] || fail "ranks of job $id: $ranks"
[ "$(find "records/$id/n1/observe" -name '*.jsonl' | wc -l)" = 2 ] || fail "records of two tasks: $(ls -R "records/$id")"
grep -q "logs:" "records/$id/n1/plan.yaml" || fail "the log is in the plan: $(cat "records/$id/n1/plan.yaml")"
[ ! -e "marks/$id" ] || fail "the mark of an ended job stays"
job --partition=npu -- srun "$python" read.py "$work/data" || fail "a job of the partition ended with $?: $(cat "out-$id")"
until_true 300 test -e "records/$id/n1.pbundle"
for rank in 0 1; do grep -qsr "part-$rank" "records/$id/n1/trace" || fail "what rank $rank opened: $(ls -R "records/$id")"; done

# Of another nothing; and a job's own end stays its own.
job -- srun "$python" read.py "$work/data" || fail "an ordinary job ended with $?"
[ ! -e "records/$id" ] || fail "a job that did not ask was recorded"
job --comment=other -- "exit 3"
[ $? = 3 ] || fail "the code of a job"
job --comment=paritect -- "exit 3"
[ $? = 3 ] || fail "the code of a recorded job"

# No job waits for its bundle: the node is free while one is being made, which lasts until it is let go on.
mkdir slow
for program in paritect libparitect-trace.so observer; do ln -s "$build_dir/$program" slow/; done
printf '#!/bin/sh\ntouch %s/began\nwhile [ ! -e %s/go ]; do sleep 0.1; done\n' "$work" "$work" > slow/paritect-agent
chmod +x slow/paritect-agent
chmod 1777 "$work"
settings "programs=$work/slow"
job --comment=paritect -- srun "$python" read.py "$work/data" || fail "the job ended with $?"
until_true 300 test -e began
until_true 300 idle
touch go

# Without the product, or where no record can be written, a job runs as ever.
settings programs=/nonexistent
job --comment=paritect -- srun "$python" read.py "$work/data" || fail "without the product: $?"
[ ! -e "records/$id" ] || fail "records without the product"
settings records=/proc/none
job --comment=paritect -- srun "$python" read.py "$work/data" || fail "without a place for records: $?"
until_true 300 idle

# A job that runs already.
settings
id=$(sbatch --parsable -n 2 -o "$work/out-%j" --wrap "MASTER_ADDR=127.0.0.1 MASTER_PORT=$master_port srun $python read.py $work/data $work/stop")
until_true 300 grep -q 'step 1' "out-$id"
"$paritect" attach --slurm "$id" --data "$work/data" -o "$work/attached.pbundle" 2> attach.txt & attached=$!
until_true 60 grep -q recording attach.txt
for rank in 0 1; do until_true 60 grep -qs "part-$rank" -r paritect-runs; done
touch stop
wait $attached || fail "attach: $(cat attach.txt)"
"$paritect" check --baseline attached.pbundle -o json=report.json > /dev/null 2> err.txt
ranks=$(/usr/bin/python3 -c 'import json; print(json.load(open("report.json"))["coverage"]["ranks"]["reported"])')
[ "$ranks" = 2 ] || fail "ranks of the attached job: $ranks"
expect 2 'no process of Slurm job 999999 on this node' "$paritect" attach --slurm 999999 --data "$work/data"
finish
