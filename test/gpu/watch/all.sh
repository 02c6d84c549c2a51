#!/bin/sh
# SPDX-License-Identifier: MIT
# all.sh BUILD OUT [SECONDS]: runs everything of this folder on a device, each part for a limited time and all of it for
# SECONDS (default 480), and writes results and OUT/summary.json. The parts that need quiet run alone, one by one.
set -u
[ $# -ge 2 ] || { echo "usage: $0 BUILD OUT [SECONDS]" >&2; exit 2; }
exec "${PYTHON:-python3}" -B "$(dirname "$0")/all.py" "$@"
