# SPDX-License-Identifier: MIT
# cmake -D "MAPS=<file>..." -D MAN=<dir> -P check_man.cmake
# Every symbol of the version maps has a man page.
foreach(map ${MAPS})
    file(STRINGS ${map} symbols REGEX "^ +pdl_[a-z0-9_]+;")
    string(REGEX MATCHALL "pdl_[a-z0-9_]+" symbols "${symbols}")
    if(NOT symbols)
        message(FATAL_ERROR "no symbols in ${map}")
    endif()
    foreach(symbol ${symbols})
        if(NOT EXISTS ${MAN}/${symbol}.3)
            message(SEND_ERROR "no man page for ${symbol}")
        endif()
    endforeach()
endforeach()
if(NOT MAPS)
    message(FATAL_ERROR "no version maps")
endif()
