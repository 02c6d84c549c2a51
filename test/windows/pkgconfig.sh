#!/bin/sh
# SPDX-License-Identifier: MIT
# pkgconfig.sh PKG_CONFIG FOLDER pdl|pdl_static COMPILER [ARGUMENT...]: compiles a program with what pkg-config says.
set -eu
pkg_config=$1 library=$3
export PKG_CONFIG_LIBDIR="$2"
shift 3
static=
if [ "$library" = pdl_static ]; then
    static=--static
    set -- "$@" -static
fi
flags=$("$pkg_config" $static --cflags --libs pdl)
# shellcheck disable=SC2086
exec "$@" $flags
