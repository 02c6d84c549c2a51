/* SPDX-License-Identifier: MIT */
#include "common/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool parse_count(const char *program, const char *name, const char *text, int least, int most,
                 int *count)
{
    char *end = NULL;
    errno = 0;
    const long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < least || value > most) {
        (void)fprintf(stderr, "%s: --%s takes a number from %d to %d, not %s\n", program, name,
                      least, most, text);
        return false;
    }
    *count = (int)value;
    return true;
}

bool parse_size(const char *text, uint64_t most, uint64_t *size)
{
    static const char units[] = "KkMmGg";
    char *end = NULL;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || errno != 0) {
        return false;
    }
    const char *const unit = *end != '\0' ? strchr(units, *end) : NULL;
    const unsigned shift = unit != NULL ? 10 * ((unsigned)(unit - units) / 2 + 1) : 0;
    end += unit != NULL ? (strcmp(end + 1, "iB") == 0 ? 3 : 1) : 0;
    if (*end != '\0' || value > most >> shift) {
        return false;
    }
    *size = (uint64_t)value << shift;
    return true;
}
