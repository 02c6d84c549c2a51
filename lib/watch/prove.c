/* SPDX-License-Identifier: MIT */
/* Whether a kernel is proved to wait, by libpdl-inspect. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "code/proof.h"
#include "code/scan.h"
#include "watch/images.h"
#include "watch/watch.h"

enum { QUESTIONS_MOST = 16 };

struct question {
    const struct pdl_watch_loaded *function;
    enum pdl_watch_proved proved; /* by the images so far */
    enum pdl_watch_proved
        open; /* what a cubin of this image leaves to its texts; NOT_ASKED: nothing */
    uint32_t image;
};

/* Each image that the kernel may be of has to be proved: by all of its machine code, or by all of its texts. */
static enum pdl_watch_looked ask(void *context, const struct pdl_watch_code *code)
{
    struct question *const question = context;
    if (code->image != question->image && question->open != PDL_WATCH_PROVED_NOT_ASKED) {
        return PDL_WATCH_LOOK_ENOUGH;
    }
    question->image = code->image;
    pdl_known always = PDL_UNKNOWN;
    const pdl_known shown = pdl_proof_ask(code->bytes, code->size, question->function->kernel->text,
                                          question->function->capability, &always);
    const enum pdl_watch_proved proved = shown == PDL_YES  ? PDL_WATCH_PROVED_YES
                                         : shown == PDL_NO ? PDL_WATCH_PROVED_NO
                                                           : PDL_WATCH_PROVED_UNKNOWN;
    question->proved = proved;
    if (!code->machine) {
        question->open = PDL_WATCH_PROVED_NOT_ASKED;
        return shown == PDL_YES ? PDL_WATCH_LOOK_ON : PDL_WATCH_LOOK_ENOUGH;
    }
    if (shown != PDL_YES) {
        question->open = proved;
    }
    return shown == PDL_NO && always == PDL_NO ? PDL_WATCH_LOOK_ENOUGH /* no text changes that */
           : question->open == PDL_WATCH_PROVED_NOT_ASKED ? PDL_WATCH_LOOK_NEXT
                                                          : PDL_WATCH_LOOK_ON;
}

enum pdl_watch_proved pdl_watch_prove(struct pdl_watch_loaded *function)
{
    struct question question = {.function = function,
                                .proved =
                                    atomic_load_explicit(&function->proved, memory_order_relaxed),
                                .open = PDL_WATCH_PROVED_NOT_ASKED};
    if (question.proved != PDL_WATCH_PROVED_NOT_ASKED) {
        return question.proved;
    }
    question.proved = PDL_WATCH_PROVED_UNKNOWN;
    const char *const why = pdl_proof_load();
    if (why != NULL) {
        question.proved = PDL_WATCH_PROVED_NO_TOOL;
        pdl_watch_say("no overlap is added: without libpdl-inspect no kernel is proved to wait: %s",
                      why);
    } else if (function->kernel->text[0] != '\0') {
        const bool all = pdl_watch_images_each(function, !pdl_scan_ptx_is_forced(), ask, &question);
        if (question.open != PDL_WATCH_PROVED_NOT_ASKED) {
            question.proved = question.open;
        }
        /* Where code could not be read, or it is not known for which device, it may be another time. */
        if (question.proved == PDL_WATCH_PROVED_UNKNOWN && (!all || function->capability == 0) &&
            atomic_fetch_add(&function->questions, 1) < QUESTIONS_MOST) {
            return question.proved;
        }
    }
    atomic_store_explicit(&function->proved, question.proved, memory_order_relaxed);
    return question.proved;
}
