#!/usr/bin/env bash
# live_node.sh BUILD_DIR: this very machine read with `live: true`, with a made-up training on it: what is loaded is
# seen, what is secret is not, and what another user may not see is told.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$1"
chmod 755 "$work"
planted=planted-4711
library=$work/libnccl.so.2.18.3
cp "$build_dir/agent/probe/fake/gpu/libnvidia-ml.so.1" "$library" || exit 1

env -i RANK=0 WORLD_SIZE=1 MASTER_ADDR=127.0.0.1 HCCL_DETERMINISTIC=true HF_TOKEN=$planted MY_OWN=$planted \
  LD_PRELOAD="$library" bash -c 'exec -a python3 bash -c "sleep 120; :" train.py --lr 1e-4 --api-key '$planted' --db mysql://me:'$planted'@host/x' &
training=$!
trap 'pkill -P $training 2>/dev/null; kill $training 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 50); do
  grep -q libnccl "/proc/$training/maps" 2>/dev/null && break
  sleep 0.1
done
printf 'run: here\nlive: true\nfacts: {live_pid: %s}\n' "$training" > plan.yaml

expect 0 '' "$agent" collect plan.yaml -o here.pbundle
for seen in loaded.nccl.version 2.18.3 HCCL_DETERMINISTIC HF_TOKEN host.memory_bytes host.boot_id process.script; do
  grep -aqF -e "$seen" here.pbundle || fail "the bundle does not tell $seen"
done
cat out.txt err.txt here.pbundle | grep -aqF "$planted" && fail "a planted secret left the node"

# Both ways to a verdict, and no crash where there is no device.
timeout 60 "$paritect" check --baseline plan.yaml --migrated here.pbundle -o json > report.json 2> err.txt
[ $? -le 1 ] || { fail "check of a live plan"; cat err.txt; }
grep -qF "$planted" report.json err.txt && fail "a planted secret stands in the report"
ls /sys/bus/pci/devices/*/class > /dev/null 2>&1 && ! grep -qE '^0x(0302|1200)' /sys/bus/pci/devices/*/class &&
  ! ls /dev/nvidia[0-9]* /dev/davinci[0-9]* > /dev/null 2>&1 && ! grep -q '0x10de' /sys/bus/pci/devices/*/vendor &&
  { grep -q 'no GPU and no NPU' err.txt || fail "a machine without accelerator does not say so"; }

# Another user sees the command line only.
if [ "$(id -u)" = 0 ] && command -v setpriv > /dev/null &&
  setpriv --reuid=65534 --regid=65534 --clear-groups "$agent" version > /dev/null 2>&1; then
  mkdir -m 777 other
  expect 0 'may not be looked at' setpriv --reuid=65534 --regid=65534 --clear-groups "$agent" collect plan.yaml -o other/nobody.pbundle
  cat out.txt err.txt other/nobody.pbundle | grep -aqF "$planted" && fail "a planted secret left by the command line"
fi

# Without `live: true` nothing of the machine is read.
printf 'run: here\n' > plain.yaml
expect 0 '0 of 0 pieces' "$agent" collect plain.yaml -o plain.pbundle
finish
