# SPDX-License-Identifier: MIT
# CPack: a .tar.gz of everything, and Debian packages: libpdl, libpdl-inspect, libpdl-rtc and libpdl-trace, each with
# the version in its soname behind its name, libpdl-dev and pdltool. Configure with -DCMAKE_INSTALL_PREFIX=/usr for
# these, as the preset "package" does: then the libraries go to Debian's multiarch directory. libpdl needs the C library
# only; what reads compressed code and writes JSON is behind the others. None depends on a package of CUDA: what a
# program wants of it, it opens.

set(CPACK_PACKAGE_NAME libpdl)
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
if(PDL_BUILD_TOOLS)
    list(APPEND CPACK_COMPONENTS_ALL tool)
endif()
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/compress_man.cmake)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(pdl_this "(= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
set(pdl_runtime libpdl${PDL_SOVERSION})
set(pdl_inspect libpdl-inspect${PDL_SOVERSION})
set(pdl_rtc libpdl-rtc${PDL_SOVERSION})
set(pdl_trace libpdl-trace${PDL_SOVERSION})
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
set(CPACK_DEBIAN_TOOL_PACKAGE_SUGGESTS gnuplot-nox)
set(CPACK_DEBIAN_TOOL_PACKAGE_DEPENDS "${pdl_libraries}")

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
    set(CPACK_DEBIAN_TOOL_PACKAGE_SHLIBDEPS ON)
    # Where it finds the libraries, which no package is known to hold yet.
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS
        ${PROJECT_BINARY_DIR}/lib ${PROJECT_BINARY_DIR}/lib/inspect ${PROJECT_BINARY_DIR}/lib/rtc
        ${PROJECT_BINARY_DIR}/lib/trace)
    set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
else()
    set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "libc6")
    set(CPACK_DEBIAN_INSPECT_PACKAGE_DEPENDS "libc6")
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
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "${pdl_summary} Headers and libraries.")
set(CPACK_COMPONENT_TOOL_DESCRIPTION
    "Finds races of CUDA kernels that overlap, and measures what launches cost and what overlap gives.")

include(CPack)
