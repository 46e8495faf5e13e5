#!/bin/sh
# fresh_output.sh COMMAND...: removes the file that -o names, then runs COMMAND. The launcher of precompiled headers: ccache
# preprocesses through the one that lies at the output's place, so that a changed message found the old one in the cache.
previous=
for argument; do
  if [ "$previous" = -o ]; then rm -f -- "$argument"; fi
  previous=$argument
done
exec "$@"
