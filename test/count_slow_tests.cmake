# SPDX-License-Identifier: MIT
# cmake -D CTEST= -D BUILD= -P count_slow_tests.cmake
# Prints how many tests have the label "slow", which the preset "test" leaves out, and what runs them.
execute_process(COMMAND ${CTEST} --test-dir ${BUILD} -N -L "^slow$" OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCH "Total Tests: ([0-9]+)" text "${text}")
execute_process(COMMAND ${CMAKE_COMMAND} -E echo
    "${CMAKE_MATCH_1} slow tests were left out. This runs them: ctest --preset slow")
