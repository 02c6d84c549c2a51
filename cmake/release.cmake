# SPDX-License-Identifier: MIT
# The target "release_artifacts": what a release consists of, in one folder. See docs/releasing.md.

if(NOT PROJECT_IS_TOP_LEVEL)
    return()
endif()
find_package(Python3 QUIET COMPONENTS Interpreter)
find_package(Git QUIET)
if(NOT Python3_Interpreter_FOUND OR NOT GIT_FOUND)
    pdl_off("the target release_artifacts" "no Python 3 or no git")
    return()
endif()
set(PDL_RELEASE_ARCHITECTURES amd64 arm64 CACHE STRING "Debian's architectures that the target release_artifacts builds for")
# Always runs: HEAD of the repository decides, and the packages are built from its archive alone.
add_custom_target(release_artifacts
    COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/cmake/release/release.py --git ${GIT_EXECUTABLE}
        --source ${PROJECT_SOURCE_DIR} --out ${PROJECT_BINARY_DIR} --architectures ${PDL_RELEASE_ARCHITECTURES}
    USES_TERMINAL COMMENT "" VERBATIM)
