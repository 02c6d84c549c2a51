# SPDX-License-Identifier: MIT
# cmake -D "TIMELINE=<command or nothing>" -D PDLTOOL= -D DESCRIPTION= -D DIR= -P demo.cmake
# The main example: two layers without PDL and with it, as a timeline. On a device from their stamps, and without one
# as the simulator predicts it. The first line is the result.

function(say text)
    execute_process(COMMAND ${CMAKE_COMMAND} -E echo "${text}")
endfunction()

set(picture ${DIR}/prediction.svg)
set(stamps ${DIR}/timeline)
file(MAKE_DIRECTORY ${DIR})
file(REMOVE ${picture} ${stamps}.svg ${stamps}.json)

execute_process(COMMAND ${PDLTOOL} sim ${DESCRIPTION} --plain --text --svg ${picture}
    OUTPUT_VARIABLE prediction RESULT_VARIABLE result)
string(REGEX MATCH "^[^\n]*×[^\n]*" verdict "${prediction}")
if(NOT result EQUAL 0 OR NOT verdict OR NOT EXISTS ${picture})
    message(FATAL_ERROR "${PDLTOOL} sim failed: ${result}\n${prediction}")
endif()

set(why "not built with nvcc")
if(TIMELINE)
    execute_process(COMMAND ${TIMELINE} --svg ${stamps}.svg --trace ${stamps}.json
        OUTPUT_VARIABLE text ERROR_VARIABLE text RESULT_VARIABLE result)
    if(result EQUAL 0)
        string(REGEX REPLACE "\nMeasured on ([^\n]*)[.]\n" " (measured on \\1)\n" text "${text}")
        say("${text}")
        say("The prediction for an H200: ${verdict}\npicture: ${picture}")
        return()
    elseif(NOT result EQUAL 77)
        message(FATAL_ERROR "${TIMELINE} failed: ${result}\n${text}")
    endif()
    set(why "no GPU here")
endif()
string(FIND "${prediction}" "\n\n" head) # the verdict and what it is of
string(SUBSTRING "${prediction}" ${head} -1 rest)
say("${verdict} (predicted for an H200; ${why})${rest}\npicture: ${picture}")
