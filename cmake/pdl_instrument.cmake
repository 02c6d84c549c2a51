# SPDX-License-Identifier: MIT
# pdl_instrument_target(TARGET
#     [WAIT entry|hoist]             where the wait goes; default: entry
#     [TRIGGER none|wait|last-read]  where the trigger goes; default: none
#     [CONSTANT_PARAMS PARAM...])    parameters whose memory no kernel in flight writes
#
# Puts the wait into the kernels of a target that were written without it: nvcc compiles them through
# `pdl-ptxas --nvcc`, so that machine code and PTX wait. A kernel that stays without is named by a warning. The
# macro PDL_INSTRUMENTED is defined in these sources.
#
# Call it in the directory that creates the target. It replaces the target's CUDA_COMPILER_LAUNCHER: a
# compiler cache there would return objects that were compiled without the wait.

include_guard(GLOBAL)
include("${CMAKE_CURRENT_LIST_DIR}/pdl_target.cmake")

function(pdl_instrument_target target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "WAIT;TRIGGER" "CONSTANT_PARAMS")
    set(usage "pdl_instrument_target(${target}): ")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "${usage}unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
    endif()
    if(NOT DEFINED arg_WAIT)
        set(arg_WAIT entry)
    elseif(NOT arg_WAIT MATCHES "^(entry|hoist)$")
        message(FATAL_ERROR "${usage}WAIT is entry or hoist, not '${arg_WAIT}'")
    endif()
    if(NOT DEFINED arg_TRIGGER)
        set(arg_TRIGGER none)
    elseif(NOT arg_TRIGGER MATCHES "^(none|wait|last-read)$")
        message(FATAL_ERROR "${usage}TRIGGER is none, wait or last-read, not '${arg_TRIGGER}'")
    endif()
    pdl_own_target_(target "${usage}")
    if(NOT CMAKE_CUDA_COMPILER_ID STREQUAL "NVIDIA")
        message(FATAL_ERROR "${usage}the CUDA compiler must be NVIDIA's, not '${CMAKE_CUDA_COMPILER_ID}'")
    endif()
    pdl_find_tool_(program pdl-ptxas "${usage}")
    list(JOIN arg_CONSTANT_PARAMS "," constants)
    set_property(TARGET ${target} PROPERTY CUDA_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
        PDL_INSTRUMENT=${arg_WAIT} PDL_INSTRUMENT_TRIGGER=${arg_TRIGGER} PDL_INSTRUMENT_CONSTANT=${constants}
        ${program} --nvcc)
    # Makefiles compile again when a definition changes, and not when a launcher does.
    string(SHA256 hash "${arg_WAIT} ${arg_TRIGGER} ${constants}")
    string(SUBSTRING ${hash} 0 7 hash)
    target_compile_definitions(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:PDL_INSTRUMENTED=0x1${hash}>)
    if(TARGET pdl::pdl-ptxas)
        add_dependencies(${target} pdl::pdl-ptxas)
    endif()
    cmake_language(EVAL CODE "cmake_language(DEFER CALL pdl_instrument_check_ [[${target}]])")
endfunction()

# pdl_instrument_check_(TARGET): warns if no device that it is compiled for can wait.
function(pdl_instrument_check_ target)
    get_target_property(architectures ${target} CUDA_ARCHITECTURES)
    pdl_newest_architecture_(newest "${architectures}")
    if(newest MATCHES "^([0-9]+)" AND CMAKE_MATCH_1 LESS 90)
        message(WARNING "pdl_instrument_target(${target}): its newest architecture is ${newest}. "
            "PDL begins with 90: no kernel of it is instrumented")
    endif()
endfunction()
