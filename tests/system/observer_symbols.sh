#!/usr/bin/env bash
# observer_symbols.sh BUILD_DIR: the observer's library is loaded into other people's trainings, on old hosts: it may need
# only the C library up to glibc 2.28, and may show no name but its four functions.
. "$(dirname "$0")/lib.sh" "$@"
library=$build_dir/observer/libparitect-observe.so
[ -f "$library" ] || exit 77
command -v objdump > /dev/null || exit 77

newest=$(objdump -T "$library" | grep '\*UND\*' | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
[ -n "$newest" ] || fail "no symbol of the C library: was it read?"
[ "$(printf '%s\nGLIBC_2.28\n' "$newest" | sort -V | tail -n 1)" = GLIBC_2.28 ] || fail "needs $newest"
other=$(objdump -T "$library" | awk '/ \.(text|data|bss)/ { print $NF }' | grep -Ev '^paritect_(fingerprint|sampled|digest|observe_version)$')
[ -z "$other" ] || fail "shows other names: $other"
needed=$(objdump -p "$library" | awk '/NEEDED/ { print $2 }' | grep -Ev '^lib[cm]\.so')
[ -z "$needed" ] || fail "needs $needed"
finish
