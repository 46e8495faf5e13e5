# Sourced by the system tests: real programs, real files, in a folder of their own.
#   . lib.sh BUILD_DIR
set -uo pipefail
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build_dir=$1
paritect=$build_dir/paritect
agent=$build_dir/paritect-agent
work=$(mktemp -d)
trap 'chmod -R u+rwx "$work" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1
export HOME=$work NO_COLOR=1
failures=0

fail() {
  echo "FAILED: $*" >&2
  failures=$((failures + 1))
}

# expect CODE TEXT COMMAND...: the exit code, and TEXT (a regular expression, "" for any) in what it prints. No
# crash, no hang, at most 1 GiB of address space above what the program itself needs.
expect() {
  local code=$1 text=$2 got
  shift 2
  (ulimit -v 2097152; timeout 60 "$@") > out.txt 2> err.txt
  got=$?
  [ "$got" = "$code" ] || { fail "exit code $got, not $code: $*"; tail -n 5 err.txt >&2; }
  [ -z "$text" ] || grep -qE -e "$text" out.txt err.txt || { fail "does not say '$text': $*"; head -n 20 err.txt out.txt >&2; }
}

# own_ports NAME...: sets each to a port that nothing else is given while this script lives (ports.py); once a script. One
# that the kernel names may be a connection's a moment later, and who was to listen on it ends.
own_ports() {
  coproc held { PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$source_dir/tests/system exec python3 -c '
import sys
from ports import own_port
print(*[own_port() for _ in sys.argv[1:]], flush=True)
sys.stdin.read()' "$@"; }
  # shellcheck disable=SC2154  # bash sets it
  read -r "$@" <&"${held[0]}" || { fail "no ports"; exit 1; }
}

finish() { [ "$failures" = 0 ] || exit 1; }
