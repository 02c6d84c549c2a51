# SPDX-License-Identifier: MIT
# Finds NCCL in NCCL_ROOT (of CMake or the environment), where a system package or a CUDA toolkit has put it. Result:
# NCCL_FOUND, NCCL_VERSION, NCCL_LIBRARY, NCCL_INCLUDE_DIR; or NCCL_NOT_FOUND_MESSAGE.
#
# CMAKE_DISABLE_FIND_PACKAGE_NCCL=ON does without NCCL.

find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${pdl_cuda_roots} PATH_SUFFIXES include DOC "Directory of nccl.h")
# The library is the header's. Packages of Python have only libnccl.so.2.
find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 PATHS ${NCCL_INCLUDE_DIR}/.. NO_DEFAULT_PATH
    PATH_SUFFIXES lib lib64 lib/${CMAKE_LIBRARY_ARCHITECTURE} DOC "NCCL")
mark_as_advanced(NCCL_LIBRARY NCCL_INCLUDE_DIR)
set(NCCL_VERSION "")
if(NCCL_INCLUDE_DIR)
    file(STRINGS ${NCCL_INCLUDE_DIR}/nccl.h numbers REGEX "^#define NCCL_(MAJOR|MINOR|PATCH) +[0-9]+")
    list(TRANSFORM numbers REPLACE "^#define [A-Z_]+ +([0-9]+).*" "\\1")
    list(JOIN numbers "." NCCL_VERSION)
endif()

set(NCCL_NOT_FOUND_MESSAGE "it is in no system folder or CUDA toolkit")
if(NCCL_VERSION)
    set(NCCL_NOT_FOUND_MESSAGE "version ${NCCL_VERSION} in ${NCCL_INCLUDE_DIR}, and ${NCCL_FIND_VERSION} is needed")
endif()
string(APPEND NCCL_NOT_FOUND_MESSAGE ". NCCL_ROOT names its folder")
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NCCL
    REQUIRED_VARS NCCL_LIBRARY NCCL_INCLUDE_DIR
    VERSION_VAR NCCL_VERSION
    REASON_FAILURE_MESSAGE "${NCCL_NOT_FOUND_MESSAGE}")
