# SPDX-License-Identifier: MIT
# pdltool watch: what it writes, on models of recordings, and how it starts a program.

if(NOT PDL_BUILD_TOOLS)
    return()
endif()

# As pdltool is, and without the JSON library.
add_executable(watch_forms forms_model.c)
if(TARGET pdl_tool_json)
    target_sources(watch_forms PRIVATE
        "$<FILTER:$<TARGET_OBJECTS:pdl_tool_json>,INCLUDE,/(common|watch)/[a-z]+[.]c[.]o$>")
    target_link_libraries(watch_forms PRIVATE PkgConfig::JANSSON)
endif()
target_link_libraries(watch_forms PRIVATE pdl_tool_cxx)
add_executable(watch_forms_plain forms_model.c)
foreach(program watch_forms watch_forms_plain)
    set_target_properties(${program} PROPERTIES C_STANDARD 11)
    target_link_libraries(${program} PRIVATE pdl_tool_parts pdl::pdl pdl::inspect pdl::trace)
endforeach()

# A library that says what it finds, in the place of libpdl-watch.
add_library(watch_teller MODULE teller.c)
target_include_directories(watch_teller PRIVATE ${PROJECT_SOURCE_DIR}/lib)
set_target_properties(watch_teller PROPERTIES C_STANDARD 11 PREFIX "")

find_package(Python3 QUIET COMPONENTS Interpreter)
if(NOT Python3_Interpreter_FOUND)
    pdl_off("the tests of pdltool watch" "no Python 3")
    return()
endif()

# pdl_add_watch_cases(SCRIPT PROGRAM PREFIX CLASS...): the test watch.PREFIXCLASS for each.
function(pdl_add_watch_cases script program prefix)
    foreach(class ${ARGN})
        add_test(NAME watch.${prefix}${class}
            COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/${script}
                --pdltool $<TARGET_FILE:${program}> ${options} ${class})
        set_tests_properties(watch.${prefix}${class} PROPERTIES LABELS tool TIMEOUT 120
            ENVIRONMENT "PYTHONPATH=${PROJECT_SOURCE_DIR}/test/tool;PDL_WATCH_LIBRARY=$<TARGET_FILE:watch_teller>")
    endforeach()
endfunction()

set(options)
execute_process(COMMAND ${Python3_EXECUTABLE} -c "import jsonschema"
    RESULT_VARIABLE no_jsonschema OUTPUT_QUIET ERROR_QUIET)
if(NOT no_jsonschema)
    set(options --schema ${CMAKE_CURRENT_SOURCE_DIR}/watch.schema.json)
endif()
if(PDL_SANITIZE)
    list(APPEND options --without sanitized)
endif()
pdl_add_watch_cases(forms.py watch_forms forms. Text Names Trace CommandLine)
if(TARGET pdl_tool_json)
    pdl_add_watch_cases(forms.py watch_forms forms. Json)
    # Recordings of real programs.
    add_test(NAME watch.real
        COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/real.py $<TARGET_FILE:pdltool>)
    set_tests_properties(watch.real PROPERTIES LABELS tool TIMEOUT 120)
endif()
pdl_add_watch_cases(start.py watch_forms start. Environment Run Failures Recording)
set(options --without json)
pdl_add_watch_cases(forms.py watch_forms_plain forms.plain. Text CommandLine)
