# SPDX-License-Identifier: MIT
# cmake -D PREFIX= -D MANDIR= -D DATADIR= -D "PAGES=<name>..." -D MAN=<program or nothing> -P check_manual.cmake
# What comes with an installed pdltool: its man pages and completions are where man and shells look for them.
if(MAN) # on systems without manuals it may be a script that says so
    execute_process(COMMAND ${MAN} --version OUTPUT_VARIABLE version ERROR_QUIET)
    if(NOT version MATCHES "^man [0-9]")
        set(MAN "")
    endif()
endif()
foreach(page IN LISTS PAGES)
    set(file ${PREFIX}/${MANDIR}/man1/${page})
    if(NOT EXISTS ${file})
        message(SEND_ERROR "no ${file}")
    elseif(MAN)
        string(REGEX REPLACE "[.]1$" "" name ${page})
        execute_process(COMMAND ${CMAKE_COMMAND} -E env MANPATH=${PREFIX}/${MANDIR} ${MAN} -w 1 ${name}
            OUTPUT_VARIABLE found ERROR_VARIABLE why OUTPUT_STRIP_TRAILING_WHITESPACE)
        if(NOT found STREQUAL file)
            message(SEND_ERROR "man finds '${found}', not ${file}: ${why}")
        endif()
    endif()
endforeach()
file(GLOB others RELATIVE ${PREFIX}/${MANDIR}/man1 ${PREFIX}/${MANDIR}/man1/*)
list(REMOVE_ITEM others ${PAGES})
if(others)
    message(SEND_ERROR "pages of nothing that is installed: ${others}")
endif()

# By the name of the file bash-completion and zsh know what it completes.
execute_process(COMMAND bash --norc --noprofile -c [[
    source "$1/bash-completion/completions/pdltool" && PATH=$2:$PATH
    COMP_WORDS=(pdltool lint --js) COMP_CWORD=2
    _pdltool pdltool; echo "${COMPREPLY[@]}"]] bash ${PREFIX}/${DATADIR} ${PREFIX}/bin
    OUTPUT_VARIABLE found ERROR_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT found STREQUAL "--json")
    message(SEND_ERROR "bash completes --js to '${found}'")
endif()
file(STRINGS ${PREFIX}/${DATADIR}/zsh/site-functions/_pdltool first LIMIT_COUNT 1)
if(NOT first STREQUAL "#compdef pdltool")
    message(SEND_ERROR "zsh's completion begins with '${first}'")
endif()
