# SPDX-License-Identifier: MIT
# Windows on x86-64, from Linux: mingw-w64, and wine for what is run.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR AMD64)
set(pdl_mingw x86_64-w64-mingw32)

set(CMAKE_C_COMPILER ${pdl_mingw}-gcc)
set(CMAKE_CXX_COMPILER ${pdl_mingw}-g++)
set(CMAKE_RC_COMPILER ${pdl_mingw}-windres)

set(CMAKE_FIND_ROOT_PATH /usr/${pdl_mingw})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} /usr/${pdl_mingw}/lib/pkgconfig) # not this machine's own libraries

# Debian's package wine64 has the program, and not the script that starts it.
find_program(PDL_WINE NAMES wine64 wine PATHS /usr/lib/wine DOC "wine, which runs the programs that are built")
mark_as_advanced(PDL_WINE)
if(PDL_WINE)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${PDL_WINE})
endif()
