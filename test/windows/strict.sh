#!/bin/sh
# SPDX-License-Identifier: MIT
# strict.sh SOURCE_DIR CUDA_INCLUDE_DIR COMPILER_INCLUDE_DIR [CLANG]: libpdl is C11 without extensions, those in
# lib/os/compiler.h apart. clang reads it with the definitions for a compiler that has none of GCC's, and that header's
# __declspec() and __assume().
set -eu
cd "$1"
rooms="lib/core lib/code lib/launch lib/overlap lib/graph lib/os"
if grep -rnE '__attribute__|__builtin_|__typeof|__extension__|# *pragma|_Pragma|__asm|__GNUC__|__int128|\(\{' $rooms |
        grep -v -e '^lib/os/compiler.h:' -e 'clang-format'; then
    echo "these belong into lib/os/compiler.h" >&2
    exit 1
fi
[ -n "${4-}" ] || exit 77
for source in lib/core/*.c lib/code/*.c lib/launch/*.c lib/overlap/*.c lib/graph/*.c lib/os/windows.c lib/os/variable.c; do
    "$4" -target x86_64-w64-windows-gnu -fms-extensions -fdeclspec -std=c11 -pedantic-errors -Wall -Wextra -Wgnu -Wvla -Werror \
        -fsyntax-only -D PDL_STATIC -D PDL_PLAIN_COMPILER -isystem "$3" -isystem "$2" -I include -I lib "$source"
done
