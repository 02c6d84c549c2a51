# SPDX-License-Identifier: MIT
# The target "single": libpdl as two files, pdl.h and pdl.c, in the folder single of the build. See docs/single.md.

# The public headers of libpdl itself, and not of the libraries beside it.
file(GLOB PDL_CORE_HEADERS CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/include
    include/pdl/*.h include/pdl/detail/*.h)
list(FILTER PDL_CORE_HEADERS EXCLUDE REGEX "^pdl/(inspect|instrument|rtc|timeline|trace|vector)\\.h$")

if(NOT PROJECT_IS_TOP_LEVEL) # the name of the target would be one of another project
    return()
endif()
find_package(Python3 QUIET COMPONENTS Interpreter)
if(NOT Python3_Interpreter_FOUND)
    pdl_off("the target single" "no Python 3")
    return()
endif()

set(pdl_single_sources "")
get_target_property(rooms pdl PDL_ROOMS)
foreach(room ${rooms})
    get_target_property(sources ${room} SOURCES)
    list(APPEND pdl_single_sources ${sources})
endforeach()
set(PDL_SINGLE_COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/cmake/single/single.py
    --root ${PROJECT_SOURCE_DIR} --version ${PROJECT_VERSION}
    --public ${PDL_CORE_HEADERS} pdl/device.cuh
    --sources ${pdl_single_sources})
set(PDL_SINGLE_DIR ${PROJECT_BINARY_DIR}/single)
# It takes less than a second, and always runs: what it reads is not listed.
add_custom_target(single COMMAND ${PDL_SINGLE_COMMAND} --out ${PDL_SINGLE_DIR}
    BYPRODUCTS ${PDL_SINGLE_DIR}/pdl.h ${PDL_SINGLE_DIR}/pdl.c
    COMMENT "Making libpdl in two files" VERBATIM)
