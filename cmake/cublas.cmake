# SPDX-License-Identifier: MIT
# cuBLAS of the toolkit that compiles CUDA, for tests. PDL_CUBLAS is its path, or false.

if(CMAKE_DISABLE_FIND_PACKAGE_CUBLAS)
    set(PDL_CUBLAS "" CACHE FILEPATH "cuBLAS, for tests" FORCE)
else()
    find_library(PDL_CUBLAS cublas HINTS ${CMAKE_CUDA_IMPLICIT_LINK_DIRECTORIES} NO_DEFAULT_PATH
        DOC "cuBLAS, for tests")
    find_path(PDL_CUBLAS_INCLUDE_DIR cublas_v2.h HINTS ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES} NO_DEFAULT_PATH
        DOC "Directory of cublas_v2.h")
    mark_as_advanced(PDL_CUBLAS PDL_CUBLAS_INCLUDE_DIR)
    if(NOT PDL_CUBLAS_INCLUDE_DIR)
        set(PDL_CUBLAS "")
    endif()
endif()

# Links cuBLAS to a target. The toolkit's directory is one that linkers search and loaders don't.
function(pdl_link_cublas target)
    target_link_libraries(${target} PRIVATE ${PDL_CUBLAS})
    cmake_path(GET PDL_CUBLAS PARENT_PATH directory)
    set_target_properties(${target} PROPERTIES BUILD_RPATH ${directory})
endfunction()
