# SPDX-License-Identifier: MIT
# cmake -D SOURCE=<test/install/instrument> -D DIR= -D GENERATOR= -D "OPTIONS=-D...;..." -D LANGUAGES= -D PDLTOOL=
#       [-D "ARGUMENTS=..."] [-D TARGET=] [-D EXPECTED=<regex>] -P check_instrument.cmake
# pdl_instrument_target() in a project of its own: a call that is refused (EXPECTED), or else whether the kernels
# of the target wait, and those of another do not.

if(NOT TARGET)
    set(TARGET kernels)
endif()
file(REMOVE_RECURSE ${DIR})

function(configure)
    execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${DIR} -G ${GENERATOR} -D CMAKE_BUILD_TYPE=Release
        -D LANGUAGES=${LANGUAGES} -D ARCHITECTURES=90 -D TARGET=${TARGET} -D "ARGUMENTS=${ARGUMENTS}" ${OPTIONS} ${ARGN}
        OUTPUT_VARIABLE text ERROR_VARIABLE text RESULT_VARIABLE result)
    string(REGEX REPLACE "[ \n]+" " " text "${text}") # messages are wrapped
    if(NOT EXPECTED AND NOT result EQUAL 0)
        message(FATAL_ERROR "does not configure:\n${text}")
    elseif(EXPECTED AND (result EQUAL 0 OR NOT text MATCHES "${EXPECTED}"))
        message(FATAL_ERROR "not refused with '${EXPECTED}':\n${text}")
    endif()
    set(text "${text}" PARENT_SCOPE)
endfunction()

# build(WHAT TABLE): the columns target, waits and triggers of `pdltool inspect`; HASH becomes that of the library.
function(build what table)
    execute_process(COMMAND ${CMAKE_COMMAND} --build ${DIR} --target plain kernels OUTPUT_VARIABLE text
        ERROR_VARIABLE text RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
        message(FATAL_ERROR "${what}: does not build:\n${text}")
    endif()
    set(found "")
    foreach(library plain kernels)
        execute_process(COMMAND ${PDLTOOL} inspect ${DIR}/lib${library}.a OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
        string(REGEX MATCHALL "\n(sm|compute)_[^\n]*" rows "${text}")
        foreach(row IN LISTS rows)
            string(REGEX REPLACE "\n([^ ]+) +[A-Z]+ +[-0-9.]+ +([a-z]+) +([a-z]+) .*" "\\1 \\2 \\3" row "${row}")
            list(APPEND found "${library} ${row}")
        endforeach()
    endforeach()
    list(SORT found) # how CMake orders architectures is its own
    if(NOT found STREQUAL table)
        message(FATAL_ERROR "${what}: '${found}', not '${table}'")
    endif()
    file(SHA256 ${DIR}/libkernels.a hash)
    set(HASH ${hash} PARENT_SCOPE)
    message(STATUS "${what}: as it should be")
endfunction()

configure()
if(EXPECTED)
    return()
endif()
set(plain "plain compute_90 no no;plain sm_90 no no")
build("machine code and PTX wait" "kernels compute_90 yes no;kernels sm_90 yes no;${plain}")
set(entry ${HASH})
set(ARGUMENTS "TRIGGER wait")
configure()
build("another trigger compiles it again" "kernels compute_90 yes yes;kernels sm_90 yes yes;${plain}")
set(ARGUMENTS "WAIT hoist CONSTANT_PARAMS x")
configure()
build("another wait compiles it again" "kernels compute_90 yes no;kernels sm_90 yes no;${plain}")
if(HASH STREQUAL entry)
    message(FATAL_ERROR "hoist and entry give the same")
endif()
configure(-D ARCHITECTURES=80-virtual,90-real)
if(text MATCHES "its newest architecture")
    message(FATAL_ERROR "a warning about an architecture that waits:\n${text}")
endif()
build("PTX for an older target cannot wait"
    "kernels compute_80 no no;kernels sm_90 yes no;plain compute_80 no no;plain sm_90 no no")
configure(-D ARCHITECTURES=80)
if(NOT text MATCHES "its newest architecture is 80")
    message(FATAL_ERROR "no warning about the architecture:\n${text}")
endif()
