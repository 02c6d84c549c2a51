# SPDX-License-Identifier: MIT
# libpdl-watch between programs and a driver, and its parts.

if(NOT TARGET pdl_watch)
    return()
endif()

# Libraries of other people.
foreach(which 1 2 3 4)
    add_library(interposed_next_${which} MODULE interposed_next.c)
    target_compile_definitions(interposed_next_${which} PRIVATE WHICH=${which} _GNU_SOURCE)
    target_include_directories(interposed_next_${which} SYSTEM PRIVATE ${PDL_CUDA_INCLUDE_DIR})
    target_link_libraries(interposed_next_${which} PRIVATE pdl_options ${CMAKE_DL_LIBS})
    set_target_properties(interposed_next_${which} PROPERTIES C_STANDARD 11 C_VISIBILITY_PRESET hidden)
endforeach()

# The rules and the registry of code, with what they need of the library.
include(${PROJECT_SOURCE_DIR}/cmake/cmocka.cmake)
if(TARGET pdl_cmocka)
    add_executable(watch_rules test_rules.c)
    add_executable(watch_images test_images.c
        $<TARGET_OBJECTS:pdl_room_code> $<TARGET_OBJECTS:pdl_room_os>)
    target_compile_definitions(watch_images PRIVATE PDL_TEST_OBJECT="$<TARGET_FILE:interposed_next_1>")
    add_dependencies(watch_images interposed_next_1)
    target_link_libraries(watch_images PRIVATE pdl_make_image)
    target_sources(watch_rules PRIVATE "$<FILTER:$<TARGET_OBJECTS:pdl_room_watch>,INCLUDE,/change[.]c[.]o$>")
    target_sources(watch_images PRIVATE "$<FILTER:$<TARGET_OBJECTS:pdl_room_watch>,INCLUDE,/images[.]c[.]o$>")
    foreach(topic rules images)
        target_link_libraries(watch_${topic} PRIVATE pdl_private pdl_cmocka ${CMAKE_DL_LIBS} pthread)
        set_target_properties(watch_${topic} PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
        add_test(NAME unit.watch_${topic} COMMAND watch_${topic})
        set_tests_properties(unit.watch_${topic} PROPERTIES LABELS unit TIMEOUT 120)
    endforeach()
endif()

if(NOT TARGET pdl_watched_cuda OR NOT Python3_FOUND)
    return()
endif()
target_link_options(pdl_watched_cuda PRIVATE LINKER:-Bsymbolic-functions) # as a driver finds its own calls
foreach(program interposed interposed_linked)
    add_executable(${program} interposed.c)
    target_link_libraries(${program} PRIVATE pdl_make_image pdl_options pdl_sanitize pthread ${CMAKE_DL_LIBS})
    target_include_directories(${program} SYSTEM PRIVATE ${PDL_CUDA_INCLUDE_DIR})
    target_compile_definitions(${program} PRIVATE _GNU_SOURCE)
    set_target_properties(${program} PROPERTIES C_STANDARD 11)
    add_dependencies(${program} pdl_watched_cuda pdl_mock_cupti pdl_watch pdl_inspect)
endforeach()
target_link_libraries(interposed_linked PRIVATE pdl_watched_cuda)
target_compile_definitions(interposed_linked PRIVATE INTERPOSED_LINKED)
set_target_properties(interposed_linked PROPERTIES BUILD_WITH_INSTALL_RPATH ON) # which has none
add_executable(interposed_scopes interposed_scopes.c)
target_compile_definitions(interposed_scopes PRIVATE _GNU_SOURCE)
target_link_libraries(interposed_scopes PRIVATE pdl_options pdl_sanitize ${CMAKE_DL_LIBS})
set_target_properties(interposed_scopes PROPERTIES C_STANDARD 11)
add_dependencies(interposed_scopes interposed_next_1 interposed_next_2 interposed_next_3 interposed_next_4)

# The library as it is where there is no libpdl-inspect.
get_target_property(sources pdl_watch SOURCES)
get_target_property(options pdl_watch LINK_OPTIONS)
add_library(pdl_watch_alone MODULE ${sources})
target_link_options(pdl_watch_alone PRIVATE ${options})
target_link_libraries(pdl_watch_alone PRIVATE pdl_options pdl_sanitize ${CMAKE_DL_LIBS} pthread)
set_target_properties(pdl_watch_alone PROPERTIES
    LINKER_LANGUAGE C
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/alone)
add_dependencies(interposed pdl_watch_alone)

# A sanitizer's library has to come before all others.
set(runtime)
foreach(sanitizer asan tsan)
    string(REPLACE "san" "" kind ${sanitizer})
    if((kind STREQUAL "a" AND PDL_SANITIZE MATCHES "address") OR (kind STREQUAL "t" AND PDL_SANITIZE MATCHES "thread"))
        execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=lib${sanitizer}.so
            OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE)
        list(APPEND runtime --runtime ${found})
    endif()
endforeach()

# Each function of interposed.py that begins with test_ is a test.
file(STRINGS interposed.py tests REGEX "^def test_[a-z0-9_]+\\(")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS interposed.py)
foreach(test ${tests})
    string(REGEX REPLACE "^def test_([a-z0-9_]+).*" "\\1" test ${test})
    add_test(NAME interpose.${test} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/interposed.py
        --program $<TARGET_FILE:interposed> --linked $<TARGET_FILE:interposed_linked>
        --scopes $<TARGET_FILE:interposed_scopes> --library $<TARGET_FILE:pdl_watch>
        --alone $<TARGET_FILE:pdl_watch_alone>
        --driver $<TARGET_FILE_DIR:pdl_watched_cuda> --cupti $<TARGET_FILE:pdl_mock_cupti>
        --inspect $<TARGET_FILE_DIR:pdl_inspect>
        --directory ${CMAKE_CURRENT_BINARY_DIR}/interposed_${test}
        --others $<TARGET_FILE:interposed_next_1> $<TARGET_FILE:interposed_next_2>
        --wrappers $<TARGET_FILE:interposed_next_3> $<TARGET_FILE:interposed_next_4> ${runtime} ${test})
    set_tests_properties(interpose.${test} PROPERTIES LABELS fake TIMEOUT 120)
endforeach()

# A driver that takes code, and a program that loads it.
add_library(loads_cuda SHARED loads_cuda.c)
set_target_properties(loads_cuda PROPERTIES OUTPUT_NAME cuda SUFFIX .so.1 NO_SONAME ON C_STANDARD 11
    C_VISIBILITY_PRESET hidden LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/loads_lib)
target_link_options(loads_cuda PRIVATE LINKER:-soname,libcuda.so.1 LINKER:-Bsymbolic-functions)
add_executable(loads loads.c)
foreach(part loads loads_cuda)
    target_include_directories(${part} SYSTEM PRIVATE ${PDL_CUDA_INCLUDE_DIR})
    target_compile_definitions(${part} PRIVATE _GNU_SOURCE)
    target_link_libraries(${part} PRIVATE pdl_options pdl_sanitize ${CMAKE_DL_LIBS})
endforeach()
set_target_properties(loads PROPERTIES C_STANDARD 11)
add_dependencies(loads loads_cuda pdl_watch pdl_watch_alone pdl_inspect)

set(memory)
if(NOT PDL_SANITIZE) # which has allocations of its own
    add_library(loads_memory MODULE loads_memory.c)
    target_link_libraries(loads_memory PRIVATE pdl_options)
    set_target_properties(loads_memory PROPERTIES C_STANDARD 11 C_VISIBILITY_PRESET hidden)
    add_dependencies(loads loads_memory)
    set(memory --memory $<TARGET_FILE:loads_memory>)
endif()

file(STRINGS loads.py tests REGEX "^def test_[a-z0-9_]+\\(")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS loads.py)
foreach(test ${tests})
    string(REGEX REPLACE "^def test_([a-z0-9_]+).*" "\\1" test ${test})
    add_test(NAME loads.${test} COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/loads.py
        --program $<TARGET_FILE:loads> --library $<TARGET_FILE:pdl_watch> --alone $<TARGET_FILE:pdl_watch_alone>
        --driver $<TARGET_FILE_DIR:loads_cuda> --inspect $<TARGET_FILE_DIR:pdl_inspect>
        --directory ${CMAKE_CURRENT_BINARY_DIR}/loads_${test} ${memory} ${runtime} ${test})
    set_tests_properties(loads.${test} PROPERTIES LABELS fake TIMEOUT 120 SKIP_RETURN_CODE 77)
endforeach()
