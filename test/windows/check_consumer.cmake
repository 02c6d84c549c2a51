# SPDX-License-Identifier: MIT
# cmake -D BUILD=<command> -D PROGRAM= -D WINE= -D DLLS=<folder> -D PLANTED=<DLL> -D MACHINES=<folder=STATUS...>
#       -P check_consumer.cmake
# Builds a consumer, and runs it on each machine: it must come to that status, although a DLL with the driver's name lies
# beside it and in the folder that it is started in, where libpdl must not take it from.
execute_process(COMMAND ${BUILD} OUTPUT_VARIABLE text ERROR_VARIABLE text RESULT_VARIABLE result)
if(NOT result EQUAL 0)
    message(FATAL_ERROR "${BUILD}\n${text}")
endif()
set(ENV{WINEDEBUG} -all)
if(NOT PROGRAM MATCHES "static")
    set(ENV{WINEPATH} ${DLLS}) # pdl.dll
endif()
cmake_path(GET PROGRAM PARENT_PATH folder)
file(COPY_FILE ${PLANTED} ${folder}/nvcuda.dll ONLY_IF_DIFFERENT)
foreach(machine ${MACHINES})
    string(REGEX MATCH "^(.*)=([A-Z_]+)$" unused ${machine})
    set(ENV{WINEPREFIX} ${CMAKE_MATCH_1})
    execute_process(COMMAND ${WINE} ${PROGRAM} ${CMAKE_MATCH_2} WORKING_DIRECTORY ${folder}
        OUTPUT_VARIABLE text ERROR_VARIABLE text RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
        message(SEND_ERROR "on ${machine}: exit ${result}: ${text}")
    endif()
endforeach()
