#!/usr/bin/env bash
# `paritect diff shards A B`: the picture, the marks, json, and the exit codes.
. "$(dirname "$0")/lib.sh" "$@"
mkdir a b c
printf '/d/f0\n/d/f2\n' > a/rank_0.txt
printf '/d/f1\n/d/f3\n' > a/rank_1.txt
printf '/e/f0\n/e/f1\n' > b/rank_0.txt
printf '/e/f1\n/e/f2\n' > b/rank_1.txt
printf '/d/f2\n/d/f0\n' > c/rank_0.txt
cp a/rank_1.txt c/rank_1.txt

expect 0 'same rank' "$paritect" diff shards a a
expect 1 'read_twice' "$paritect" diff shards a b
grep -qE '^f0 +=\. *$' out.txt || fail "f0 is not shown as read by rank 0 on both sides: $(cat out.txt)"
grep -qE '^f1 +B= read_twice bx2' out.txt || fail "f1 is not marked as read twice: $(cat out.txt)"
grep -qE '^f2 +ab other_rank' out.txt || fail "f2 is not marked as read by another rank: $(cat out.txt)"
grep -qE '^f3 +\.a only_one_side b:0' out.txt || fail "f3 is not marked as not read: $(cat out.txt)"
expect 1 'another order: rank 0' "$paritect" diff shards a c
expect 1 '"read_twice": 1' "$paritect" diff shards a b -o json
expect 2 'not there' "$paritect" diff shards a nowhere
mkdir empty
expect 2 'no shard list' "$paritect" diff shards a empty
printf 'run: x\nworld_size: 2\nshards: [{list: "a/rank_{rank}.txt", dataset: train}]\n' > plan.yaml
expect 1 'train' "$paritect" diff shards plan.yaml b
gzip -k a/rank_0.txt a/rank_1.txt
mkdir z && mv a/*.gz z/
expect 0 '' "$paritect" diff shards a z
# The same on both sides is equal, whatever it is: padding by wrap-around reads a file twice on both.
mkdir pad
printf '/d/f0\n/d/f2\n' > pad/rank_0.txt
printf '/d/f1\n/d/f0\n' > pad/rank_1.txt
expect 0 'read_twice ax2 bx2' "$paritect" diff shards pad pad
# A rank without a list: what is there is equal, and that is not all.
mkdir hole
cp a/rank_0.txt hole/rank_0.txt
printf '/d/f4\n' > hole/rank_2.txt
expect 2 'no list of rank 1' "$paritect" diff shards hole hole
grep -q 'cannot be told' out.txt err.txt 2> /dev/null || "$paritect" diff shards hole hole 2>&1 | grep -q 'cannot be told' || fail "does not say why"
"$paritect" diff shards hole hole -o json > null.json 2> /dev/null
grep -q '"equal": null' null.json || fail "json does not say null"
# A difference stands, whatever is missing.
expect 1 'only_one_side' "$paritect" diff shards hole a
# Without UTF-8 nothing is no ASCII.
mkdir long
printf '/d/%0100d\n/d/x\n' 7 > long/rank_0.txt
printf '/d/\xff\xfe\n' > long/rank_1.txt
LC_ALL=C "$paritect" diff shards long long > narrow.txt 2>&1
LC_ALL=C grep -q '[^ -~]' narrow.txt && fail "not ASCII: $(cat narrow.txt)"
finish
