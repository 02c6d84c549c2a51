# SPDX-License-Identifier: MIT
# cmake -D CTEST= -D BUILD= -D GPU=<number of tests> -P left_out.cmake
# Prints which tests the preset "test" leaves out, and what runs them.

function(say text)
    execute_process(COMMAND ${CMAKE_COMMAND} -E echo "${text}")
endfunction()

say("\nLeft out, and how to run it:")
foreach(label check slow)
    execute_process(COMMAND ${CTEST} --test-dir ${BUILD} -N -L "^${label}$" OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCH "Total Tests: ([0-9]+)" text "${text}")
    set(count_${label} ${CMAKE_MATCH_1})
endforeach()
say("  ${count_check} tests that take longer, before a pull request:  ctest --preset check")
say("  ${count_slow} tests that take long, before a release:          ctest --preset slow")
if(GPU)
    say("  ${GPU} tests that need a GPU, on a machine with one (here: -D PDL_BUILD_GPU_TESTS=ON builds them)")
endif()
