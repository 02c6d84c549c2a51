# SPDX-License-Identifier: MIT
# Writes PDL_GIT_VERSION into HEADER, which is left alone when nothing changed.
cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND ${GIT} -C ${SOURCE} describe --always --dirty --tags
    OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT version)
    set(version unknown)
endif()
file(CONFIGURE OUTPUT ${HEADER} CONTENT "#define PDL_GIT_VERSION \"@version@\"\n" @ONLY)
