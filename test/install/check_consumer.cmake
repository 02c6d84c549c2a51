# SPDX-License-Identifier: MIT
# cmake -D BUILD=<command> -D PROGRAM= -D LIBRARY_PATH= -D DRIVERS=<dir=STATUS...> -D READELF=
#       -D CHECK_DYNAMIC= -P check_consumer.cmake
# Builds a consumer, looks at what it needs, and runs it with each driver there is: a directory with a
# libcuda.so.1 in it, and the status that libpdl must come to.
execute_process(COMMAND ${BUILD} OUTPUT_VARIABLE text ERROR_VARIABLE text RESULT_VARIABLE result)
if(NOT result EQUAL 0)
    message(FATAL_ERROR "${BUILD}\n${text}")
endif()

cmake_path(GET PROGRAM FILENAME name)
if(name MATCHES "\\.shared$") # the CUDA Runtime was asked for; it must not come by libpdl
    set(ALLOWED libcudart)
elseif(name MATCHES "inspect")
    set(ALLOWED libpdl-inspect)
elseif(name MATCHES "rtc")
    set(ALLOWED libpdl-rtc)
elseif(name MATCHES "trace")
    set(ALLOWED libpdl-trace)
endif()
set(FILE ${PROGRAM})
include(${CHECK_DYNAMIC})

foreach(driver ${DRIVERS})
    string(REGEX MATCH "^(.*)=([A-Z_]+)$" unused ${driver})
    set(expected ${CMAKE_MATCH_2})
    execute_process(
        COMMAND ${CMAKE_COMMAND} -E env
            LD_LIBRARY_PATH=${CMAKE_MATCH_1}:${LIBRARY_PATH} ${PROGRAM} ${expected}
        OUTPUT_VARIABLE text ERROR_VARIABLE text RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
        message(SEND_ERROR "with ${driver}: exit ${result}: ${text}")
    endif()
endforeach()
