/* SPDX-License-Identifier: MIT */
/* Whether a kernel is proved to wait, by libpdl-inspect. */
#include <stdatomic.h>

#include "code/strict.h"
#include "watch/images.h"
#include "watch/watch.h"

struct question {
    const struct pdl_watch_loaded *function;
    enum pdl_watch_proved proved;
};

/* Each of the codes that it may be has to be proved. */
static bool ask(void *context, const char *text, size_t size, uint32_t target)
{
    struct question *const question = context;
    pdl_known always = PDL_UNKNOWN;
    (void)target;
    const pdl_known shown = pdl_strict_ask(text, size, question->function->kernel->text,
                                           question->function->capability, &always);
    question->proved = shown == PDL_YES  ? PDL_WATCH_PROVED_YES
                       : shown == PDL_NO ? PDL_WATCH_PROVED_NO
                                         : PDL_WATCH_PROVED_UNKNOWN;
    return shown == PDL_YES;
}

enum pdl_watch_proved pdl_watch_prove(struct pdl_watch_loaded *function)
{
    struct question question = {.function = function,
                                .proved =
                                    atomic_load_explicit(&function->proved, memory_order_relaxed)};
    if (question.proved != PDL_WATCH_PROVED_NOT_ASKED) {
        return question.proved;
    }
    question.proved = PDL_WATCH_PROVED_UNKNOWN;
    const char *const why = pdl_strict_load();
    if (why != NULL) {
        question.proved = PDL_WATCH_PROVED_NO_TOOL;
        pdl_watch_say("no overlap is added: without libpdl-inspect no kernel is proved to wait: %s",
                      why);
    } else if (function->kernel->text[0] != '\0') {
        (void)pdl_watch_images_each(function, ask, &question);
    }
    atomic_store_explicit(&function->proved, question.proved, memory_order_relaxed);
    return question.proved;
}
