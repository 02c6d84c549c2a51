/* SPDX-License-Identifier: MIT */
/** @file
 * The version of the libpdl headers.
 *
 * The build reads these three numbers: this file is the only place that holds them.
 */
#ifndef PDL_VERSION_H
#define PDL_VERSION_H

#define PDL_VERSION_MAJOR 0 /**< Changes when the ABI breaks (after 1.0). */
#define PDL_VERSION_MINOR 3 /**< Changes when something is added. */
#define PDL_VERSION_PATCH 0 /**< Changes when something is fixed. */

/** The version as one number, 10000 * major + 100 * minor + patch. */
#define PDL_VERSION (PDL_VERSION_MAJOR * 10000 + PDL_VERSION_MINOR * 100 + PDL_VERSION_PATCH)

#endif /* PDL_VERSION_H */
