# SPDX-License-Identifier: MIT
# Targets: pdl::pdl (shared), pdl::pdl_static, pdl::headers; pdl::inspect, pdl::inspect_static; pdl::trace,
# pdl::trace_static; pdl::rtc and pdl::rtc_static, in a build that had xxhash.h; pdl::pdltool and pdl::pdl-ptxas where they are installed. None needs anything of
# CUDA to link. Functions: pdl_lint_target(), pdl_instrument_target().
include("${CMAKE_CURRENT_LIST_DIR}/pdl-targets.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/pdl-tool-targets.cmake" OPTIONAL)
include("${CMAKE_CURRENT_LIST_DIR}/pdl_lint.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/pdl_instrument.cmake")
