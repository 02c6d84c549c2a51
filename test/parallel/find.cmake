# SPDX-License-Identifier: MIT
# -D MODULES=... -D DIR=... -P find.cmake: where NCCL is found, by packages that have a header and an empty library.

# package(ROOT VERSION FILE...): a folder like that of a package
function(package root version)
    string(REPLACE . ";" numbers ${version})
    list(GET numbers 0 major)
    list(GET numbers 1 minor)
    list(GET numbers 2 patch)
    file(WRITE ${DIR}/${root}/include/nccl.h
        "#define NCCL_MAJOR ${major}\n#define NCCL_MINOR ${minor}\n#define NCCL_PATCH ${patch}\n"
        "#define NCCL_VERSION_CODE NCCL_VERSION(NCCL_MAJOR,NCCL_MINOR,NCCL_PATCH)\n")
    foreach(file ${ARGN})
        file(WRITE ${DIR}/${root}/${file} "")
    endforeach()
endfunction()

# expect(NAME RESULT [OPTION...]): what a new configuration finds
function(expect name result)
    execute_process(
        COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/find -B ${DIR}/build/${name} --fresh
            -D MODULES=${MODULES} ${ARGN}
        OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
    string(FIND "${output}" "result: ${result}" at)
    if(NOT status EQUAL 0 OR at EQUAL -1)
        message(SEND_ERROR "${name}: instead of '${result}':\n${output}")
    endif()
endfunction()

file(REMOVE_RECURSE ${DIR})
unset(ENV{NCCL_ROOT})
package(system 2.28.9 lib64/libnccl.so lib64/libnccl.so.2)
package(old 2.19.4 lib/libnccl.so)
package(python/nvidia/nccl 99.30.7 lib/libnccl.so.2)

expect(root "2.28.9 ${DIR}/system/include ${DIR}/system/lib64/libnccl.so" -D NCCL_ROOT=${DIR}/system -D NEEDED=2.27.3)
expect(too_old "none: version 2.19.4 in ${DIR}/old/include, and 99.1 is needed" -D NCCL_ROOT=${DIR}/old -D NEEDED=99.1)
expect(disabled "none: " -D CMAKE_DISABLE_FIND_PACKAGE_NCCL=ON -D NCCL_ROOT=${DIR}/system)
expect(named "2.19.4 ${DIR}/old/include ${DIR}/old/lib/libnccl.so" -D NCCL_INCLUDE_DIR=${DIR}/old/include
    -D NCCL_LIBRARY=${DIR}/old/lib/libnccl.so -D NEEDED=2.19)
set(ENV{NCCL_ROOT} ${DIR}/python/nvidia/nccl)
expect(environment "99.30.7 ${DIR}/python/nvidia/nccl/include ${DIR}/python/nvidia/nccl/lib/libnccl.so.2" -D NEEDED=2.27.3)
