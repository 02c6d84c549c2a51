# SPDX-License-Identifier: MIT
# cmake -D MAP= -D MAN=<dir> -P check_man.cmake
# Every symbol of the version map has a man page.
file(STRINGS ${MAP} symbols REGEX "^ +pdl_[a-z0-9_]+;")
string(REGEX MATCHALL "pdl_[a-z0-9_]+" symbols "${symbols}")
if(NOT symbols)
    message(FATAL_ERROR "no symbols in ${MAP}")
endif()
foreach(symbol ${symbols})
    if(NOT EXISTS ${MAN}/${symbol}.3)
        message(SEND_ERROR "no man page for ${symbol}")
    endif()
endforeach()
