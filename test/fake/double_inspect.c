/* SPDX-License-Identifier: MIT */
/* A double of libpdl-inspect that counts: a kernel whose name begins with "race" has one, the others are proved. It
 * reads PTX only. PDL_DOUBLE: "meet": an analysis waits until another one runs beside it; "budget": it is above any
 * budget; "other": it is of another version. */
#include <pdl/inspect.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

struct pdl_inspection {
    size_t size;
    char text[];
};

static atomic_uint calls, inside, most_inside;

EXPORT unsigned pdl_double_calls(void);
unsigned pdl_double_calls(void)
{
    return atomic_load(&calls);
}

EXPORT unsigned pdl_double_most_inside(void);
unsigned pdl_double_most_inside(void)
{
    return atomic_load(&most_inside);
}

static int is(const char *what)
{
    const char *const mode = getenv("PDL_DOUBLE");
    return mode != NULL && strcmp(mode, what) == 0;
}

static void meet(void)
{
    const unsigned now = atomic_fetch_add(&inside, 1) + 1;
    for (unsigned i = 0; is("meet") && i < 5000 && atomic_load(&most_inside) < 2; i++) {
        if (now > atomic_load(&most_inside)) {
            atomic_store(&most_inside, now);
        }
        (void)usleep(1000);
    }
    (void)atomic_fetch_sub(&inside, 1);
}

uint32_t pdl_inspect_version(void)
{
    return is("other") ? PDL_VERSION + 1 : PDL_VERSION;
}

pdl_status pdl_inspect_memory(const void *bytes, size_t size, const char *name,
                              const pdl_inspect_options *options, pdl_inspection **inspection)
{
    (void)name;
    (void)atomic_fetch_add(&calls, 1);
    meet();
    if (is("budget") && options->max_steps != 0) {
        return PDL_ERROR_CANCELLED;
    }
    *inspection = malloc(sizeof(**inspection) + size + 1);
    if (*inspection == NULL) {
        return PDL_ERROR_OUT_OF_MEMORY;
    }
    memcpy((*inspection)->text, bytes, size);
    (*inspection)->text[size] = '\0';
    return PDL_SUCCESS;
}

void pdl_inspection_destroy(pdl_inspection *inspection)
{
    free(inspection);
}

pdl_status pdl_inspection_proofs(const pdl_inspection *inspection, int32_t capability,
                                 void (*visit)(void *context, const pdl_inspect_proof *proof),
                                 void *context)
{
    static const char entry[] = ".entry ";
    (void)capability;
    for (const char *at = inspection->text; (at = strstr(at, entry)) != NULL;) {
        char name[64] = "";
        at += sizeof(entry) - 1;
        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, "("), at);
        const int race = strncmp(name, "race", 4) == 0;
        visit(context, &(pdl_inspect_proof){.size = (uint32_t)sizeof(pdl_inspect_proof),
                                            .proof = race ? PDL_PROOF_RACE : PDL_PROOF_PROVED,
                                            .shown = race ? PDL_NO : PDL_YES,
                                            .waits_always = PDL_YES,
                                            .kernel = name,
                                            .race = race ? "here: so" : NULL});
    }
    return PDL_SUCCESS;
}
