# SPDX-License-Identifier: MIT
# Tests of a build for another architecture, which an emulator runs on this machine. ctest prefixes programs of this build
# with CMAKE_CROSSCOMPILING_EMULATOR; programs that scripts start need the emulator in the kernel's binfmt_misc.

# What tests compile, they compile with the cross compilers.
find_program(PDL_CROSS_CXX NAMES ${CMAKE_CXX_COMPILER} DOC "C++ compiler of the tests, for the other architecture")
mark_as_advanced(PDL_CROSS_CXX)
foreach(variable PDL_GXX PDL_HOST_CXX PDL_TEST_CXX)
    set(${variable} ${PDL_CROSS_CXX})
endforeach()
foreach(variable PDL_CLANGXX PDL_TEST_CLANG PDL_TEST_CLANGXX PDL_VALGRIND)
    set(${variable} OFF) # they are this machine's
endforeach()
foreach(variable PDL_CUDA_STUB PDL_STUB_DRIVER)
    set(${variable} OFF) # likewise the toolkit's
endforeach()

# Tests that cannot pass in an emulator, whatever the code does.
set(emulated)
# They preload a library of this build into bash and Python, which are this machine's.
list(APPEND emulated interpose.programs_without_cuda_notice_nothing)
# A tenth of a second ends before the emulator has translated the program's first launches.
list(APPEND emulated watch.a_window_has_a_time)
list(JOIN emulated "\n    " emulated)
file(WRITE ${PROJECT_BINARY_DIR}/CTestCustom.cmake "set(CTEST_CUSTOM_TESTS_IGNORE\n    ${emulated})\n")

# For scripts, of which only a part cannot pass.
file(WRITE ${PROJECT_BINARY_DIR}/emulated.cmake "set(ENV{PDL_TEST_EMULATED} 1)\n")
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY TEST_INCLUDE_FILES ${PROJECT_BINARY_DIR}/emulated.cmake)
