#!/usr/bin/env bash
# field_case.sh BUILD_DIR CASE: runs one field case with the collection's own judge; 77: there is no collection here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
shared=$(cd .. && pwd)/shared
if [ ! -x "$shared/cases/run-cases" ] || ! command -v python3 >/dev/null; then
  echo "no field cases beside the checkout"
  exit 77
fi
folders=("$shared/cases")
[ ! -d "$shared/data" ] || folders+=("$shared/data")
exec "$shared/cases/run-cases" --bin "$1" --jobs 1 --only "$2" "${folders[@]}"
