/* SPDX-License-Identifier: MIT */
/* What the environment asks for. */
#include <pthread.h>
#include <string.h>

#include "os/environment.h"
#include "watch/watch.h"

static struct pdl_watch_settings settings;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* A copy: the program may change its environment. */
static const char *text_of(const struct pdl_variable *variable)
{
    const char *const text = pdl_variable_text(variable);
    return text != NULL ? strdup(text) : NULL;
}

static uint64_t value_of(struct pdl_variable *variable)
{
    return pdl_variable_read(variable).value[0];
}

static void read_settings(void)
{
    settings = (struct pdl_watch_settings){
        .record = text_of(PDL_VARIABLE(PDL_WATCH_RECORD)),
        .rules = text_of(PDL_VARIABLE(PDL_WATCH_RULES)),
        .cupti_path = text_of(PDL_VARIABLE(PDL_CUPTI_PATH)),
        .instrument = pdl_variable_look(PDL_VARIABLE(PDL_INSTRUMENT)),
        .trigger = pdl_variable_look(PDL_VARIABLE(PDL_INSTRUMENT_TRIGGER)),
        .constants = text_of(PDL_VARIABLE(PDL_INSTRUMENT_CONSTANT)),
        .limit = value_of(PDL_VARIABLE(PDL_WATCH_LIMIT)),
        .skip = value_of(PDL_VARIABLE(PDL_WATCH_SKIP)),
        .count = value_of(PDL_VARIABLE(PDL_WATCH_COUNT)),
        .ns = value_of(PDL_VARIABLE(PDL_WATCH_SECONDS)),
        .cupti = value_of(PDL_VARIABLE(PDL_WATCH_CUPTI)) != 0,
        .code = value_of(PDL_VARIABLE(PDL_WATCH_CODE)) != 0,
    };
    settings.is_instrumented =
        settings.instrument.value[0] != 0 || settings.instrument.problem[0] != '\0';
}

const struct pdl_watch_settings *pdl_watch_settings(void)
{
    (void)pthread_once(&once, read_settings);
    return &settings;
}
