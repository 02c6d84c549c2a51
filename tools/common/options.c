/* SPDX-License-Identifier: MIT */
#include "common/options.h"
#include "common/print.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

bool parse_count(const char *program, const char *name, const char *text, int least, int most,
                 int *count)
{
    char *end = NULL;
    errno = 0;
    const long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < least || value > most) {
        print_line(stderr, "%s: --%s takes a number from %d to %d, not %s", program, name, least,
                   most, text);
        return false;
    }
    *count = (int)value;
    return true;
}
