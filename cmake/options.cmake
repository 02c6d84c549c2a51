# SPDX-License-Identifier: MIT
# What every target of this project is compiled with, and how a part that is left out is reported.

# pdl_off(WHAT WHY): one line for a part that is not built.
function(pdl_off what why)
    set(mode STATUS)
    if(PDL_REQUIRE_ALL)
        set(mode FATAL_ERROR)
    endif()
    message(${mode} "libpdl: off: ${what} (${why})")
endfunction()

# PDL_SYSTEM_LIBS: what the libraries need of the system. The thread library by its plain name: Threads::Threads would
# make every project that finds this package enable C or C++, and those in CUDA alone could not.
set(PDL_SYSTEM_LIBS ${CMAKE_DL_LIBS} pthread)
if(WIN32)
    set(PDL_SYSTEM_LIBS "")
endif()

# pdl_options: language level and warnings, for this project's own C targets.
add_library(pdl_options INTERFACE)
target_compile_features(pdl_options INTERFACE c_std_11)
target_compile_options(pdl_options INTERFACE
    "$<$<COMPILE_LANGUAGE:C>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wstrict-prototypes;-Wmissing-prototypes>"
    "$<$<COMPILE_LANGUAGE:C>:-Wundef;-Wvla;-Wwrite-strings;-Wpointer-arith;-Wformat=2>"
    "$<$<AND:$<COMPILE_LANGUAGE:C>,$<BOOL:${PDL_WERROR}>>:-Werror>")

# Hardening of what is built: what this compiler and linker know of it. A distribution that has flags of its own turns
# this off. On Windows the linker's defaults are what there is: mingw-w64's stack protector would be one more library for
# all that link the static one.
if(PDL_HARDENING AND NOT WIN32)
    include(CheckCCompilerFlag)
    include(CheckLinkerFlag)
    include(CheckPIESupported)
    set(flags -fstack-protector-strong -fstack-clash-protection)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
        list(APPEND flags -fcf-protection)
    elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
        list(APPEND flags -mbranch-protection=standard)
    endif()
    foreach(flag IN LISTS flags)
        string(MAKE_C_IDENTIFIER "PDL_HAVE${flag}" have)
        check_c_compiler_flag(${flag} ${have})
        if(${have})
            add_compile_options("$<$<COMPILE_LANGUAGE:C>:${flag}>" "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${flag}>")
        endif()
    endforeach()
    if(NOT PDL_SANITIZE) # which have checks of their own
        # It needs an optimizing compiler. A compiler that does not know level 3 takes it for 2; nvcc's parser does not
        # know what level 3 is made of.
        set(optimized "$<CONFIG:Release,RelWithDebInfo,MinSizeRel>")
        add_compile_options(
            "$<$<AND:$<COMPILE_LANGUAGE:C>,${optimized}>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3>"
            "$<$<AND:$<COMPILE_LANGUAGE:CUDA>,${optimized}>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
    endif()
    check_linker_flag(C "LINKER:-z,relro,-z,now" PDL_HAVE_RELRO_NOW)
    if(PDL_HAVE_RELRO_NOW) # HOST_LINK makes several options of one with commas, of which equal ones are dropped
        add_link_options("$<HOST_LINK:SHELL:-z relro>" "$<HOST_LINK:SHELL:-z now>")
    endif()
    if(PROJECT_IS_TOP_LEVEL) # it sets variables that another project may have for itself
        check_pie_supported(LANGUAGES C)
        set(CMAKE_POSITION_INDEPENDENT_CODE ON)
    endif()
endif()

# pdl_sanitize: reaches every target that links a libpdl target of this build tree.
add_library(pdl_sanitize INTERFACE)
if(PDL_SANITIZE)
    target_compile_options(pdl_sanitize INTERFACE
        "$<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${PDL_SANITIZE};-fno-omit-frame-pointer;-fno-sanitize-recover=all>")
    target_link_options(pdl_sanitize INTERFACE -fsanitize=${PDL_SANITIZE})
endif()
