/* SPDX-License-Identifier: MIT */
/** @file
 * The statuses of libpdl-rtc, whose names pdl_status_name() has too. Programs include pdl/rtc.h.
 */
#ifndef PDL_DETAIL_RTC_STATUS_H
#define PDL_DETAIL_RTC_STATUS_H

/** The list: X(name, value, message). */
#define PDL_RTC_STATUS_LIST(X)                                                                     \
    X(PDL_ERROR_NO_COMPILER, -37, "no run-time compiler is installed (libnvrtc cannot be loaded)") \
    X(PDL_ERROR_COMPILER_TOO_OLD, -38, "the run-time compiler is too old")                         \
    X(PDL_ERROR_COMPILE, -39, "the source does not compile")                                       \
    X(PDL_ERROR_OPTION, -41, "the compiler option is not accepted")                                \
    X(PDL_ERROR_CACHE, -42, "the cache's folder cannot be used")

/** No run-time compiler is installed: libnvrtc cannot be loaded. */
#define PDL_ERROR_NO_COMPILER ((pdl_status)-37)
/** The run-time compiler is too old. */
#define PDL_ERROR_COMPILER_TOO_OLD ((pdl_status)-38)
/** The source does not compile. */
#define PDL_ERROR_COMPILE ((pdl_status)-39)
/** The compiler option is not accepted. */
#define PDL_ERROR_OPTION ((pdl_status)-41)
/** The cache's folder cannot be used. */
#define PDL_ERROR_CACHE ((pdl_status)-42)

#endif /* PDL_DETAIL_RTC_STATUS_H */
