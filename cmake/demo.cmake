# SPDX-License-Identifier: MIT
# cmake -D MAIN=<program or nothing> -D DRY=<program> -D FAKE_DIR=<dir> -P demo.cmake
# Runs the main example. Where that is not possible, shows the calls that launches would make.

if(MAIN)
    execute_process(COMMAND ${MAIN} RESULT_VARIABLE result)
    if(result EQUAL 0)
        return()
    elseif(NOT result EQUAL 77)
        message(FATAL_ERROR "${MAIN} failed: ${result}")
    endif()
    set(why "there is no GPU here")
else()
    set(why "there is no nvcc here to build it with")
endif()

execute_process(
    COMMAND ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${FAKE_DIR}:$ENV{LD_LIBRARY_PATH} PDL_FAKE_LOG=-
        ${DRY} --dry-run
    OUTPUT_VARIABLE calls ERROR_VARIABLE calls RESULT_VARIABLE result)
string(REGEX REPLACE "\ncu(GetProcAddress|DeviceGetAttribute|KernelGetAttribute) [^\n]*" "" calls "${calls}")
execute_process(COMMAND ${CMAKE_COMMAND} -E echo "The main example cannot run: ${why}. \
The calls of 01_launch_c on a recording driver instead, without its questions:\n${calls}")
if(NOT result EQUAL 0)
    message(FATAL_ERROR "${DRY} failed: ${result}")
endif()
