#!/bin/sh
# SPDX-License-Identifier: MIT
# all.sh BUILD OUT [SECONDS [PART...]]: runs everything of this folder on a device, or the parts that are named, each for a
# limited time and all of it for SECONDS (default 480), and writes results and OUT/summary.json. The parts whose times count
# run one by one, and at the end the others side by side.
set -u
[ $# -ge 2 ] || { echo "usage: $0 BUILD OUT [SECONDS [PART...]]" >&2; exit 2; }
exec "${PYTHON:-python3}" -B "$(dirname "$0")/all.py" "$@"
