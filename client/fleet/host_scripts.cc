#include "client/fleet/host_scripts.h"

#include "absl/strings/str_cat.h"

namespace paritect {
namespace {

// Where things are: $prefix as deploy/agent/* take it ("" for the system's), $root, $bin, $state.
constexpr absl::string_view kPlaces = R"sh(set -u
prefix=${1#-}; state=${2#-}
case $prefix in ""|/*) ;; *) prefix=$HOME/$prefix;; esac
root=${prefix:-/usr/local}
bin=$root/bin
own=$state
if [ -z "$state" ]; then
  state=/var/lib/paritect-agent
  [ -z "$prefix" ] || state=$prefix/var/lib/paritect-agent
fi
)sh";

}  // namespace

std::string ProbeScript() {
  return absl::StrCat(kPlaces, R"sh(
echo "paritect-probe 1"
echo "machine $(uname -m)"
echo "name $(uname -n)"
echo "uid $(id -u)"
agent=$bin/paritect-agent
if [ ! -x "$agent" ] && [ -z "$prefix" ] && [ -x /usr/bin/paritect-agent ]; then
  agent=/usr/bin/paritect-agent
  echo "packaged yes"
fi
if [ -x "$agent" ]; then
  said=$("$agent" version 2>/dev/null | head -n 1)
  echo "version ${said##* }"
fi
if [ -e "$state/agent.credential" ]; then
  # A list in brackets, or a line each.
  said=$(sed -n -e 's/^servers: *\[\(.*\)\].*/\1/p' -e '/^servers: *$/,/^authority/s/^ *- *//p' \
    "$state/agent.credential" 2>/dev/null | tr -d "\"' " | tr '\n' ',')
  said=${said%,}
  echo "joined ${said:-yes}"
  said=$(sed -n 's/^name: *//p' "$state/agent.credential" 2>/dev/null | head -n 1 | tr -d '"'"' ")
  echo "node $said"
fi
if [ -z "$prefix" ] && [ -d /run/systemd/system ]; then
  systemctl is-active --quiet paritect-agent.service && echo "running yes"
else
  pid=$(cat "$state/agent.pid" 2>/dev/null || echo none)
  case $(readlink "/proc/$pid/exe" 2>/dev/null) in
    */paritect-agent|*"/paritect-agent (deleted)") echo "running yes";;
  esac
fi
exit 0
)sh");
}

std::string InstallScript() {
  return absl::StrCat(kPlaces, R"sh(
set -e
umask 022
work=
for place in "${TMPDIR:-/tmp}" /var/tmp "$HOME"; do
  work=$(mktemp -d "$place/paritect.XXXXXX" 2>/dev/null) || continue
  printf '#!/bin/sh\n' > "$work/try"
  chmod 0755 "$work/try"
  "$work/try" 2>/dev/null && break
  rm -rf "$work"
  work=
done
[ -n "$work" ] || { echo "no folder for programs: /tmp, /var/tmp and the home folder take none"; exit 1; }
trap 'cd / && rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cd "$work"
tar -xzf -
cd paritect-*-linux-*
sha256sum -c --quiet SHA256SUMS
sh agent/install ${prefix:+--prefix "$prefix"} ${own:+--state "$own"}
)sh");
}

std::string StartScript() {
  return absl::StrCat(kPlaces, R"sh(
[ "$5" = - ] || set -- "$@" --node "$5"
[ "$6" = - ] || set -- "$@" --roots "$6"
[ "$7" = - ] || set -- "$@" --restart
[ -z "$prefix" ] || set -- "$@" --prefix "$prefix"
[ -z "$own" ] || set -- "$@" --state "$own"
server=$3
pin=$4
shift 7
[ "$server" = - ] || set -- "$@" --server "$server" --ca-pin "$pin" --token-file -
exec "$root/lib/paritect-agent/start" "$@"
)sh");
}

std::string UninstallScript() {
  return absl::StrCat(kPlaces, R"sh(
[ -x "$root/lib/paritect-agent/uninstall" ] || { echo "nothing is installed below $root"; exit 0; }
[ "$3" = - ] || set -- "$@" --purge
[ -z "$prefix" ] || set -- "$@" --prefix "$prefix"
[ -z "$own" ] || set -- "$@" --state "$own"
shift 3
exec "$root/lib/paritect-agent/uninstall" "$@"
)sh");
}

}  // namespace paritect
