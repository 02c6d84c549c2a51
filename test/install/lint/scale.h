/* SPDX-License-Identifier: MIT */
#define SCALE 2.0f
