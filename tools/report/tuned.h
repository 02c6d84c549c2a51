/* SPDX-License-Identifier: MIT */
/* A search of `pdltool tune`, as it wrote it. */
#ifndef PDL_TOOLS_REPORT_TUNED_H
#define PDL_TOOLS_REPORT_TUNED_H

#include <stdbool.h>

#include <jansson.h>

#include "report/page.h"

/* Whether it looks like one. */
bool tuned_is(const json_t *root);
/* Reads it and makes its figures. False if something in it is not as tune writes it. */
bool tuned_read(const json_t *root, const char *name, struct report_tuned *tuned);
void tuned_free(struct report_tuned *tuned);

#endif /* PDL_TOOLS_REPORT_TUNED_H */
