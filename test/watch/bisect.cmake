# SPDX-License-Identifier: MIT
# pdltool bisect: the search on oracles, and the command on a stand-in for a program and for libpdl-watch.

if(NOT PDL_BUILD_TOOLS)
    return()
endif()
include(${PROJECT_SOURCE_DIR}/cmake/cmocka.cmake)
if(TARGET pdl_cmocka)
    add_executable(watch_search ${CMAKE_CURRENT_LIST_DIR}/test_search.c)
    set_target_properties(watch_search PROPERTIES C_STANDARD 11)
    target_link_libraries(watch_search PRIVATE pdl_tool_parts pdl_cmocka)
    add_test(NAME watch.search COMMAND watch_search)
    set_tests_properties(watch.search PROPERTIES LABELS unit TIMEOUT 120)
endif()

find_package(Python3 QUIET COMPONENTS Interpreter)
if(NOT Python3_Interpreter_FOUND)
    return() # test/tool says so
endif()
# Stands in for libpdl-watch and for the program.
set(change ${PROJECT_SOURCE_DIR}/lib/watch/change.c)
if(TARGET pdl_room_watch AND NOT PDL_SANITIZE) # a preloaded library would come before a sanitizer's
    set(change "$<FILTER:$<TARGET_OBJECTS:pdl_room_watch>,INCLUDE,/change[.]c[.]o$>")
endif()
add_library(watch_bisect_library MODULE ${CMAKE_CURRENT_LIST_DIR}/bisect_library.c)
add_executable(watch_bisect_program ${CMAKE_CURRENT_LIST_DIR}/bisect_program.c ${change})
foreach(target watch_bisect_library watch_bisect_program)
    set_target_properties(${target} PROPERTIES C_STANDARD 11)
    target_link_libraries(${target} PRIVATE pdl_options)
endforeach()
target_include_directories(watch_bisect_program PRIVATE ${PROJECT_SOURCE_DIR}/lib)
target_compile_definitions(watch_bisect_program PRIVATE _GNU_SOURCE)
target_link_libraries(watch_bisect_program PRIVATE pdl_make_recording)
set(cases Search Flaky CommandLine BadProgram NotObserved Interrupted)
if(TARGET pdl_tool_json)
    list(APPEND cases Json)
endif()
foreach(case ${cases})
    add_test(NAME tool.bisect.${case}
        COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${PROJECT_SOURCE_DIR}/test/tool
            PDL_WATCH_LIBRARY=$<TARGET_FILE:watch_bisect_library> BISECT_PROGRAM=$<TARGET_FILE:watch_bisect_program>
            ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/bisect_command.py --pdltool $<TARGET_FILE:pdltool> ${case})
    set_tests_properties(tool.bisect.${case} PROPERTIES LABELS tool TIMEOUT 300)
endforeach()
