# SPDX-License-Identifier: MIT
# pdl_lint_target(TARGET
#     [FAIL_ON note|warning|error|never]  a finding of this level or above fails the build; default: error
#     [PROJECT FILE]                      the project file; default: the nearest .pdl-lint
#     [CONSTANT_PARAMS PARAM...]          parameters whose memory no kernel in flight writes
#     [OVERLAPPED PATTERN...]             kernels that are launched with overlap
#     [ARCHITECTURES ARCH...])            default: the newest of the target's CUDA_ARCHITECTURES
#
# Lints the kernels of a target as part of its build, before the target itself is compiled: what
# `pdltool lint` finds is shown as compilers show warnings. It runs again when a source, a header, an
# option, the file of PROJECT or pdltool has changed. The target pdl_lint_TARGET is the lint alone.
#
# Call it in the directory that creates the target. What the target is made of is read when that
# directory has been processed, so that it does not matter what is set before the call and what after.

include_guard(GLOBAL)
include("${CMAKE_CURRENT_LIST_DIR}/pdl_target.cmake")

# How it works: an object library with the target's sources and properties is compiled to PTX, by CMake's
# CUDA_PTX_COMPILATION. So the sources are compiled as the target's own, usage requirements and generator
# expressions included, which a custom command could not do; CMake knows the headers that each depends on.

function(pdl_lint_target target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "FAIL_ON;PROJECT" "CONSTANT_PARAMS;OVERLAPPED;ARCHITECTURES")
    set(usage "pdl_lint_target(${target}): ")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "${usage}unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
    endif()
    if(NOT DEFINED arg_FAIL_ON)
        set(arg_FAIL_ON error)
    elseif(NOT arg_FAIL_ON MATCHES "^(note|warning|error|never)$")
        message(FATAL_ERROR "${usage}FAIL_ON is note, warning, error or never, not '${arg_FAIL_ON}'")
    endif()

    pdl_own_target_(target "${usage}")
    if(TARGET pdl_lint_${target})
        message(FATAL_ERROR "${usage}called twice")
    endif()

    pdl_find_tool_(pdltool pdltool "${usage}")

    set(options --fail-on ${arg_FAIL_ON})
    if(arg_FAIL_ON STREQUAL "note") # what fails the build is shown
        list(APPEND options --level note)
    endif()
    set(project)
    if(DEFINED arg_PROJECT)
        get_filename_component(project ${arg_PROJECT} ABSOLUTE)
        get_source_file_property(generated ${project} GENERATED)
        if(NOT generated AND NOT EXISTS ${project})
            message(FATAL_ERROR "${usage}no project file ${project}")
        endif()
        list(APPEND options --project ${project})
    endif()
    foreach(parameter IN LISTS arg_CONSTANT_PARAMS)
        list(APPEND options --constant-param ${parameter})
    endforeach()
    foreach(pattern IN LISTS arg_OVERLAPPED)
        list(APPEND options --overlapped ${pattern})
    endforeach()

    # The command's target exists from here on; the object libraries that it reads are made at the end of
    # the directory, from what the target is then.
    set(stamp ${CMAKE_CURRENT_BINARY_DIR}/pdl_lint/${target}-$<CONFIG>.stamp)
    set(compiled $<GENEX_EVAL:$<TARGET_PROPERTY:${target},PDL_LINT_PTX>>)
    add_custom_command(OUTPUT ${stamp}
        COMMAND ${pdltool} lint ${options} ${compiled}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/pdl_lint
        COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
        DEPENDS ${pdltool} ${project} ${compiled}
        COMMENT "Linting the kernels of ${target}"
        COMMAND_EXPAND_LISTS
        VERBATIM)
    add_custom_target(pdl_lint_${target} DEPENDS ${stamp})
    add_dependencies(${target} pdl_lint_${target})
    set_property(TARGET ${target} PROPERTY PDL_LINT_ARCHITECTURES ${arg_ARCHITECTURES})
    cmake_language(EVAL CODE "cmake_language(DEFER CALL pdl_lint_compile_ [[${target}]])")
endfunction()

# pdl_lint_compile_(TARGET): the object libraries with the PTX, one an architecture.
function(pdl_lint_compile_ target)
    set(usage "pdl_lint_target(${target}): ")
    pdl_lint_sources_(sources ${target})
    if(NOT sources)
        message(FATAL_ERROR "${usage}it has no CUDA sources")
    endif()
    if(NOT CMAKE_CUDA_COMPILER_ID MATCHES "^(NVIDIA|Clang)$")
        message(FATAL_ERROR "${usage}no way is known to get PTX from the CUDA compiler "
            "'${CMAKE_CUDA_COMPILER_ID}', only from NVIDIA's and Clang")
    endif()
    get_target_property(architectures ${target} PDL_LINT_ARCHITECTURES)
    if(NOT architectures)
        get_target_property(architectures ${target} CUDA_ARCHITECTURES)
        pdl_newest_architecture_(newest "${architectures}")
        if(NOT newest)
            message(FATAL_ERROR "${usage}its CUDA_ARCHITECTURES are '${architectures}', which names none: "
                "say with ARCHITECTURES which one to lint")
        elseif(newest MATCHES "^([0-9]+)" AND CMAKE_MATCH_1 LESS 90)
            message(WARNING "${usage}its newest architecture is ${newest}. "
                "PDL begins with 90: there are no waits to find in older code")
        endif()
        set(architectures ${newest})
    endif()

    set(ptx)
    foreach(architecture IN LISTS architectures)
        set(library pdl_lint_ptx_${target}_${architecture})
        add_library(${library} OBJECT EXCLUDE_FROM_ALL ${sources})
        foreach(property INCLUDE_DIRECTORIES COMPILE_DEFINITIONS COMPILE_OPTIONS COMPILE_FEATURES COMPILE_FLAGS
                LINK_LIBRARIES NO_SYSTEM_FROM_IMPORTED POSITION_INDEPENDENT_CODE JOB_POOL_COMPILE
                CUDA_STANDARD CUDA_STANDARD_REQUIRED CUDA_EXTENSIONS CUDA_SEPARABLE_COMPILATION
                CUDA_RUNTIME_LIBRARY CUDA_COMPILER_LAUNCHER)
            get_property(is_set TARGET ${target} PROPERTY ${property} SET)
            get_property(value TARGET ${target} PROPERTY ${property})
            if(is_set)
                set_property(TARGET ${library} PROPERTY ${property} "${value}")
            endif()
        endforeach()
        get_target_property(type ${target} TYPE)
        if(type MATCHES "SHARED|MODULE")
            get_target_property(symbol ${target} DEFINE_SYMBOL)
            if(NOT symbol)
                string(MAKE_C_IDENTIFIER ${target}_EXPORTS symbol)
            endif()
            target_compile_definitions(${library} PRIVATE ${symbol})
        endif()
        get_target_property(dependencies ${target} MANUALLY_ADDED_DEPENDENCIES)
        list(REMOVE_ITEM dependencies pdl_lint_${target})
        if(dependencies)
            add_dependencies(${library} ${dependencies})
        endif()
        # The target's own compilation shows the compiler's warnings.
        target_compile_options(${library} PRIVATE
            -w $<IF:$<CUDA_COMPILER_ID:NVIDIA>,-lineinfo,-gline-tables-only>)
        set_target_properties(${library} PROPERTIES
            CUDA_PTX_COMPILATION ON
            CUDA_ARCHITECTURES "${architecture}"
            INTERPROCEDURAL_OPTIMIZATION OFF
            EXPORT_COMPILE_COMMANDS OFF)
        add_dependencies(pdl_lint_${target} ${library})
        list(APPEND ptx $<TARGET_OBJECTS:${library}>)
    endforeach()
    set_property(TARGET ${target} PROPERTY PDL_LINT_PTX "${ptx}")
endfunction()

# pdl_lint_sources_(OUT TARGET): the CUDA sources, and the headers: some may have to be generated first.
function(pdl_lint_sources_ out target)
    get_target_property(all ${target} SOURCES)
    set(sources)
    set(headers)
    foreach(source IN LISTS all)
        if(source MATCHES "\\$<")
            list(APPEND sources $<FILTER:${source},INCLUDE,[.]cu$>)
            continue()
        endif()
        get_source_file_property(language ${source} LANGUAGE)
        if(language STREQUAL "CUDA" OR (NOT language AND source MATCHES "[.]cu$"))
            list(APPEND sources ${source})
        elseif(source MATCHES "[.](h|hh|hpp|hxx|cuh|inc|inl|ipp|tpp|def)$")
            list(APPEND headers ${source})
        endif()
    endforeach()
    if(sources)
        list(APPEND sources ${headers})
    endif()
    set(${out} "${sources}" PARENT_SCOPE)
endfunction()
