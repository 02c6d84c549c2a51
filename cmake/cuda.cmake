# SPDX-License-Identifier: MIT
# Finds the CUDA headers, which the library needs, and nvcc, which tests, examples and pdltool's bench and tune need.

set(pdl_cuda_download OFF)
if(PROJECT_IS_TOP_LEVEL AND NOT FETCHCONTENT_FULLY_DISCONNECTED)
    set(pdl_cuda_download AUTO)
endif()
set(PDL_CUDA_DOWNLOAD ${pdl_cuda_download} CACHE STRING
    "Fetch nvcc and the CUDA headers from PyPI: AUTO (where there is no toolkit), ON (in any case) or OFF")
set_property(CACHE PDL_CUDA_DOWNLOAD PROPERTY STRINGS AUTO ON OFF)
set(pdl_cuda_roots
    ${CUDAToolkit_ROOT} $ENV{CUDAToolkit_ROOT} $ENV{CUDA_PATH} $ENV{CUDA_HOME} /usr/local/cuda)

# Not a wrapper of a toolkit that is gone.
function(pdl_nvcc_runs result program)
    execute_process(COMMAND ${program} --version RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
    if(NOT status EQUAL 0)
        set(${result} FALSE PARENT_SCOPE)
    endif()
endfunction()

if(NOT PDL_CUDA)
    set(PDL_NVCC "")
    message(STATUS "libpdl: off: tests and examples in CUDA, pdltool bench and tune (PDL_CUDA is OFF)")
elseif(CMAKE_CUDA_COMPILER)
    set(PDL_NVCC ${CMAKE_CUDA_COMPILER})
else()
    find_program(PDL_NVCC nvcc
        HINTS ${CUDAToolkit_ROOT} $ENV{CUDACXX} ENV PATH
        PATHS ${pdl_cuda_roots}
        PATH_SUFFIXES bin
        NO_DEFAULT_PATH
        VALIDATOR pdl_nvcc_runs
        DOC "nvcc, for what is in CUDA")
endif()

# The headers beside nvcc go first: a toolkit is used as a whole.
if(PDL_NVCC)
    get_filename_component(pdl_nvcc_dir "${PDL_NVCC}" REALPATH)
    cmake_path(GET pdl_nvcc_dir PARENT_PATH pdl_nvcc_dir)
    list(PREPEND pdl_cuda_roots ${pdl_nvcc_dir}/..)
endif()
find_path(PDL_CUDA_INCLUDE_DIR cudaTypedefs.h
    HINTS ${CUDAToolkit_INCLUDE_DIRS} ${pdl_cuda_roots}
    PATH_SUFFIXES include targets/x86_64-linux/include targets/sbsa-linux/include
    NO_CMAKE_FIND_ROOT_PATH # they are the same for every system
    DOC "Directory of cuda.h and cudaTypedefs.h, CUDA 12.3 or newer")

if(PDL_CUDA_DOWNLOAD AND NOT (PDL_CUDA_DOWNLOAD STREQUAL "AUTO" AND (PDL_NVCC OR PDL_CUDA_INCLUDE_DIR)))
    include(${CMAKE_CURRENT_LIST_DIR}/cuda_from_pypi.cmake)
    set(pdl_cuda_parts runtime crt cupti)
    if(PDL_CUDA)
        list(APPEND pdl_cuda_parts cccl nvcc nvvm)
        if(PDL_BUILD_TESTS)
            list(APPEND pdl_cuda_parts nvrtc)
        endif()
    endif()
    pdl_cuda_from_pypi(pdl_cuda_root ${pdl_cuda_parts})
    list(PREPEND pdl_cuda_roots ${pdl_cuda_root})
    set(PDL_CUDA_INCLUDE_DIR ${pdl_cuda_root}/include)
    if(PDL_CUDA)
        set(PDL_NVCC ${pdl_cuda_root}/bin/nvcc)
        # The tests load NVRTC, and NVRTC its builtins: it has no run path, so that the folder must be in the environment.
        set(pdl_cuda_tests ${PROJECT_BINARY_DIR}/cuda/ctest.cmake)
        file(WRITE ${pdl_cuda_tests} "set(path ${pdl_cuda_root}/lib64 \$ENV{LD_LIBRARY_PATH})\n"
            "list(JOIN path : path)\nset(ENV{LD_LIBRARY_PATH} \${path})\n")
        set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${pdl_cuda_tests})
    endif()
endif()
if(PDL_CUDA AND NOT PDL_NVCC)
    pdl_off("tests and examples in CUDA, pdltool bench and tune"
        "no nvcc on PATH, in CUDA_PATH or in /usr/local/cuda; PDL_NVCC names one elsewhere")
endif()
if(NOT PDL_CUDA_INCLUDE_DIR)
    message(FATAL_ERROR "libpdl needs the CUDA headers (cuda.h, cudaTypedefs.h; 12.3 or newer): "
        "set CUDA_PATH, or PDL_CUDA_INCLUDE_DIR to their directory, or let PDL_CUDA_DOWNLOAD=ON fetch them")
endif()

file(STRINGS ${PDL_CUDA_INCLUDE_DIR}/cuda.h pdl_cuda_version REGEX "^#define CUDA_VERSION [0-9]+")
string(REGEX REPLACE "[^0-9]" "" pdl_cuda_version "${pdl_cuda_version}")
if(NOT pdl_cuda_version OR pdl_cuda_version LESS 12030)
    message(FATAL_ERROR "libpdl needs the headers of CUDA 12.3 (12030) or newer, and "
        "${PDL_CUDA_INCLUDE_DIR}/cuda.h is ${pdl_cuda_version}; PDL_CUDA_DOWNLOAD=ON fetches newer ones")
endif()
if(PROJECT_IS_TOP_LEVEL)
    message(STATUS "libpdl: CUDA headers ${pdl_cuda_version} in ${PDL_CUDA_INCLUDE_DIR}")
endif()

# Whether all tests and examples that need a GPU are built.
set(PDL_GPU ${PDL_BUILD_GPU_TESTS})
if(PDL_GPU STREQUAL "AUTO")
    set(PDL_GPU OFF)
    foreach(device /dev/nvidiactl /dev/dxg /dev/nvhost-gpu) # Linux, WSL, Tegra
        if(EXISTS ${device})
            set(PDL_GPU ON)
        endif()
    endforeach()
endif()

# pdl_gpu_directory(NAME...): at the end of a directory whose targets and tests with the label gpu need a GPU. Where
# those are not wanted, the named targets are built and the named tests are run (and skip) all the same, so that none of
# their kind rots. The others can be built by name.
function(pdl_gpu_directory)
    if(PDL_GPU)
        return()
    endif()
    get_property(targets DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
    get_property(tests DIRECTORY PROPERTY TESTS)
    list(REMOVE_ITEM targets ${ARGN})
    list(REMOVE_ITEM tests ${ARGN})
    foreach(target IN LISTS targets)
        set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
    endforeach()
    foreach(test IN LISTS tests)
        get_test_property(${test} LABELS labels)
        if("gpu" IN_LIST labels)
            set_tests_properties(${test} PROPERTIES DISABLED ON LABELS "${labels};no-gpu")
            set_property(GLOBAL APPEND PROPERTY PDL_GPU_TESTS_LEFT_OUT ${test})
        endif()
    endforeach()
endfunction()

# pdl_embed(TARGET SYMBOL FILE): adds a file's bytes to a target, as SYMBOL to SYMBOL_end.
function(pdl_embed target symbol file)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/embedded/${symbol}.c)
    file(CONFIGURE OUTPUT ${source} CONTENT [[
/* The bytes of a file that the build made. */
__asm__(".section .rodata\n.balign 16\n"
        ".globl @symbol@\n@symbol@:\n.incbin \"@file@\"\n"
        ".globl @symbol@_end\n@symbol@_end:\n.byte 0\n.previous\n");
]] @ONLY)
    set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS ${file} COMPILE_OPTIONS "-Wno-pedantic;-fno-lto")
    target_sources(${target} PRIVATE ${source})
endfunction()

# pdl_add_fatbin(TARGET OUTPUT SOURCE [nvcc option...]): a fatbin with sm_90 code and compute_90 PTX.
function(pdl_add_fatbin target output source)
    add_custom_command(OUTPUT ${output}
        COMMAND ${PDL_NVCC} -fatbin -std=c++17 -gencode arch=compute_90,code=[sm_90,compute_90]
            -I ${PROJECT_SOURCE_DIR}/include ${ARGN} -MD -MF ${output}.d
            -o ${output} ${CMAKE_CURRENT_SOURCE_DIR}/${source}
        DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source}
        DEPFILE ${output}.d
        VERBATIM)
    add_custom_target(${target} DEPENDS ${output})
endfunction()
