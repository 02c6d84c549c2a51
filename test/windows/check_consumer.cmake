# SPDX-License-Identifier: MIT
# cmake -D BUILD=<command> -D PROGRAM= -D WINE= -D DLLS=<folder> -D MACHINES=<folder=STATUS...> -P check_consumer.cmake
# Builds a consumer, and runs it on each machine: it must come to that status.
execute_process(COMMAND ${BUILD} OUTPUT_VARIABLE text ERROR_VARIABLE text RESULT_VARIABLE result)
if(NOT result EQUAL 0)
    message(FATAL_ERROR "${BUILD}\n${text}")
endif()
set(ENV{WINEDEBUG} -all)
if(NOT PROGRAM MATCHES "static")
    set(ENV{WINEPATH} ${DLLS}) # pdl.dll
endif()
foreach(machine ${MACHINES})
    string(REGEX MATCH "^(.*)=([A-Z_]+)$" unused ${machine})
    set(ENV{WINEPREFIX} ${CMAKE_MATCH_1})
    execute_process(COMMAND ${WINE} ${PROGRAM} ${CMAKE_MATCH_2}
        OUTPUT_VARIABLE text ERROR_VARIABLE text RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
        message(SEND_ERROR "on ${machine}: exit ${result}: ${text}")
    endif()
endforeach()
