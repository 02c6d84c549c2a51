/* SPDX-License-Identifier: MIT */
/* Where nvcc leaves device code in a program: a small struct, the wrapper, for each source file that
 * was compiled as a whole, and one for all that were linked (-rdc, -dlto).
 * A wrapper points to a fatbin. The loader has both in memory, so that neither the file nor its
 * section headers are needed.
 *
 * The first question about an object makes an index of its kernels for the device: names as two
 * hashes, and what the kernels do. Time and memory grow with the object's code, and with nothing
 * else. Indices are dropped when anything was unloaded since: another object may lie there now. */
#include "code/object.h"

#include <stdlib.h>
#include <string.h>

#include "code/fatbin.h"
#include "core/array.h"
#include "os/compiler.h"
#include "os/lock.h"
#include "os/module.h"

#define WRAPPER_MAGIC  0x466243b1u
#define WRAPPER_LINKED 2u /* in `version`: made by the device linker */

/* As in fatbinary_section.h. */
struct wrapper {
    uint32_t magic;
    uint32_t version;
    const unsigned char *data; /* a fatbin */
    const unsigned char *const
        *inputs; /* LINKED: the fatbins that it was linked from, up to NULL */
};

struct index {
    struct index *next;
    uintptr_t base;
    uint64_t build;
    uint32_t capability;
    bool ptx_only;
    enum pdl_why why;            /* not all could be read */
    struct pdl_scan_table table; /* each row with the fatbin that the kernel is in */
};

/* ---- the index -------------------------------------------------------------------------------- */

static int compare_addresses(const void *a, const void *b)
{
    const unsigned char *const *first = a;
    const unsigned char *const *second = b;
    return (*first > *second) - (*first < *second);
}

/* The next wrapper at or behind an address in a segment. Any memory of the program may lie there,
 * also what sanitizers put between variables and what other threads write. */
PDL_RAW_MEMORY static const uint32_t *next_magic(const uint32_t *at, const uint32_t *end)
{
    while (at < end && *(const volatile uint32_t *)at != WRAPPER_MAGIC) {
        at += 2; /* a wrapper is aligned as its pointers are */
    }
    return at < end ? at : NULL;
}

struct wrappers {
    struct wrapper *items;
    uint32_t count;
    size_t capacity;
    const unsigned char **inputs; /* what was linked into others */
    uint32_t input_count;
    size_t input_capacity;
};

static bool add_inputs(const struct pdl_module *object, struct wrappers *wrappers,
                       const unsigned char *const *inputs)
{
    while (pdl_module_room(object, inputs) >= sizeof(*inputs) && *inputs != NULL) {
        if (!PDL_ARRAY_ROOM(wrappers->inputs, wrappers->input_count, wrappers->input_capacity)) {
            return false;
        }
        wrappers->inputs[wrappers->input_count++] = *inputs++;
    }
    return true;
}

static bool find_wrappers(const struct pdl_module *object, bool writable, struct wrappers *wrappers)
{
    for (uint32_t i = 0; i < object->count; i++) {
        const struct pdl_segment *segment = &object->segments[i];
        const size_t skip = -(uintptr_t)segment->begin % sizeof(void *);
        if (segment->writable != writable || segment->filled < skip + sizeof(struct wrapper)) {
            continue;
        }
        const uint32_t *at = (const uint32_t *)(const void *)(segment->begin + skip);
        const uint32_t *const end =
            at + (segment->filled - skip - sizeof(struct wrapper)) / sizeof(*at) + 1;
        for (; (at = next_magic(at, end)) != NULL; at += 2) {
            const struct wrapper *wrapper = (const void *)at;
            const size_t room = pdl_module_room(object, wrapper->data);
            if (wrapper->version < 1 || wrapper->version > WRAPPER_LINKED ||
                room < PDL_FATBIN_HEADER || !pdl_fatbin_is(wrapper->data, room)) {
                continue;
            }
            if (!PDL_ARRAY_ROOM(wrappers->items, wrappers->count, wrappers->capacity) ||
                (wrapper->version == WRAPPER_LINKED &&
                 !add_inputs(object, wrappers, wrapper->inputs))) {
                return false;
            }
            wrappers->items[wrappers->count++] = *wrapper;
        }
    }
    if (wrappers->input_count > 0) {
        qsort(wrappers->inputs, wrappers->input_count, sizeof(wrappers->inputs[0]),
              compare_addresses);
    }
    return true;
}

static bool is_input(const struct wrappers *wrappers, const unsigned char *data)
{
    return wrappers->input_count > 0 &&
           bsearch(&data, wrappers->inputs, wrappers->input_count, sizeof(wrappers->inputs[0]),
                   compare_addresses) != NULL;
}

/* More may follow behind it that is not its own. */
static enum pdl_why read_fatbin(const unsigned char *data, size_t room, struct index *index)
{
    const size_t size = pdl_fatbin_size(data, room);
    return size > 0 ? pdl_scan_fatbin_each(data, size, index->capability, index->ptx_only,
                                           pdl_scan_keep, &index->table)
                    : PDL_WHY_DAMAGED;
}

/* What was linked holds the code of its inputs. Where it has none for the device, the driver would
 * link the inputs' PTX: that is not read, and its kernels are not found. */
static void read_object(const struct pdl_module *object, struct index *index)
{
    struct wrappers wrappers = {.count = 0};
    /* Programs whose code lies at fixed addresses have their wrappers in constant memory. */
    if (!find_wrappers(object, true, &wrappers) ||
        (wrappers.count == 0 && !find_wrappers(object, false, &wrappers))) {
        index->why = PDL_WHY_NO_MEMORY;
    }
    for (uint32_t i = 0; i < wrappers.count && index->why != PDL_WHY_NO_MEMORY; i++) {
        const unsigned char *data = wrappers.items[i].data;
        index->table.reading = data;
        if (!is_input(&wrappers, data)) {
            const enum pdl_why why = read_fatbin(data, pdl_module_room(object, data), index);
            index->why = why != PDL_WHY_NOTHING && why != PDL_WHY_NOT_FOUND ? why : index->why;
        }
    }
    free(wrappers.items);
    free(wrappers.inputs);
    pdl_scan_sort(&index->table);
}

static void free_index(struct index *index)
{
    free(index->table.rows);
    free(index);
}

/* All indices, and the number of unloaded objects when they were made. Published by its last write:
 * see os/lock.h. */
static struct pdl_lock lock;
static struct index *indices;
static unsigned long long unloads;

static void forget_all(void)
{
    while (indices != NULL) {
        struct index *first = indices;
        indices = first->next; /* before it is freed: a child of a fork finds no freed one */
        free_index(first);
    }
}

PDL_AT_UNLOAD void pdl_object_forget(void)
{
    pdl_lock_take(&lock);
    forget_all();
    pdl_lock_release(&lock);
}

/* The index of an object, made if there is none; NULL without memory. Under the lock. */
static const struct index *index_of(const struct pdl_module *object, uint32_t capability)
{
    const bool ptx_only = pdl_scan_ptx_is_forced();
    if (unloads != object->unloads) {
        forget_all();
    }
    unloads = object->unloads;
    for (const struct index *index = indices; index != NULL; index = index->next) {
        if (index->base == object->base && index->build == object->build &&
            index->capability == capability && index->ptx_only == ptx_only) {
            return index;
        }
    }
    struct index *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return NULL;
    }
    *made = (struct index){.next = indices,
                           .base = object->base,
                           .build = object->build,
                           .capability = capability,
                           .ptx_only = ptx_only};
    read_object(object, made);
    if (made->why == PDL_WHY_NO_MEMORY) {
        free_index(made);
        return NULL;
    }
    indices = made;
    return made;
}

/* ---- questions -------------------------------------------------------------------------------- */

/* The fatbins that have the code of one kernel: most often one. */
struct sources {
    const unsigned char *data[8];
    uint32_t count; /* more than 8 are not looked at */
};

/* Where an object brings several codes of a name, the driver's versions tell them apart. */
static struct pdl_scan_answer look_up(const struct index *index, const char *name,
                                      const struct pdl_object_code *code, struct sources *sources)
{
    struct pdl_scan_answer answer = {.why = PDL_WHY_NOT_FOUND};
    bool first = true;
    uint32_t count;
    const struct pdl_scan_row *at = pdl_scan_find(&index->table, name, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct pdl_scan_answer found = pdl_scan_answer_of(&at[i]);
        if (found.target != (found.ptx ? code->ptx_version : code->binary_version)) {
            answer.why = first ? PDL_WHY_VERSION : answer.why;
            continue;
        }
        if (sources->count < sizeof(sources->data) / sizeof(sources->data[0])) {
            sources->data[sources->count] = at[i].data;
        }
        sources->count++;
        answer = first ? found : pdl_scan_either(answer, found);
        first = false;
    }
    return answer;
}

static struct pdl_scan_answer ask_object(const struct pdl_module *object, const char *name,
                                         const struct pdl_object_code *code)
{
    struct pdl_scan_answer answer = {.why = PDL_WHY_NO_MEMORY};
    struct sources sources = {.count = 0};
    pdl_lock_take(&lock);
    const struct index *index = index_of(object, code->capability);
    if (index != NULL) {
        answer = look_up(index, name, code, &sources);
        if (index->why != PDL_WHY_NOTHING) { /* more of it may be where nothing could be read */
            answer = (struct pdl_scan_answer){.why = index->why};
        }
    }
    pdl_lock_release(&lock);
    /* Without the lock, because it may take long. The object is not unloaded meanwhile. */
    for (uint32_t i = 0; i < sources.count && answer.why != PDL_WHY_NO_MEMORY; i++) {
        struct pdl_proof_answer proof = {.state = PDL_PROOF_STATE_UNREAD};
        if (i < sizeof(sources.data) / sizeof(sources.data[0])) {
            const struct pdl_proof_image image = {.bytes = sources.data[i],
                                                  .size = pdl_module_room(object, sources.data[i]),
                                                  .stamp = object->unloads + 1};
            proof = pdl_proof_of(&image, name, code->capability, answer.waits, code->unlimited);
        }
        answer.proof = i == 0 ? proof : pdl_proof_both(&answer.proof, &proof);
    }
    return answer;
}

struct question {
    const char *name;
    const struct pdl_object_code *code;
    struct pdl_scan_answer answer;
};

/* Adds what another object says that shares the stub. */
static void ask_another(void *context, const struct pdl_module *object)
{
    struct question *const question = context;
    const struct pdl_scan_answer found = ask_object(object, question->name, question->code);
    if (question->answer.why == PDL_WHY_NOT_FOUND) {
        question->answer = found;
    } else if (found.why != PDL_WHY_NOT_FOUND) {
        question->answer = pdl_scan_either(question->answer, found);
    }
}

struct pdl_scan_answer pdl_object_scan(const void *stub, const char *name,
                                       const struct pdl_object_code *code)
{
    struct pdl_module object;
    struct question question = {.name = name, .code = code};
    if (!pdl_module_find(stub, &object)) {
        return (struct pdl_scan_answer){.why = PDL_WHY_NOT_FOUND};
    }
    question.answer = ask_object(&object, name, code);
    /* A stub that is exported may be one for several objects, which then share its address: any of them may have
     * registered the kernel last. */
    if (!pdl_module_namesakes(stub, ask_another, &question)) {
        return (struct pdl_scan_answer){.why = PDL_WHY_NO_MEMORY};
    }
    return question.answer;
}
