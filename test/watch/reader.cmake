# SPDX-License-Identifier: MIT
# What pdltool makes of recordings: read, joined and judged.

# Recordings made by C calls.
add_library(pdl_make_recording STATIC ${CMAKE_CURRENT_LIST_DIR}/make_recording.c)
target_include_directories(pdl_make_recording PUBLIC ${CMAKE_CURRENT_LIST_DIR} ${PROJECT_SOURCE_DIR}/lib)
