# SPDX-License-Identifier: MIT
# Finds the CUDA headers, which the library needs, and nvcc, which tests, examples and pdltool's bench and tune need.

set(pdl_cuda_roots
    ${CUDAToolkit_ROOT} $ENV{CUDAToolkit_ROOT} $ENV{CUDA_PATH} $ENV{CUDA_HOME} /usr/local/cuda)

if(NOT PDL_CUDA)
    set(PDL_NVCC "")
    message(STATUS "libpdl: off: tests and examples in CUDA, pdltool bench and tune (PDL_CUDA is OFF)")
elseif(CMAKE_CUDA_COMPILER)
    set(PDL_NVCC ${CMAKE_CUDA_COMPILER})
else()
    find_program(PDL_NVCC nvcc
        HINTS $ENV{CUDACXX} ENV PATH
        PATHS ${pdl_cuda_roots}
        PATH_SUFFIXES bin
        NO_DEFAULT_PATH
        DOC "nvcc, for what is in CUDA")
    if(NOT PDL_NVCC)
        pdl_off("tests and examples in CUDA, pdltool bench and tune"
            "no nvcc on PATH, in CUDA_PATH or in /usr/local/cuda; PDL_NVCC names one elsewhere")
    endif()
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
    DOC "Directory of cuda.h and cudaTypedefs.h, CUDA 12.3 or newer")
if(NOT PDL_CUDA_INCLUDE_DIR)
    message(FATAL_ERROR "libpdl needs the CUDA headers (cuda.h, cudaTypedefs.h; 12.3 or newer): "
        "set CUDA_PATH, or PDL_CUDA_INCLUDE_DIR to their directory")
endif()

file(STRINGS ${PDL_CUDA_INCLUDE_DIR}/cuda.h pdl_cuda_version REGEX "^#define CUDA_VERSION [0-9]+")
string(REGEX REPLACE "[^0-9]" "" pdl_cuda_version "${pdl_cuda_version}")
if(NOT pdl_cuda_version OR pdl_cuda_version LESS 12030)
    message(FATAL_ERROR "libpdl needs the headers of CUDA 12.3 (12030) or newer, and "
        "${PDL_CUDA_INCLUDE_DIR}/cuda.h is ${pdl_cuda_version}")
endif()
if(PROJECT_IS_TOP_LEVEL)
    message(STATUS "libpdl: CUDA headers ${pdl_cuda_version} in ${PDL_CUDA_INCLUDE_DIR}")
endif()

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
