#!/usr/bin/env bash
# The recorder is loaded into other people's programs, on old hosts: it may need only old symbols of glibc, and may show
# no name but its hooks.
. "$(dirname "$0")/lib.sh" "$@"
library=$build_dir/libparitect-trace.so
[ -f "$library" ] || exit 77
command -v objdump > /dev/null || exit 77

newest=$(objdump -T "$library" | grep '\*UND\*' | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
[ "$(printf '%s\nGLIBC_2.17\n' "$newest" | sort -V | tail -n 1)" = GLIBC_2.17 ] || fail "needs $newest"
hooks='^prctl$|^(__)?(open|open64|openat|openat64)(_2)?$|^(f|fre)open(64)?$|^(fd)?opendir$|^readdir(64)?$|^rewinddir$|^closedir$|^scandir(at)?(64)?$|^f?exec(ve|v|vp|vpe|l|lp|le)$|^posix_spawnp?$|^(set|put|unset)env$'
other=$(objdump -T "$library" | awk '/ \.text/ { print $NF }' | grep -Ev "$hooks")
[ -z "$other" ] || fail "shows names that are no hooks: $other"
needed=$(objdump -p "$library" | awk '/NEEDED/ { print $2 }' | grep -Ev '^(libc|libdl)\.so')
[ -z "$needed" ] || fail "needs $needed"
finish
