# SPDX-License-Identifier: MIT
# cmake -D MAP= -D "HEADERS=<file>..." -D SHARED= -D STATIC= -D NM= -P check_symbols.cmake
# The version map is the list of public symbols: the headers declare exactly these, and the shared
# library exports exactly these, each in the map's version. The static library defines pdl_ names only.

function(compare what found)
    set(missing ${listed})
    list(REMOVE_ITEM missing ${found})
    set(extra ${found})
    list(REMOVE_ITEM extra ${listed})
    if(missing OR extra)
        message(SEND_ERROR "${what}: not there, but in the map: [${missing}]; "
            "there, but not in the map: [${extra}]")
    endif()
endfunction()

function(symbols out) # one line a symbol: "value type name"
    execute_process(COMMAND ${NM} --defined-only ${ARGN}
        OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCHALL "[0-9a-f]+ [A-Z] [^\n]+" lines "${text}")
    list(TRANSFORM lines REPLACE "^[0-9a-f]+ [A-Z] " "")
    set(${out} ${lines} PARENT_SCOPE)
endfunction()

file(READ ${MAP} text)
string(REGEX MATCH "(PDL_[0-9.]+) {" unused "${text}")
set(node ${CMAKE_MATCH_1})
file(STRINGS ${MAP} listed REGEX "^ +pdl_[a-z0-9_]+;")
string(REGEX MATCHALL "pdl_[a-z0-9_]+" listed "${listed}")
list(LENGTH listed count)
if(count EQUAL 0 OR NOT node)
    message(FATAL_ERROR "no symbols in ${MAP}")
endif()

foreach(header ${HEADERS})
    file(READ ${header} text)
    string(REGEX MATCHALL "\nPDL_API[^;(]*" declarations "${text}")
    foreach(declaration ${declarations})
        string(REGEX MATCH "[A-Za-z0-9_]+$" name "${declaration}")
        list(APPEND declared ${name})
    endforeach()
endforeach()
compare("public headers" "${declared}")

symbols(exported -D ${SHARED})
list(TRANSFORM exported REPLACE "@@?${node}$" "")
list(REMOVE_ITEM exported ${node})
compare("${SHARED}" "${exported}")

symbols(defined -g ${STATIC})
list(FILTER defined EXCLUDE REGEX "^pdl_")
if(defined)
    message(SEND_ERROR "${STATIC} defines names without the prefix pdl_: ${defined}")
endif()
