#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# abi.sh BUILD            compares the libraries of a build (gcc, with debug information) with the descriptions of the
#                         last release, says what changed, and fails if a program would notice
# abi.sh --write BUILD    replaces the descriptions: when a version is released
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
include=$here/../../include
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

write=0
if [[ ${1-} == --write ]]; then
    write=1
    shift
fi
[[ $# == 1 ]] || { sed -n '3,5s/^# //p' "$0" >&2; exit 2; }

# describe LIBRARY: what programs see of it. Both sides are made so, since abidiff would filter only one.
describe() {
    abidw --headers-dir "$include" --drop-private-types --suppressions "$here/opaque.suppr" --no-corpus-path \
        --no-comp-dir-path --no-show-locs "$1" | sed "s#path='[^']*/\(lib/[^']*\)'#path='\1'#"
}

version=$(sed -n 's/^#define PDL_VERSION_M[A-Z]* \([0-9]*\).*/\1/p' "$include/pdl/version.h" | paste -sd.)
status=0
for name in libpdl libpdl-trace libpdl-inspect libpdl-rtc; do
    library=$(find "$1/lib" -name "$name.so" | head -n 1)
    [[ $library ]] || { echo "$1 has no $name.so" >&2; exit 1; }
    if [[ $write == 1 ]]; then
        describe "$library" >"$here/$name.abi"
        continue
    fi
    describe "$library" >"$scratch/$name.abi"
    code=0
    abidiff "$here/$name.abi" "$scratch/$name.abi" >"$scratch/changes" || code=$?
    ((code & 3)) && { echo "$name: abidiff failed" >&2; exit 1; }
    if ((code)); then
        echo "$name has changed since version $(cat "$here/VERSION"):"
        cat "$scratch/changes"
    else
        echo "$name: as described"
    fi
    # What is left without new functions, and without new fields at the end of structs, breaks programs.
    if ! abidiff --no-added-syms --suppressions "$here/grow.suppr" "$here/$name.abi" "$scratch/$name.abi" >/dev/null; then
        echo "$name: programs made for version $(cat "$here/VERSION") would break" >&2
        status=1
    fi
done
if [[ $write == 1 ]]; then
    echo "$version" >"$here/VERSION"
elif [[ $status == 1 && $version != "$(cat "$here/VERSION")" ]]; then
    echo "The headers are of version $version: the break is announced."
    status=0
fi
exit $status
