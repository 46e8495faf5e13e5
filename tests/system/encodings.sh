#!/usr/bin/env bash
# encodings.sh BUILD_DIR: keys, values and names in other encodings than UTF-8 go from the files through a bundle into the
# report: nothing is lost on the way, nothing crashes, and the report is valid UTF-8.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$1"

mkdir -p gpu npu
# make_run FOLDER STYLE: Latin-1, GBK and broken bytes in every kind of text; the schedule as stated.
make_run() {
  printf 'NCCL_ALGO=Ri\xffng\nHCCL_\xe9=1\nOMP_NUM_THREADS=4\n' > "$1/env.txt"
  printf 'export NCCL_ALGO=R\xff\npython train.py --seed 1 --name caf\xe9 --w\xffd 3\n' > "$1/run.sh"
  printf '{"learning_rate": "0.1\xe9"}' > "$1/args.json"
  printf '# \xc5\xe4\xd6\xc3\nseed: 1\n' > "$1/conf.yaml"
  {
    echo '------------------------ arguments ------------------------'
    printf '  lr ................ 0.1\n  lr_decay_style .... %s\n  caf\xe9 ............ a\xff\n' "$2"
    echo '-------------------- end of arguments ---------------------'
    for step in 1 2 3 4 5 6; do
      printf ' [2026-01-01 00:00:0%d] iteration %8d/%8d | learning rate: 1.0E-04 | lm loss: 1.0E+00 | caf\xe9: 1.0 |\n' $step $step 6
    done
  } > "$1/train.log"
  mkdir -p "$1/data"
  printf 'x' > "$1/data/$(printf 'na\xefve.txt')"
  cat > "$1/plan.yaml" <<END
run: $1
node: $1-01
datasets: [{name: d, root: data}]
settings: [{file: env.txt, kind: environment}, run.sh, args.json, conf.yaml]
logs: [train.log]
END
}
export SOURCE_DATE_EPOCH=1764500000  # the moment of a report is no difference
make_run gpu cosine
make_run npu "$(printf 'cos\xff')"

is_utf8() { iconv -f UTF-8 -t UTF-8 "$1" > /dev/null 2>&1 || fail "$1 is not UTF-8"; }

# A single-byte character set is the likeliest reading of a lone high byte, and a note says that it was read so.
expect 1 'cosine.*cosÿ' "$paritect" check --baseline gpu --migrated npu -o json
cp out.txt direct.json
is_utf8 direct.json
for run in gpu npu; do expect 0 '' "$agent" collect $run -o $run.pbundle; done
expect 1 '' "$paritect" check --baseline gpu.pbundle --migrated npu.pbundle -o json
[ ! -s err.txt ] || fail "reading the bundles writes to standard error: $(head -n 3 err.txt)"
cmp -s out.txt direct.json || { fail "the bundles give another report"; diff out.txt direct.json | head -n 10 >&2; }
for format in table markdown csv jsonl; do
  expect 1 '' "$paritect" check --baseline gpu.pbundle --migrated npu.pbundle -o "$format=report.$format"
  is_utf8 "report.$format"
done
for file in env.txt run.sh args.json conf.yaml train.log; do
  expect 0 '' "$paritect" inspect --as settings npu/$file
  is_utf8 out.txt
done
finish
