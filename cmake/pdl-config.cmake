# SPDX-License-Identifier: MIT
# Targets: pdl::pdl (shared), pdl::pdl_static, pdl::headers. Neither needs anything of CUDA to link.
include("${CMAKE_CURRENT_LIST_DIR}/pdl-targets.cmake")
