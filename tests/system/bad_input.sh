#!/usr/bin/env bash
# bad_input.sh BUILD_DIR: what people and broken disks hand in ends in a clear error or in "not performed", in bounded
# memory and time, never in a crash.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$1"

mkdir -p data logs
echo one > data/one.txt
printf 'run: good\nnode: n1\ndatasets: [{name: d, root: data}]\n' > good.yaml

# Plans that are the user's mistake: exit 2 with the place.
printf 'run: a\ndatasetz: []\n' > unknown-key.yaml
expect 2 'unknown-key.yaml:2:1: .*datasetz' "$paritect" check --baseline unknown-key.yaml --migrated good.yaml
printf 'run: a\nrun: b\n' > repeated.yaml
expect 2 'repeated.yaml:2:1: ' "$paritect" check --baseline repeated.yaml
printf 'run: a\nworld_size: many\n' > wrong-type.yaml
expect 2 'wrong-type.yaml:2:13: ' "$paritect" check --baseline wrong-type.yaml
printf 'run: [a\n  b: {\n' > not-yaml.yaml
expect 2 'not-yaml.yaml:[0-9]+:[0-9]+: ' "$paritect" check --baseline not-yaml.yaml
head -c 4096 /dev/urandom > binary.yaml
expect 2 'binary.yaml' "$paritect" check --baseline binary.yaml
printf 'run: a\nlogs: [nothere.log]\n' > lost.yaml
expect 2 'lost.yaml:2:.*nothere.log' "$paritect" check --baseline lost.yaml
expect 2 'nowhere' "$paritect" check --baseline nowhere.yaml
expect 2 '' "$paritect" check --baseline
expect 2 '' "$paritect" check --no-such-option
expect 2 '' "$paritect" no-such-command
expect 2 '' "$paritect"
expect 2 'not supported by this version' "$paritect" check --baseline good.yaml -o no-such-format
printf 'profile: mine/1\nextends: pre-tuning/1\nthresholds: {no_such: 1}\n' > profile.yaml
expect 2 'profile.yaml:3:' "$paritect" check --baseline good.yaml --profile profile.yaml

# A plan that collects nothing, and one side alone: nothing failed, nothing can pass.
: > empty.yaml
expect 0 '"not_performed"' "$paritect" check --baseline empty.yaml --migrated empty.yaml -o json
expect 3 '' "$paritect" check --baseline empty.yaml --migrated empty.yaml --complete -o json
expect 0 '"not_performed"' "$paritect" check --baseline good.yaml -o json

# A pattern that matches nothing is evidence of absence, not a mistake.
printf 'run: a\nlogs: ["logs/rank{rank}.log"]\n' > pattern.yaml
expect 0 '"not_performed"' "$paritect" check --baseline pattern.yaml --migrated pattern.yaml -o json

# Logs: binary, a hole of 4 GiB, one endless line.
head -c 200000 /dev/urandom > logs/binary.log
truncate -s 4G logs/sparse.log
head -c 3000000 /dev/zero | tr '\0' 'x' > logs/line.log
for name in binary sparse line; do
  printf 'run: r\nlogs: [logs/%s.log]\n' $name > $name.yaml
  expect 0 '"not_performed"' "$paritect" check --baseline $name.yaml --migrated $name.yaml -o json
done

# A folder and a file that cannot be read. Root reads everything: run as nobody then.
mkdir -p closed/data closed/inner
echo two > closed/data/two.txt
echo text > closed/log.txt
chmod 000 closed/data closed/log.txt
printf 'run: r\ndatasets: [{name: d, root: data}]\n' > closed/data.yaml
printf 'run: r\nlogs: [log.txt]\n' > closed/log.yaml
as_nobody=()
if [ "$(id -u)" = 0 ]; then
  chmod 755 . closed
  if setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$paritect" 2>/dev/null; then
    as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
  fi
fi
if [ "$(id -u)" != 0 ] || [ ${#as_nobody[@]} -gt 0 ]; then
  expect 0 'not_performed' "${as_nobody[@]}" "$paritect" check --baseline good.yaml --migrated closed/data.yaml -o json
  expect 0 'not_performed' "${as_nobody[@]}" "$paritect" check --baseline closed/log.yaml --migrated closed/log.yaml -o json
fi

# Places that cannot be written.
expect 2 '' "$paritect" check --baseline good.yaml -o json=/no/such/folder/report.json

finish
