/* SPDX-License-Identifier: MIT */
#include "code/proof.h"

#include <stdio.h>
#include <string.h>

#include "code/fatbin.h"
#include "core/environment.h"
#include "core/hash.h"
#include "os/library.h"
#include "os/lock.h"

/* ---- libpdl-inspect ------------------------------------------------------------------------- */

#define TEXT_OF_(number) #number
#define TEXT_OF(number)  TEXT_OF_(number)
#if PDL_VERSION_MAJOR > 0
#define INSPECT_SONAME PDL_LIBRARY_INSPECT(TEXT_OF(PDL_VERSION_MAJOR))
#else
#define INSPECT_SONAME PDL_LIBRARY_INSPECT("0." TEXT_OF(PDL_VERSION_MINOR))
#endif

/* Written once. */
static bool strict_on;
static struct inspector {
    void *library;
    pdl_proof_memory *memory;
    pdl_proof_shown *shown; /* NULL: there is no libpdl-inspect, or an older one */
    pdl_proof_destroy *destroy;
    char missing[256]; /* why */
} inspector;

static void load_inspect(struct inspector *made)
{
    made->library = pdl_library_open_beside(INSPECT_SONAME);
    if (made->library != NULL) {
        *(void **)&made->destroy = pdl_library_symbol(made->library, "pdl_inspection_destroy");
        *(void **)&made->memory = pdl_library_symbol(made->library, "pdl_inspect_memory");
        *(void **)&made->shown =
            pdl_library_symbol(made->library, "pdl_inspection_shown"); /* the newest */
    }
    if (made->shown == NULL) {
        (void)snprintf(made->missing, sizeof(made->missing), "%s", pdl_library_error());
    }
}

const char *pdl_proof_load(void)
{
    static struct pdl_first first;
    if (!pdl_first_is_done(&first)) {
        struct inspector mine = {.library = NULL};
        load_inspect(&mine);
        pdl_first_publish(&first, &inspector, &mine, sizeof(mine));
    }
    return inspector.shown == NULL ? inspector.missing : NULL;
}

void *pdl_proof_symbol(const char *name)
{
    return pdl_proof_load() == NULL ? pdl_library_symbol(inspector.library, name) : NULL;
}

static void start_strict(void)
{
    strict_on = pdl_variable_read(PDL_VARIABLE(PDL_OVERLAP_STRICT)).value[0] == 1;
}

static void say_what_is_missing(void)
{
    if (inspector.shown == NULL) {
        (void)fprintf(stderr,
                      "libpdl: PDL_OVERLAP_STRICT=1 needs " INSPECT_SONAME
                      "; without it only kernels that are declared to wait overlap: %s\n",
                      inspector.missing);
    }
}

bool pdl_strict_is_on(void)
{
    static struct pdl_first first;
    static struct pdl_first said;
    pdl_first_run(&first, start_strict);
    if (strict_on && !pdl_first_is_done(&said)) {
        (void)pdl_proof_load();
        pdl_first_run(&said, say_what_is_missing);
    }
    return strict_on;
}

/* ---- what it shows -------------------------------------------------------------------------- */

/* The last images that were analysed: most have more kernels than one, and machine code may need the PTX beside it. */
enum { KEPT = 2 };
static struct {
    struct pdl_lock lock;
    struct {
        struct pdl_inspection *inspection; /* NULL: none, or it could not be read */
        size_t size;
        uint64_t hash;
    } images[KEPT];
    unsigned next; /* to be replaced */
} analysed;

/* Under the lock. */
static const struct pdl_inspection *analyse_image(const unsigned char *image, size_t size)
{
    const struct pdl_proof_options options = {sizeof(options), PDL_PROOF_NO_SOURCES};
    const uint64_t hash = pdl_hash(PDL_HASH_START, image, size);
    for (unsigned i = 0; i < KEPT; i++) {
        if (analysed.images[i].inspection != NULL && analysed.images[i].size == size &&
            analysed.images[i].hash == hash) {
            return analysed.images[i].inspection;
        }
    }
    const unsigned at = analysed.next;
    struct pdl_inspection *made = analysed.images[at].inspection;
    analysed.next = (at + 1) % KEPT;
    analysed.images[at].inspection = NULL; /* first: a child of a fork finds all of one or none */
    inspector.destroy(made);
    made = NULL;
    (void)inspector.memory(image, size, "the image", (const struct pdl_inspect_options *)&options,
                           &made);
    analysed.images[at].size = size;
    analysed.images[at].hash = hash;
    analysed.images[at].inspection = made;
    return made;
}

pdl_known pdl_proof_ask(const void *image, size_t size, const char *name, uint32_t capability,
                        pdl_known *waits_always)
{
    const unsigned char *const bytes = (const unsigned char *)image;
    *waits_always = PDL_UNKNOWN;
    if (pdl_proof_load() != NULL) {
        return PDL_UNKNOWN;
    }
    if (pdl_fatbin_is(bytes, size)) { /* others may follow, which are not this kernel's */
        size = pdl_fatbin_size(bytes, size);
    }
    pdl_lock_take(&analysed.lock);
    const pdl_known shown =
        inspector.shown(analyse_image(bytes, size), name, (int32_t)capability, waits_always);
    pdl_lock_release(&analysed.lock);
    return shown;
}

struct pdl_strict pdl_proof_look(const void *image, size_t size, const char *name,
                                 uint32_t capability)
{
    struct pdl_strict strict = {.refused = false};
    if (pdl_strict_is_on()) {
        strict.refused =
            pdl_proof_ask(image, size, name, capability, &strict.waits_always) != PDL_YES;
    }
    return strict;
}
