# SPDX-License-Identifier: MIT
# CPack: a .tar.gz of everything, and the Debian packages libpdl0 and libpdl-dev. Configure with
# -DCMAKE_INSTALL_PREFIX=/usr for these, as the preset "package" does: then the libraries go to Debian's
# multiarch directory.

set(CPACK_PACKAGE_NAME libpdl)
set(CPACK_PACKAGE_VENDOR "libpdl authors")
set(CPACK_PACKAGE_CONTACT "libpdl authors <libpdl@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR TGZ DEB)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime development)
set(CPACK_VERBATIM_VARIABLES ON)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libpdl${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libpdl-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libpdl${PROJECT_VERSION_MAJOR} (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")

find_program(PDL_DPKG_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(PDL_DPKG_SHLIBDEPS)
if(PDL_DPKG_SHLIBDEPS)
    set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
else()
    set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "libc6")
endif()
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION
    "Launches CUDA kernels through one descriptor, with overlap where it is safe. Shared library.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
    "Launches CUDA kernels through one descriptor, with overlap where it is safe. Headers and libraries.")

include(CPack)
