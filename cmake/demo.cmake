# SPDX-License-Identifier: MIT
# cmake -D "TIMELINE=<command or nothing>" -D PDLTOOL= -D DESCRIPTION= -D DIR= -P demo.cmake
# The main example: two layers without PDL and with it, as a timeline. On a device from their stamps, and beside it
# what the simulator predicts for the same launches; without one what it predicts for a description of two layers.

function(say text)
    execute_process(COMMAND ${CMAKE_COMMAND} -E echo "${text}")
endfunction()

set(picture ${DIR}/prediction.svg)
set(stamps ${DIR}/timeline)
set(source ${DESCRIPTION} --plain)
set(what "FC1 and FC2 on an H200, without PDL and with it")
file(MAKE_DIRECTORY ${DIR})
file(REMOVE ${picture})

if(TIMELINE)
    execute_process(COMMAND ${TIMELINE} --svg ${stamps}.svg --trace ${stamps}.json
        OUTPUT_VARIABLE text ERROR_VARIABLE text RESULT_VARIABLE result)
    if(result EQUAL 77)
        string(REGEX REPLACE "^.*skipped: |\n.*$" "" why "${text}")
        say("There is no GPU to run on: ${why}.")
    elseif(NOT result EQUAL 0)
        message(FATAL_ERROR "${TIMELINE} failed: ${result}\n${text}")
    else()
        say("${text}")
        # A pdltool that was built without jansson reads no traces.
        execute_process(COMMAND ${PDLTOOL} sim ${stamps}.json OUTPUT_QUIET ERROR_QUIET RESULT_VARIABLE unread)
        if(unread EQUAL 0)
            set(source ${stamps}.json)
            set(what "these launches on an H200, from their phases")
        endif()
    endif()
else()
    say("There is no nvcc here to build 12_timeline with.")
endif()

say("What the simulator predicts for ${what}:\n")
execute_process(COMMAND ${PDLTOOL} sim ${source} --text --svg ${picture} RESULT_VARIABLE result)
if(NOT result EQUAL 0 OR NOT EXISTS ${picture})
    message(FATAL_ERROR "${PDLTOOL} sim failed: ${result}")
endif()
say("\nThe same as a picture, light or dark as its viewer: ${picture}")
