#!/bin/sh
# SPDX-License-Identifier: MIT
# sanitize.sh BUILD [TOOL...]: runs the GPU tests of a build under compute-sanitizer (memcheck and racecheck
# unless tools are named). Errors that the library provokes and reports are its tests' business
# (--report-api-errors no). Left out is "cdp": the tools do not support launches from the device (memcheck takes the
# parameters of a launch for stray writes).
set -u
build=$1
shift
[ $# -gt 0 ] || set -- memcheck racecheck
export PDL_TEST_SERIALIZED=1 PDL_TEST_REQUIRE_GPU=1
log=$(mktemp)
bad=0
for tool in "$@"; do
    for test in "$build"/test/gpu/gpu_*; do
        [ -f "$test" ] && [ -x "$test" ] || continue
        name=$(basename "$test")
        [ "$name" != gpu_cdp ] || continue
        if timeout 300 compute-sanitizer --tool "$tool" --report-api-errors no --error-exitcode 9 \
            "$test" >"$log" 2>&1; then
            printf '%s %s: %s\n' "$tool" "$name" "$(grep SUMMARY "$log" | tail -n 1)"
        else
            bad=1
            printf '%s %s: failed\n' "$tool" "$name"
            grep -E '^=========|FAILED|ERROR|LINE' "$log" | head -n 20
        fi
    done
done
rm -f "$log"
exit "$bad"
