/* SPDX-License-Identifier: MIT */
#include "watch/watch.h"
