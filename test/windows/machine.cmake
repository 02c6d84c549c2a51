# SPDX-License-Identifier: MIT
# cmake -D WINE= -D MACHINE=<folder> -D FROM=<folder> -D DRIVER=<file or nothing> -P machine.cmake
# Makes a prefix of wine: a new one without a driver, or that in FROM with a DLL as its CUDA driver.
get_filename_component(wine_dir ${WINE} REALPATH)
cmake_path(GET wine_dir PARENT_PATH wine_dir)
find_program(SERVER NAMES wineserver64 wineserver HINTS ${wine_dir} PATHS /usr/lib/wine REQUIRED)
set(ENV{WINEDEBUG} -all)
# serve(): what wine starts for the first program of a machine stays for the next one, and ends by itself. It keeps that
# program's output open: of a test, CTest would wait for it.
function(serve)
    set(ENV{WINEPREFIX} ${MACHINE})
    execute_process(COMMAND sh -c "exec </dev/null >/dev/null 2>&1; \"$1\" -p30; \"$2\" cmd /c ver" sh ${SERVER} ${WINE}
        COMMAND_ERROR_IS_FATAL ANY)
endfunction()
set(ENV{WINEDLLOVERRIDES} "mscoree,mshtml=") # no question about parts that nobody needs
if(NOT DRIVER)
    if(NOT EXISTS ${MACHINE}/system.reg)
        file(REMOVE_RECURSE ${MACHINE})
        cmake_path(GET MACHINE PARENT_PATH parent)
        file(MAKE_DIRECTORY ${parent})
        set(ENV{WINEPREFIX} ${MACHINE})
        execute_process(COMMAND ${WINE} cmd /c ver COMMAND_ERROR_IS_FATAL ANY)
        execute_process(COMMAND ${SERVER} -k) # which writes the registry
        execute_process(COMMAND ${SERVER} -w)
    endif()
    if(EXISTS ${MACHINE}/drive_c/windows/system32/nvcuda.dll)
        message(FATAL_ERROR "wine brings a CUDA driver of its own")
    endif()
    serve()
    return()
endif()
file(REMOVE_RECURSE ${MACHINE})
execute_process(COMMAND cp -al ${FROM} ${MACHINE} COMMAND_ERROR_IS_FATAL ANY)
file(COPY_FILE ${DRIVER} ${MACHINE}/drive_c/windows/system32/nvcuda.dll)
serve()
