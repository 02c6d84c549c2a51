# SPDX-License-Identifier: MIT
# Linux on aarch64, from Debian on another architecture: its cross compiler, and its packages of the architecture arm64
# beside the machine's own. qemu-user, if it is installed, runs the tests. The packages:
#     dpkg --add-architecture arm64 && apt-get update
#     apt-get install g++-aarch64-linux-gnu qemu-user-static libjansson-dev:arm64 libxxhash-dev:arm64 \
#         libzstd-dev:arm64 liblz4-dev:arm64 libcmocka-dev:arm64

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(pdl_triplet aarch64-linux-gnu)

set(CMAKE_C_COMPILER ${pdl_triplet}-gcc CACHE FILEPATH "C compiler for ${pdl_triplet}")
set(CMAKE_CXX_COMPILER ${pdl_triplet}-g++ CACHE FILEPATH "C++ compiler for ${pdl_triplet}")
set(CMAKE_LIBRARY_ARCHITECTURE ${pdl_triplet})

# Where Debian has the libraries of several architectures. CMake itself chooses these folders only on the machine itself.
set(CMAKE_INSTALL_LIBDIR lib/${pdl_triplet} CACHE PATH "Libraries, below the prefix")
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/${pdl_triplet}/pkgconfig:/usr/share/pkgconfig)

find_program(PDL_QEMU NAMES qemu-aarch64 qemu-aarch64-static DOC "qemu-user for aarch64, which runs the tests")
mark_as_advanced(PDL_QEMU)
if(PDL_QEMU)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${PDL_QEMU})
    if(NOT EXISTS /lib/ld-linux-aarch64.so.1) # no libc6:arm64; the cross compiler's C library is elsewhere
        list(APPEND CMAKE_CROSSCOMPILING_EMULATOR -L /usr/${pdl_triplet})
    endif()
endif()
