#!/bin/sh
# SPDX-License-Identifier: MIT
# gpu_test.sh PROGRAM [ARGUMENT...]: 77, "skipped", becomes a failure where PDL_TEST_REQUIRE_GPU=1 says
# that there is a GPU.
status=0
"$@" || status=$?
if [ "$status" -eq 77 ] && [ "${PDL_TEST_REQUIRE_GPU:-0}" = 1 ]; then
    echo "$1 was skipped, and PDL_TEST_REQUIRE_GPU=1 is set" >&2
    exit 1
fi
exit "$status"
