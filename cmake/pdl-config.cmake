# SPDX-License-Identifier: MIT
# Targets: pdl::pdl (shared), pdl::pdl_static, pdl::headers; pdl::inspect, pdl::inspect_static; pdl::trace,
# pdl::trace_static; pdl::rtc and pdl::rtc_static, in a build that had xxhash.h; pdl::pdltool where it is installed. None needs anything of
# CUDA to link. Function: pdl_lint_target().
include("${CMAKE_CURRENT_LIST_DIR}/pdl-targets.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/pdl-tool-targets.cmake" OPTIONAL)
include("${CMAKE_CURRENT_LIST_DIR}/pdl_lint.cmake")
