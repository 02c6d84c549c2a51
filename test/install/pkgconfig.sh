#!/bin/sh
# SPDX-License-Identifier: MIT
# pkgconfig.sh PKG_CONFIG_DIR pdl|pdl_static PROGRAM SOURCE COMPILER [FLAG...]
# Compiles a program with what pkg-config says, and nothing else.
set -eu
export PKG_CONFIG_PATH="$1"
library=$2 program=$3 source=$4
shift 4

named=$(pkg-config --static --libs-only-l pdl; pkg-config --print-requires-private pdl)
if echo "$named" | grep -i -e cuda -e nvrtc; then
    echo "pdl.pc names a CUDA library" >&2
    exit 1
fi
cflags=$(pkg-config --cflags pdl)
case $library in
pdl) libs=$(pkg-config --libs pdl) ;;
pdl_static)
    archive=$(pkg-config --variable=libdir pdl)/libpdl.a
    libs=$(pkg-config --static --libs pdl | sed "s|-lpdl|$archive|")
    ;;
esac
# shellcheck disable=SC2086
exec "$@" $cflags -o "$program" "$source" $libs
