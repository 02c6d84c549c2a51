#!/bin/sh
# SPDX-License-Identifier: MIT
# all.sh BUILD OUT [SECONDS [PART...]]: runs everything of this folder on a device, or the parts that are named, each for a
# limited time and all of it for SECONDS (default 960), and writes results and OUT/summary.json. One part runs at a time.
set -u
[ $# -ge 2 ] || { echo "usage: $0 BUILD OUT [SECONDS [PART...]]" >&2; exit 2; }
exec "${PYTHON:-python3}" -B "$(dirname "$0")/all.py" "$@"
