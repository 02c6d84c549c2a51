# SPDX-License-Identifier: MIT
# Headers and nvcc for where there is no CUDA toolkit, from the packages that NVIDIA has for Python programs, at fixed
# versions and with fixed hashes, unpacked in the build folder.

# name version SHA-256 for x86-64 and for aarch64
set(pdl_cuda_wheel_cccl nvidia-cuda-cccl 13.0.85
    e0da7ad981f3a8aff08241b5bfc1af868742a63e2762f53a5171c492ef242649
    6f0203e29fed809ee2b7fe9b1344df66ecab990c37d6a2e0e189b26d6c97ed7c)
set(pdl_cuda_wheel_crt nvidia-cuda-crt 13.0.88
    2c8043c7c9e02492716426e9919fc78d2c5b3b2a7a768a88e952676b08aa55a4
    ee2ea2a97073e02ee62bb27841f437332be2c248e3eac013df07997ada39c003)
set(pdl_cuda_wheel_cupti nvidia-cuda-cupti 13.0.85
    4eb01c08e859bf924d222250d2e8f8b8ff6d3db4721288cf35d14252a4d933c8
    796bd679890ee55fb14a94629b698b6db54bcfd833d391d5e94017dd9d7d3151)
set(pdl_cuda_wheel_nvcc nvidia-cuda-nvcc 13.0.88
    56fe502eb77625a12f25172caa3cdddb4e4c8ba2c8c17dba44b164761b380f03
    c7ff28f86a24effdc6c034fa15230c549a273e4771b10a7fec14996f8cf3307f)
set(pdl_cuda_wheel_nvrtc nvidia-cuda-nvrtc 13.0.88
    ad9b6d2ead2435f11cbb6868809d2adeeee302e9bb94bcf0539c7a40d80e8575
    d27f20a0ca67a4bb34268a5e951033496c5b74870b868bacd046b1b8e0c3267b)
set(pdl_cuda_wheel_nvvm nvidia-nvvm 13.0.88
    c5f41ffeb6466944a026dfa5317d7d85355c119bbec279205d22f1869d1054e0
    c4376a291d72d22a315d9d2f69bdae8f8cd83a627f75bad395cee49a0fe65dc1)
set(pdl_cuda_wheel_runtime nvidia-cuda-runtime 13.0.96
    7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548
    ef9bcbe90493a2b9d810e43d249adb3d02e98dd30200d86607d8d02687c43f55)

# pdl_cuda_from_pypi(ROOT_VAR PART...): the folder that has these parts, as a toolkit has them. What is there already
# is not fetched again.
function(pdl_cuda_from_pypi root_var)
    set(dir ${PROJECT_BINARY_DIR}/cuda)
    set(root ${dir}/nvidia/cu13)
    set(requirements "")
    foreach(part ${ARGN})
        list(GET pdl_cuda_wheel_${part} 0 name)
        list(GET pdl_cuda_wheel_${part} 1 version)
        list(GET pdl_cuda_wheel_${part} 2 x86_64)
        list(GET pdl_cuda_wheel_${part} 3 aarch64)
        string(REPLACE - _ unpacked ${name})
        if(NOT EXISTS ${dir}/${unpacked}-${version}.dist-info/RECORD) # a wheel's last file
            string(APPEND requirements "${name}==${version} --hash=sha256:${x86_64} --hash=sha256:${aarch64}\n")
        endif()
    endforeach()
    list(JOIN ARGN " " parts)
    set(reason "no CUDA toolkit on PATH, in CUDA_PATH or in /usr/local/cuda")
    if(NOT PDL_CUDA_DOWNLOAD STREQUAL "AUTO")
        set(reason "PDL_CUDA_DOWNLOAD is ${PDL_CUDA_DOWNLOAD}")
    endif()
    message(STATUS "libpdl: ${reason}: CUDA 13.0 (${parts}) comes from NVIDIA's packages on PyPI, in ${root}")

    if(requirements)
        file(REMOVE_RECURSE ${dir}/wheels)
        file(WRITE ${dir}/requirements.txt "${requirements}")
        find_program(PDL_PYTHON python3 DOC "Python 3 with pip, which fetches CUDA where there is no toolkit")
        mark_as_advanced(PDL_PYTHON)
        set(why "there is no python3")
        set(result 1)
        if(PDL_PYTHON)
            execute_process(
                COMMAND ${PDL_PYTHON} -m pip download --quiet --disable-pip-version-check --no-input --no-deps
                    --only-binary :all: --require-hashes --requirement requirements.txt --dest wheels
                WORKING_DIRECTORY ${dir}
                RESULT_VARIABLE result OUTPUT_VARIABLE why ERROR_VARIABLE why)
        endif()
        if(NOT result EQUAL 0)
            string(REGEX REPLACE "WARNING: Retrying .Retry.total=[1-9][^\n]*\n" "" why "${why}")
            string(STRIP "${why}" why)
            message(FATAL_ERROR "libpdl: ${reason}, and CUDA 13.0 could not be fetched from PyPI:\n${why}\n"
                "One of these helps: a CUDA toolkit 12.3 or newer; python3 with pip (package python3-pip) and "
                "a network; -D PDL_CUDA=OFF -D PDL_CUDA_INCLUDE_DIR=<directory of cuda.h and cudaTypedefs.h>")
        endif()
        file(GLOB wheels ${dir}/wheels/*.whl)
        foreach(wheel ${wheels})
            file(ARCHIVE_EXTRACT INPUT ${wheel} DESTINATION ${dir})
        endforeach()
        file(REMOVE_RECURSE ${dir}/wheels)
    endif()

    # A toolkit's names: nvcc looks into lib64, and the linker for names without a version.
    file(CREATE_LINK lib ${root}/lib64 SYMBOLIC)
    foreach(library cudart nvrtc)
        file(GLOB found RELATIVE ${root}/lib ${root}/lib/lib${library}.so.*)
        if(found)
            file(CREATE_LINK ${found} ${root}/lib/lib${library}.so SYMBOLIC)
        endif()
    endforeach()
    set(${root_var} ${root} PARENT_SCOPE)
endfunction()
