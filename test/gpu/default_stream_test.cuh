/* SPDX-License-Identifier: MIT */
#ifndef PDL_TEST_DEFAULT_STREAM_TEST_CUH
#define PDL_TEST_DEFAULT_STREAM_TEST_CUH

#include <pdl/pdl.h>

/* Launches a kernel that raises the flag on the NULL stream of a translation unit with the legacy
 * one. */
pdl_status launch_from_legacy_unit(int *flag);

#endif /* PDL_TEST_DEFAULT_STREAM_TEST_CUH */
