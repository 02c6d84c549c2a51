/* SPDX-License-Identifier: MIT */
/* What the environment asks for. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "watch/watch.h"

#define LIMIT_DEFAULT (UINT64_C(2) << 30)

static struct pdl_watch_settings settings;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* A copy: the program may change its environment. */
static const char *text_of(const char *name)
{
    const char *const text = secure_getenv(name);
    return text != NULL && text[0] != '\0' ? strdup(text) : NULL;
}

static double number_of(const char *name, double otherwise)
{
    const char *const text = secure_getenv(name);
    char *end = NULL;
    if (text == NULL || text[0] == '\0') {
        return otherwise;
    }
    errno = 0;
    const double number = strtod(text, &end);
    return errno == 0 && *end == '\0' && number >= 0 && number < 1e18 ? number : otherwise;
}

static void read_settings(void)
{
    const char *const instrument = secure_getenv("PDL_INSTRUMENT");
    const bool is_off = instrument != NULL && strcmp(instrument, "off") == 0;
    settings = (struct pdl_watch_settings){
        .record = text_of("PDL_WATCH_RECORD"),
        .rules = text_of("PDL_WATCH_RULES"),
        .range = text_of("PDL_WATCH_RANGE"),
        .cupti_path = text_of("PDL_CUPTI_PATH"),
        .instrument = is_off ? NULL : text_of("PDL_INSTRUMENT"),
        .trigger = text_of("PDL_INSTRUMENT_TRIGGER"),
        .constants = text_of("PDL_INSTRUMENT_CONSTANT"),
        .instrument_log = text_of("PDL_INSTRUMENT_LOG"),
        .limit = (uint64_t)number_of("PDL_WATCH_LIMIT", (double)LIMIT_DEFAULT),
        .skip = (uint64_t)number_of("PDL_WATCH_SKIP", 0),
        .count = (uint64_t)number_of("PDL_WATCH_COUNT", 0),
        .ns = (uint64_t)(number_of("PDL_WATCH_SECONDS", 0) * 1e9),
        .cupti = number_of("PDL_WATCH_CUPTI", 1) != 0,
        .times = number_of("PDL_WATCH_TIMES", 1) != 0,
        .code = number_of("PDL_WATCH_CODE", 1) != 0,
    };
}

const struct pdl_watch_settings *pdl_watch_settings(void)
{
    (void)pthread_once(&once, read_settings);
    return &settings;
}
