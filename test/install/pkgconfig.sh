#!/bin/sh
# SPDX-License-Identifier: MIT
# pkgconfig.sh PKG_CONFIG_DIR MODULE|MODULE_static PROGRAM SOURCE COMPILER [FLAG...]
# Compiles a program with what pkg-config says, and nothing else.
set -eu
export PKG_CONFIG_PATH="$1"
library=$2 program=$3 source=$4
module=${library%_static}
shift 4

named=$(pkg-config --static --libs-only-l "$module"; pkg-config --print-requires-private "$module")
if echo "$named" | grep -i -e cuda -e nvrtc; then
    echo "$module.pc names a CUDA library" >&2
    exit 1
fi
cflags=$(pkg-config --cflags "$module")
case $library in
*_static)
    libdir=$(pkg-config --variable=libdir "$module")
    libs=$(pkg-config --static --libs "$module" | sed "s|-l\(pdl[a-z-]*\)|$libdir/lib\1.a|g")
    ;;
*) libs=$(pkg-config --libs "$module") ;;
esac
# shellcheck disable=SC2086
exec "$@" $cflags -o "$program" "$source" $libs
