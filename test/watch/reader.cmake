# SPDX-License-Identifier: MIT
# What pdltool makes of recordings: read, joined and judged.

# Recordings made by C calls.
add_library(pdl_make_recording STATIC ${CMAKE_CURRENT_LIST_DIR}/make_recording.c)
set_target_properties(pdl_make_recording PROPERTIES C_STANDARD 11)
target_include_directories(pdl_make_recording PUBLIC ${CMAKE_CURRENT_LIST_DIR} ${PROJECT_SOURCE_DIR}/lib)
target_link_libraries(pdl_make_recording PRIVATE pdl_options)

if(NOT PDL_BUILD_TOOLS)
    return()
endif()

include(${PROJECT_SOURCE_DIR}/cmake/cmocka.cmake)
if(TARGET pdl_cmocka)
    foreach(topic reader join pairs)
        add_executable(watch_${topic} ${CMAKE_CURRENT_LIST_DIR}/test_${topic}.c ${CMAKE_CURRENT_LIST_DIR}/judge.c)
        set_target_properties(watch_${topic} PROPERTIES C_STANDARD 11)
        target_link_libraries(watch_${topic} PRIVATE pdl_tool_parts pdl::inspect pdl_make_recording pdl_cmocka)
        add_test(NAME watch.${topic} COMMAND watch_${topic})
        set_tests_properties(watch.${topic} PROPERTIES LABELS unit TIMEOUT 120)
    endforeach()
    target_link_libraries(watch_pairs PRIVATE pdl_make_image)
endif()
