# SPDX-License-Identifier: MIT
# Finds NCCL where a system package, a CUDA toolkit, NVIDIA's package on PyPI or PyTorch has put it. Header and library
# are taken from the same folder, the first whose version is high enough. Result: NCCL_FOUND, NCCL_VERSION, NCCL_LIBRARY,
# NCCL_INCLUDE_DIR; or NCCL_NOT_FOUND_MESSAGE.
#
# NCCL_ROOT, in CMake or the environment, names another folder. CMAKE_DISABLE_FIND_PACKAGE_NCCL=ON does without NCCL.

function(nccl_version result header)
    set(numbers)
    if(EXISTS ${header})
        file(STRINGS ${header} numbers REGEX "^#define NCCL_(MAJOR|MINOR|PATCH) +[0-9]+")
        list(TRANSFORM numbers REPLACE "^#define [A-Z_]+ +([0-9]+).*" "\\1")
    endif()
    list(JOIN numbers "." version)
    set(${result} "${version}" PARENT_SCOPE)
endfunction()

set(nccl_roots ${NCCL_ROOT} $ENV{NCCL_ROOT} $ENV{NCCL_HOME})
find_program(NCCL_PYTHON NAMES python3 python DOC "Python, whose packages may contain NCCL")
if(NCCL_PYTHON)
    execute_process(
        COMMAND ${NCCL_PYTHON} -c
            "import site, sys; print(';'.join(p + d for p in sys.path + [site.getusersitepackages()] if p for d in ('/nvidia/nccl', '/torch')))"
        OUTPUT_VARIABLE nccl_python_roots OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
list(APPEND nccl_roots /usr /usr/local ${pdl_cuda_roots} ${nccl_python_roots})

set(nccl_old)
foreach(root IN LISTS nccl_roots)
    if(NCCL_LIBRARY AND NCCL_INCLUDE_DIR)
        break()
    endif()
    unset(NCCL_LIBRARY CACHE)
    unset(NCCL_INCLUDE_DIR CACHE)
    find_path(NCCL_INCLUDE_DIR nccl.h PATHS ${root}/include NO_DEFAULT_PATH DOC "Directory of nccl.h")
    find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 # the only name in packages of Python
        PATHS ${root}/lib ${root}/lib64 ${root}/lib/${CMAKE_LIBRARY_ARCHITECTURE} NO_DEFAULT_PATH DOC "NCCL")
    nccl_version(NCCL_VERSION "${NCCL_INCLUDE_DIR}/nccl.h")
    if(NCCL_LIBRARY AND NCCL_INCLUDE_DIR AND NCCL_VERSION VERSION_LESS "${NCCL_FIND_VERSION}")
        list(APPEND nccl_old "${NCCL_VERSION} in ${root}")
        unset(NCCL_LIBRARY CACHE)
    endif()
endforeach()
mark_as_advanced(NCCL_LIBRARY NCCL_INCLUDE_DIR NCCL_PYTHON)
nccl_version(NCCL_VERSION "${NCCL_INCLUDE_DIR}/nccl.h")

set(NCCL_NOT_FOUND_MESSAGE "it is in no system folder, CUDA toolkit or Python package")
if(nccl_old)
    list(JOIN nccl_old ", " nccl_old)
    set(NCCL_NOT_FOUND_MESSAGE "older than ${NCCL_FIND_VERSION}: ${nccl_old}")
endif()
string(APPEND NCCL_NOT_FOUND_MESSAGE ". NCCL_ROOT names its folder")
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NCCL
    REQUIRED_VARS NCCL_LIBRARY NCCL_INCLUDE_DIR
    VERSION_VAR NCCL_VERSION
    REASON_FAILURE_MESSAGE "${NCCL_NOT_FOUND_MESSAGE}")
