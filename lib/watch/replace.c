/* SPDX-License-Identifier: MIT */
/* Instrumented images. A fatbin is copied entry by entry: of those that the driver would choose for the device the text is
 * exchanged, with its options kept; the driver then makes the same choice. Where it has machine code for the
 * device, or is what the device linker made, it stays as it is. */
#include "watch/replace.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pdl/instrument.h>

#include "code/fatbin.h"
#include "code/instrument_words.h"
#include "code/proof.h"
#include "code/scan.h"
#include "code/unpack.h"
#include "core/array.h"
#include "os/lock.h"
#include "watch/driver.h"
#include "watch/images.h"
#include "watch/watch.h"

enum {
    CAPABILITY_LEAST = 90,
    RAISED_MAJOR = 7, /* PTX that a raised target needs */
    RAISED_MINOR = 8,
    CONSTANTS_MOST = 256
};

/* ---- what is asked for ------------------------------------------------------------------------------ */

/* Written once. */
static struct {
    bool on;
    pdl_instrument_options options;
    char *constant_text;
    const char *constants[CONSTANTS_MOST]; /* in it */
    __typeof__(pdl_instrument) *instrument;
    __typeof__(pdl_instrumentation_destroy) *destroy;
    __typeof__(pdl_instrumentation_text) *text;
    __typeof__(pdl_instrumentation_kernel_count) *kernel_count;
    __typeof__(pdl_instrumentation_kernel) *kernel;
    __typeof__(pdl_inspect_last_error) *last_error;
} wanted;

static bool read_options(const struct pdl_watch_settings *settings)
{
    const struct pdl_reading *const trigger = &settings->trigger;
    const struct pdl_reading *const wait = &settings->instrument;
    if (wait->problem[0] != '\0' || trigger->problem[0] != '\0') {
        pdl_watch_say("nothing is instrumented: %s",
                      wait->problem[0] != '\0' ? wait->problem : trigger->problem);
        return false;
    }
    wanted.options = (pdl_instrument_options){
        .size = (uint32_t)sizeof(wanted.options),
        .flags = PDL_INSTRUMENT_NO_SOURCES,
        .wait = pdl_instrument_wait_at(wait->value[0]),
        .trigger = pdl_instrument_trigger_at(trigger->value[0]),
        .constant_params = wanted.constants,
    };
    wanted.constant_text = settings->constants != NULL ? strdup(settings->constants) : NULL;
    char *rest = wanted.constant_text;
    for (char *name = strsep(&rest, ","); name != NULL; name = strsep(&rest, ",")) {
        if (name[0] != '\0' && wanted.options.constant_param_count < CONSTANTS_MOST) {
            wanted.constants[wanted.options.constant_param_count++] = name;
        }
    }
    return true;
}

static bool find_calls(void)
{
    const char *const why = pdl_proof_load();
    *(void **)&wanted.instrument = pdl_proof_symbol("pdl_instrument");
    *(void **)&wanted.destroy = pdl_proof_symbol("pdl_instrumentation_destroy");
    *(void **)&wanted.text = pdl_proof_symbol("pdl_instrumentation_text");
    *(void **)&wanted.kernel_count = pdl_proof_symbol("pdl_instrumentation_kernel_count");
    *(void **)&wanted.kernel = pdl_proof_symbol("pdl_instrumentation_kernel");
    *(void **)&wanted.last_error = pdl_proof_symbol("pdl_inspect_last_error");
    if (wanted.instrument == NULL) {
        pdl_watch_say("nothing is instrumented: libpdl-inspect cannot be loaded or is too old: %s",
                      why != NULL ? why : "it has no pdl_instrument()");
    }
    return wanted.instrument != NULL;
}

static void start(void)
{
    const struct pdl_watch_settings *const settings = pdl_watch_settings();
    wanted.on = settings->is_instrumented && read_options(settings) && find_calls();
    void *const marker =
        wanted.on ? pdl_watch_reserve(PDL_WATCH_INSTRUMENTED, sizeof(struct pdl_watch_instrumented))
                  : NULL;
    if (marker != NULL) { /* of no kernel: there may be none, and then the report says so */
        pdl_watch_commit(marker);
    }
}

static bool is_on(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, start);
    return wanted.on;
}

/* ---- texts ------------------------------------------------------------------------------------------- */

/* Of the current context's device, or of the first one: a library may be loaded without a context. 0: not known. */
static uint32_t capability_now(void)
{
    const struct pdl_watch_driver *const driver = pdl_watch_driver();
    CUdevice device = 0;
    if (driver == NULL || driver->cuCtxGetDevice == NULL ||
        driver->cuCtxGetDevice(&device) != CUDA_SUCCESS) {
        device = 0;
    }
    return pdl_watch_capability(device);
}

/* Whether no device loses the code by a raised target: a library is for all of them. */
static bool may_raise(void)
{
    uint32_t least = 0;
    uint32_t highest = 0;
    pdl_watch_capabilities(&least, &highest);
    return least >= CAPABILITY_LEAST;
}

/* The instrumented text, which the replacement owns. NULL: it cannot be read, or has no kernel to instrument. */
static const char *instrument(struct pdl_watch_replacement *made, const char *text, size_t *size)
{
    pdl_instrument_options options = wanted.options;
    pdl_instrumentation *result = NULL;
    bool done = false;
    options.flags |= may_raise() ? PDL_INSTRUMENT_RAISE_TARGET : 0;
    const pdl_status status = wanted.instrument(
        text, *size, made->file != NULL ? made->file : "image", &options, &result);
    if (status != PDL_SUCCESS) {
        pdl_watch_say("PTX is loaded as it is: %.300s", wanted.last_error()->message);
        return NULL;
    }
    if (!PDL_ARRAY_ROOM(made->results, made->count, made->capacity)) {
        wanted.destroy(result);
        return NULL;
    }
    made->results[made->count++] = result;
    for (size_t i = 0; i < wanted.kernel_count(result) && !done; i++) {
        done = wanted.kernel(result, i)->action == PDL_INSTRUMENT_DONE;
    }
    return done ? wanted.text(result, size) : NULL;
}

static void replace_text(struct pdl_watch_replacement *made, const char *text, size_t size)
{
    const char *const done = instrument(made, text, &size);
    made->image = done != NULL ? malloc(size + 1) : NULL;
    if (made->image != NULL) {
        memcpy(made->image, done, size + 1);
        made->size = size;
    }
}

/* ---- fatbins ------------------------------------------------------------------------------------------ */

struct bytes {
    unsigned char *data;
    size_t size, capacity;
};

/* Adds bytes, and NULs up to a size. */
static bool add(struct bytes *bytes, const void *data, size_t size, size_t padded)
{
    if (!PDL_ARRAY_RESERVE(bytes->data, bytes->size + padded, bytes->capacity)) {
        return false;
    }
    memcpy(bytes->data + bytes->size, data, size);
    memset(bytes->data + bytes->size + size, 0, padded - size);
    bytes->size += padded;
    return true;
}

/* Adds an entry that is not compressed. */
static bool add_plain(struct bytes *bytes, const struct pdl_fatbin_entry *entry,
                      struct pdl_fatbin_entry_header header, const void *data, size_t size)
{
    header.header_size = (uint32_t)entry->header_size;
    header.compressed_size = 0;
    header.full_size = 0;
    header.flags &= ~(uint64_t)(PDL_FATBIN_FLAG_LZ4 | PDL_FATBIN_FLAG_ZSTD);
    return add(bytes, &header, sizeof(header), sizeof(header)) &&
           add(bytes, entry->header + sizeof(header), entry->header_size - sizeof(header),
               entry->header_size - sizeof(header)) &&
           add(bytes, data, size, (size_t)header.payload_size);
}

static bool add_text(struct bytes *bytes, const struct pdl_fatbin_entry *entry, const char *text,
                     size_t size)
{
    struct pdl_fatbin_entry_header header;
    memcpy(&header, entry->header, sizeof(header));
    header.payload_size = (size + 1 + 7) / 8 * 8;
    if (header.target < CAPABILITY_LEAST) { /* was raised */
        header.target = CAPABILITY_LEAST;
    }
    if (header.major < RAISED_MAJOR ||
        (header.major == RAISED_MAJOR && header.minor < RAISED_MINOR)) {
        header.major = RAISED_MAJOR;
        header.minor = RAISED_MINOR;
    }
    return add_plain(bytes, entry, header, text, size);
}

/* Adds an entry as it was; an image of a table as an entry of its own. False without memory, or if it cannot be
 * decompressed. */
static bool add_same(struct bytes *bytes, const struct pdl_fatbin_entry *entry)
{
    if (!entry->in_table) {
        const size_t whole = entry->header_size + entry->padded_size;
        return add(bytes, entry->header, whole, whole);
    }
    struct pdl_fatbin_entry_header header;
    unsigned char *unpacked = NULL;
    const unsigned char *data = entry->payload;
    size_t size = entry->size;
    memcpy(&header, entry->header, sizeof(header));
    if (entry->compression != PDL_FATBIN_PLAIN) {
        if (pdl_unpack(entry, PDL_WATCH_IMAGE_MOST, &unpacked, &size) != PDL_UNPACKED) {
            return false;
        }
        data = unpacked;
    }
    header.payload_size = (size + 7) / 8 * 8;
    const bool added = add_plain(bytes, entry, header, data, size);
    free(unpacked);
    return added;
}

/* Adds an entry whose PTX the driver would compile, instrumented. False without memory; *changed stays where it is to be
 * copied. */
static bool add_ptx(struct pdl_watch_replacement *made, struct bytes *bytes,
                    const struct pdl_fatbin_entry *entry, bool *changed)
{
    unsigned char *unpacked = NULL;
    const unsigned char *from = entry->payload;
    size_t size = entry->size;
    if (entry->compression != PDL_FATBIN_PLAIN) {
        if (pdl_unpack(entry, PDL_WATCH_PTX_MOST, &unpacked, &size) != PDL_UNPACKED) {
            pdl_watch_say("PTX is loaded as it is: a fatbin cannot be decompressed");
            return true;
        }
        from = unpacked;
    }
    size = strnlen((const char *)from, size);
    const char *const text = instrument(made, (const char *)from, &size);
    const bool added = text == NULL || add_text(bytes, entry, text, size);
    *changed = text != NULL;
    free(unpacked);
    return added;
}

/* The best that the driver finds in a fatbin; 0: it has machine code, or nothing that fits, or what is of an unknown kind, or
 * another fatbin follows. */
static uint32_t best_ptx(const unsigned char *from, size_t size, uint32_t capability)
{
    const bool ptx_only = pdl_scan_ptx_is_forced();
    struct pdl_fatbin fatbin;
    struct pdl_fatbin_entry entry;
    uint32_t best = 0;
    bool machine = false;
    bool known = true;
    pdl_fatbin_open(&fatbin, from, size);
    while (pdl_fatbin_next(&fatbin, &entry)) {
        known = known && pdl_fatbin_kind_is_known(entry.kind);
        const uint32_t fit = pdl_scan_entry_fitness(&entry, capability, ptx_only);
        if (fit > best) {
            best = fit;
            machine = entry.kind != PDL_FATBIN_PTX;
        }
    }
    return machine || !known || fatbin.damaged || fatbin.read > 1 ? 0 : best;
}

/* Begins with `room` bytes for a wrapper. */
static void replace_fatbin(struct pdl_watch_replacement *made, const unsigned char *from,
                           size_t size, size_t room)
{
    const uint32_t capability = capability_now();
    const uint32_t best = best_ptx(from, size, capability);
    struct bytes bytes = {NULL, 0, 0};
    struct pdl_fatbin fatbin;
    struct pdl_fatbin_entry entry;
    bool any = false;
    if (best == 0 || !add(&bytes, from, PDL_FATBIN_HEADER, PDL_FATBIN_HEADER)) {
        return;
    }
    bool good = add(&bytes, "", 0, room);
    memmove(bytes.data + room, bytes.data, good ? PDL_FATBIN_HEADER : 0);
    pdl_fatbin_open(&fatbin, from, size);
    while (good && pdl_fatbin_next(&fatbin, &entry)) {
        bool changed = false;
        if (entry.kind == PDL_FATBIN_PTX &&
            pdl_scan_entry_fitness(&entry, capability, true) == best) {
            good = add_ptx(made, &bytes, &entry, &changed);
        }
        any = any || changed;
        good = good && (changed || add_same(&bytes, &entry));
    }
    if (!good || !any) {
        free(bytes.data);
        return;
    }
    const uint16_t header_size = PDL_FATBIN_HEADER;
    const uint64_t body_size = bytes.size - room - PDL_FATBIN_HEADER;
    memcpy(bytes.data + room + 6, &header_size, sizeof(header_size));
    memcpy(bytes.data + room + 8, &body_size, sizeof(body_size));
    made->image = bytes.data;
    made->size = bytes.size - room;
}

static void replace_wrapper(struct pdl_watch_replacement *made, const void *image)
{
    struct pdl_watch_wrapper wrapper = {.inputs = NULL};
    memcpy(&wrapper, image, offsetof(struct pdl_watch_wrapper, inputs));
    if (wrapper.version == PDL_WATCH_WRAPPER_LINKED || wrapper.data == NULL ||
        !pdl_fatbin_is(wrapper.data, PDL_FATBIN_HEADER)) {
        return;
    }
    replace_fatbin(made, wrapper.data, pdl_fatbin_size(wrapper.data, PDL_WATCH_IMAGE_MOST),
                   sizeof(wrapper));
    if (made->image != NULL) {
        wrapper.data = (unsigned char *)made->image + sizeof(wrapper);
        memcpy(made->image, &wrapper, sizeof(wrapper));
        made->size = 0;
    }
}

struct pdl_watch_replacement pdl_watch_replace(const void *image, size_t size, const char *file)
{
    struct pdl_watch_replacement made = {.file = file};
    const bool is_sized = size != PDL_WATCH_SIZE_UNKNOWN;
    if (image == NULL || size == 0 || !pdl_watch_settings()->is_instrumented || !is_on()) {
        return made;
    }
    uint32_t magic = is_sized ? 0 : pdl_watch_image_magic(image);
    if (size >= sizeof(magic) && is_sized) {
        memcpy(&magic, image, sizeof(magic));
    }
    if (memcmp(&magic, "\177ELF", sizeof(magic)) == 0) {
        return made;
    }
    if (magic == PDL_WATCH_WRAPPER_MAGIC && !is_sized) {
        replace_wrapper(&made, image);
    } else if (magic == PDL_FATBIN_MAGIC) {
        replace_fatbin(&made, image, is_sized ? size : pdl_fatbin_size(image, PDL_WATCH_IMAGE_MOST),
                       0);
    } else {
        const size_t most = is_sized ? size : PDL_WATCH_PTX_MOST;
        const size_t length = strnlen(image, most);
        if (is_sized || length < most) { /* all of it */
            replace_text(&made, image, length);
        }
    }
    return made;
}

/* ---- what was done -------------------------------------------------------------------------------------- */

static void record(const pdl_instrument_kernel *kernel, enum pdl_watch_instrumented_as action,
                   const char *message)
{
    const size_t name = strlen(kernel->name);
    const size_t length = strlen(message);
    struct pdl_watch_instrumented *const record =
        pdl_watch_reserve(PDL_WATCH_INSTRUMENTED, sizeof(*record) + name + length);
    if (record != NULL) {
        record->action = action;
        record->reason = (uint32_t)kernel->reason;
        record->name_size = (uint32_t)name;
        memcpy(record->text, kernel->name, name);
        memcpy(record->text + name, message, length);
        pdl_watch_commit(record);
    }
}

static void tell(const struct pdl_watch_replacement *replacement, CUresult result)
{
    char failed[80] = "";
    if (replacement->image != NULL && result != CUDA_SUCCESS) {
        (void)snprintf(failed, sizeof(failed), "the driver does not load the result: error %d",
                       (int)result);
    }
    for (uint32_t i = 0; i < replacement->count; i++) {
        const pdl_instrumentation *const of = replacement->results[i];
        for (size_t k = 0; k < wanted.kernel_count(of); k++) {
            const pdl_instrument_kernel *const kernel = wanted.kernel(of, k);
            const bool fails = failed[0] != '\0' && kernel->action == PDL_INSTRUMENT_DONE;
            const int32_t action = fails ? PDL_INSTRUMENT_REFUSED : kernel->action;
            const char *const message = fails                     ? failed
                                        : kernel->message != NULL ? kernel->message
                                                                  : "";
            record(kernel, (enum pdl_watch_instrumented_as)action, message);
        }
    }
}

void *pdl_watch_replaced(struct pdl_watch_replacement *replacement, CUresult result)
{
    void *const image = replacement->image;
    tell(replacement, result);
    for (uint32_t i = 0; i < replacement->count; i++) {
        wanted.destroy(replacement->results[i]);
    }
    free(replacement->results);
    *replacement = (struct pdl_watch_replacement){.image = NULL};
    return image;
}

/* ---- images that the driver goes on reading --------------------------------------------------------------- */

struct kept {
    CUlibrary library;
    void *image;
};

static struct {
    struct pdl_lock lock;
    struct kept *items;
    uint32_t count;
    size_t capacity;
} kept;

/* Without memory for that, it stays for ever. */
void pdl_watch_image_keep(CUlibrary library, void *image)
{
    pdl_lock_take(&kept.lock);
    if (PDL_ARRAY_ROOM(kept.items, kept.count, kept.capacity)) {
        kept.items[kept.count++] = (struct kept){library, image};
    }
    pdl_lock_release(&kept.lock);
}

void *pdl_watch_image_take(CUlibrary library)
{
    void *image = NULL;
    pdl_lock_take(&kept.lock);
    for (uint32_t i = 0; i < kept.count && image == NULL; i++) {
        if (kept.items[i].library == library) {
            image = kept.items[i].image;
            kept.items[i] = kept.items[--kept.count];
        }
    }
    pdl_lock_release(&kept.lock);
    return image;
}
