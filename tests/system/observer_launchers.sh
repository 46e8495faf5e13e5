#!/usr/bin/env bash
# observer_launchers.sh BUILD_DIR: the examples for Slurm and Kubernetes (deploy/). What Slurm would add to a task's
# environment makes its Python observed and keeps what was there; the manifest names what `observe env` prints.
. "$(dirname "$0")/lib.sh" "$@"
[ -f "$build_dir/observer/start.py" ] || exit 77
python=$(command -v python3) || exit 77
export PARITECT=$paritect PARITECT_OBSERVE_ROOT=$work/observe
mkdir own
echo 'def set_context(**settings): return settings' > own/mindspore.py
program='import mindspore; print(mindspore.set_context(mode=1))'

# As slurmd does: each line "export NAME=VALUE" as it stands, to the end of the line.
as_slurm() {
  while IFS= read -r line; do
    case $line in "export "*=*) line=${line#export }; export "${line%%=*}=${line#*=}" ;; esac
  done
}

lines=$(SLURM_JOB_ID=17 PYTHONPATH=$work/own LD_PRELOAD=libm.so.6 "$source_dir/deploy/slurm/paritect-task-prolog") || fail "the prolog ended with $?"
[ "$(printf '%s\n' "$lines" | grep -c '^export ')" = 5 ] || fail "the prolog printed: $lines"
printf '%s\n' "$lines" | grep -q "^export PYTHONPATH=.*/site:$work/own\$" || fail "PYTHONPATH of the task is gone: $lines"
printf '%s\n' "$lines" | grep -q '^export LD_PRELOAD=libm.so.6:' || fail "LD_PRELOAD of the task is gone: $lines"
(as_slurm <<< "$lines"; "$python" -c "$program") > out.txt 2> err.txt || fail "the task: $(cat err.txt)"
[ "$(cat out.txt)" = "{'mode': 1}" ] && [ ! -s err.txt ] || fail "the task says $(cat out.txt err.txt)"
[ "$(ls observe/17/*.jsonl | wc -l)" = 1 ] || fail "the task left no record"

# Where it cannot be, nothing is added, and Slurm is told no failure.
[ -z "$("$source_dir/deploy/slurm/paritect-task-prolog")" ] || fail "outside of a job"
[ -z "$(SLURM_JOB_ID=18 PARITECT=$work/none "$source_dir/deploy/slurm/paritect-task-prolog")" ] || fail "without the product"
touch file
lines=$(SLURM_JOB_ID=19 PARITECT_OBSERVE_ROOT=$work/file "$source_dir/deploy/slurm/paritect-task-prolog") || fail "a folder that cannot be made"
[ -z "$lines" ] || fail "a folder that cannot be made: $lines"

# The job script, with stand-ins of Slurm's programs.
mkdir bin
printf '#!/bin/sh\necho node-1\n' > bin/scontrol
printf '#!/bin/sh\n[ "$MASTER_ADDR" = node-1 ] && exec "$@"\n' > bin/srun
chmod +x bin/*
PATH=$work/bin:$PATH SLURM_JOB_ID=20 SLURM_SUBMIT_DIR=$work SLURM_JOB_NODELIST='node-[1-2]' PYTHONPATH=$work/own \
  bash "$source_dir/deploy/slurm/observed-job" "$python" -c "$program" > out.txt 2> err.txt || fail "the job: $(cat err.txt)"
[ "$(ls observe-20/*.jsonl | wc -l)" = 1 ] || fail "the job left no record"

printed=$("$paritect" observe env "$work/k8s" --format=env 2>/dev/null | sed 's/=.*//' | sort)
named=$(sed -n 's/^ *- {name: \([A-Z_]*\), value: .*/\1/p' "$source_dir/deploy/kubernetes/observed-training.yaml" | sort)
[ "$printed" = "$named" ] || fail "the manifest names $named, observe env prints $printed"
finish
