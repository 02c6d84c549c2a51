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

# pdl_options: language level and warnings, for this project's own C targets.
add_library(pdl_options INTERFACE)
target_compile_features(pdl_options INTERFACE c_std_11)
target_compile_options(pdl_options INTERFACE
    "$<$<COMPILE_LANGUAGE:C>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wstrict-prototypes;-Wmissing-prototypes>"
    "$<$<COMPILE_LANGUAGE:C>:-Wundef;-Wvla;-Wwrite-strings;-Wpointer-arith;-Wformat=2>"
    "$<$<AND:$<COMPILE_LANGUAGE:C>,$<BOOL:${PDL_WERROR}>>:-Werror>")

# pdl_sanitize: reaches every target that links a libpdl target of this build tree.
add_library(pdl_sanitize INTERFACE)
if(PDL_SANITIZE)
    target_compile_options(pdl_sanitize INTERFACE
        "$<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${PDL_SANITIZE};-fno-omit-frame-pointer;-fno-sanitize-recover=all>")
    target_link_options(pdl_sanitize INTERFACE -fsanitize=${PDL_SANITIZE})
endif()
