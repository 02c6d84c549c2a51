/* SPDX-License-Identifier: MIT */
/** @file
 * PDL_LAUNCH_DESC() in C++20. The fields that it does not name are zero, which is meant:
 * a system header's macros draw no warning about it.
 */
#ifndef PDL_DETAIL_DESIGNATED_H
#define PDL_DETAIL_DESIGNATED_H

#if defined(__GNUC__)
#pragma GCC system_header
#endif

/** A descriptor with the named fields set and the rest default; see pdl/pdl.h. */
#define PDL_LAUNCH_DESC(...)                                                                       \
    pdl_launch_desc                                                                                \
    {                                                                                              \
        .size = (uint32_t)sizeof(pdl_launch_desc), .default_stream = PDL_DEFAULT_STREAM,           \
        __VA_ARGS__                                                                                \
    }

#endif /* PDL_DETAIL_DESIGNATED_H */
