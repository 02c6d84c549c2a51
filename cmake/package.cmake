# SPDX-License-Identifier: MIT
# CPack: a .tar.gz of everything, and Debian packages: libpdl, libpdl-inspect, libpdl-rtc, libpdl-trace and
# libpdl-watch, each with the version in its soname behind its name, libpdl-dev and pdltool. Configure with -DCMAKE_INSTALL_PREFIX=/usr for
# these, as the preset "package" does: then the libraries go to Debian's multiarch directory. libpdl needs the C library
# only; what reads compressed code and writes JSON is behind the others. None depends on a package of CUDA: what a
# program wants of it, it opens.

set(PDL_VERSION_SUFFIX "" CACHE STRING "What follows the version of packages that no release is made of, such as +git1")
mark_as_advanced(PDL_VERSION_SUFFIX)
set(CPACK_PACKAGE_NAME libpdl)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION}${PDL_VERSION_SUFFIX})
set(CPACK_PACKAGE_VENDOR "libpdl authors")
set(CPACK_PACKAGE_CONTACT "libpdl authors <libpdl@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR TGZ DEB)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime inspect trace development)
if(TARGET pdl_rtc)
    list(APPEND CPACK_COMPONENTS_ALL rtc)
endif()
if(TARGET pdl_watch)
    list(APPEND CPACK_COMPONENTS_ALL watch)
endif()
if(PDL_BUILD_TOOLS)
    list(APPEND CPACK_COMPONENTS_ALL tool)
endif()
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/compress_man.cmake)

# The architecture that the build is for, in the archive's name and in Debian's terms.
string(TOLOWER "${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}" CPACK_SYSTEM_NAME)
if(CMAKE_CROSSCOMPILING AND CMAKE_LIBRARY_ARCHITECTURE)
    find_program(PDL_DPKG_ARCHITECTURE dpkg-architecture)
    mark_as_advanced(PDL_DPKG_ARCHITECTURE)
    if(PDL_DPKG_ARCHITECTURE)
        execute_process(COMMAND ${PDL_DPKG_ARCHITECTURE} -f -t${CMAKE_LIBRARY_ARCHITECTURE} -qDEB_HOST_ARCH
            OUTPUT_VARIABLE CPACK_DEBIAN_PACKAGE_ARCHITECTURE OUTPUT_STRIP_TRAILING_WHITESPACE
            ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)
        # dpkg-shlibdeps takes the libraries of this one.
        set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_BINARY_DIR}/cpack_host.cmake)
        file(WRITE ${CPACK_PROJECT_CONFIG_FILE} "set(ENV{DEB_HOST_ARCH} ${CPACK_DEBIAN_PACKAGE_ARCHITECTURE})\n")
    endif()
endif()

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(pdl_this "(= ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
set(pdl_runtime libpdl${PDL_SOVERSION})
set(pdl_inspect libpdl-inspect${PDL_SOVERSION})
set(pdl_rtc libpdl-rtc${PDL_SOVERSION})
set(pdl_trace libpdl-trace${PDL_SOVERSION})
set(pdl_watch libpdl-watch${PDL_SOVERSION})
set(pdl_libraries "${pdl_runtime} ${pdl_this}, ${pdl_inspect} ${pdl_this}")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME ${pdl_runtime})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_INSPECT_PACKAGE_NAME ${pdl_inspect})
set(CPACK_DEBIAN_INSPECT_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RTC_PACKAGE_NAME ${pdl_rtc})
set(CPACK_DEBIAN_RTC_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RTC_PACKAGE_DEPENDS "${pdl_libraries}")
set(CPACK_DEBIAN_TRACE_PACKAGE_NAME ${pdl_trace})
set(CPACK_DEBIAN_TRACE_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_TRACE_PACKAGE_DEPENDS "${pdl_runtime} ${pdl_this}")
set(CPACK_DEBIAN_WATCH_PACKAGE_NAME ${pdl_watch})
set(CPACK_DEBIAN_WATCH_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_WATCH_PACKAGE_RECOMMENDS "${pdl_inspect} ${pdl_this}")
string(APPEND pdl_libraries ", ${pdl_trace} ${pdl_this}")
if(TARGET pdl_rtc)
    string(APPEND pdl_libraries ", ${pdl_rtc} ${pdl_this}")
endif()
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libpdl-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${pdl_libraries}")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS "pdltool ${pdl_this}")
set(CPACK_DEBIAN_TOOL_PACKAGE_NAME pdltool)
set(CPACK_DEBIAN_TOOL_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_TOOL_PACKAGE_SUGGESTS "python3, python3-matplotlib")
set(CPACK_DEBIAN_TOOL_PACKAGE_DEPENDS "${pdl_libraries}")
set(CPACK_DEBIAN_TOOL_PACKAGE_RECOMMENDS "${pdl_watch} ${pdl_this}")

# What they open at run time, to read code that is compressed.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS "libzstd1, liblz4-1")
set(CPACK_DEBIAN_INSPECT_PACKAGE_RECOMMENDS "libzstd1, liblz4-1")

find_program(PDL_DPKG_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(PDL_DPKG_SHLIBDEPS)
if(PDL_DPKG_SHLIBDEPS)
    set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_INSPECT_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_RTC_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_TRACE_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_WATCH_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_TOOL_PACKAGE_SHLIBDEPS ON)
    # Where it finds the libraries, which no package is known to hold yet.
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS
        ${PROJECT_BINARY_DIR}/lib ${PROJECT_BINARY_DIR}/lib/inspect ${PROJECT_BINARY_DIR}/lib/rtc
        ${PROJECT_BINARY_DIR}/lib/trace)
    set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
else()
    set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "libc6")
    set(CPACK_DEBIAN_INSPECT_PACKAGE_DEPENDS "libc6")
    set(CPACK_DEBIAN_WATCH_PACKAGE_DEPENDS "libc6")
    string(APPEND CPACK_DEBIAN_RTC_PACKAGE_DEPENDS ", libc6")
    string(APPEND CPACK_DEBIAN_TRACE_PACKAGE_DEPENDS ", libc6")
    string(APPEND CPACK_DEBIAN_TOOL_PACKAGE_DEPENDS ", libc6")
endif()
set(pdl_summary "Launches CUDA kernels through one descriptor, with overlap where it is safe.")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "${pdl_summary} Shared library.")
set(CPACK_COMPONENT_INSPECT_DESCRIPTION
    "Tells which CUDA kernels wait and trigger, and where they touch memory too early. Shared library.")
set(CPACK_COMPONENT_RTC_DESCRIPTION
    "Compiles CUDA kernels from text at run time, and keeps them in a cache. Shared library.")
set(CPACK_COMPONENT_TRACE_DESCRIPTION
    "Shows when each block of CUDA kernels started, waited, triggered and ended. Shared library.")
set(CPACK_COMPONENT_WATCH_DESCRIPTION
    "Records the kernel launches of a program that runs under pdltool watch. Loaded into programs.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "${pdl_summary} Headers and libraries.")
set(CPACK_COMPONENT_TOOL_DESCRIPTION
    "Finds races of CUDA kernels that overlap, and measures what launches cost and what overlap gives.")

include(CPack)
