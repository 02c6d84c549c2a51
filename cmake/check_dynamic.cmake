# SPDX-License-Identifier: MIT
# cmake -D FILE= -D READELF= [-D SONAME=] [-D ALLOWED=<regex>] -P check_dynamic.cmake
# A program needs nothing but the C and C++ libraries, libpdl and what is ALLOWED; a library with a SONAME, the
# C library and what is ALLOWED. So neither needs anything of CUDA.
execute_process(COMMAND ${READELF} -dW ${FILE} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\\(NEEDED\\)[^\n]*" needed "${text}")
set(known "libc|libm|libdl|librt|libpthread|ld-linux[^.]*")
if(NOT SONAME)
    string(APPEND known "|libpdl|libstdc\\+\\+|libgcc_s")
endif()
if(ALLOWED)
    string(APPEND known "|${ALLOWED}")
endif()
foreach(line ${needed})
    if(NOT line MATCHES "\\[(${known})\\.so")
        message(SEND_ERROR "${FILE} needs ${line}")
    endif()
endforeach()
if(NOT needed)
    message(SEND_ERROR "no dynamic section in ${FILE}")
endif()
if(SONAME AND NOT text MATCHES "\\(SONAME\\)[^\n]*\\[${SONAME}\\]")
    message(SEND_ERROR "${FILE} is not named ${SONAME}")
endif()
