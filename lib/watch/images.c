/* SPDX-License-Identifier: MIT */
/* The device code that a program gives to the driver: PTX texts and cubins, which libpdl-inspect reads.
 *
 * What lies in a program or shared object stays there until a kernel is looked for, because most of it never is. Objects may
 * be unloaded meanwhile: each is held open while it is read, and found again first. */
#include "watch/images.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "code/elf64.h"
#include "code/scan.h"
#include "code/unpack.h"
#include "core/array.h"
#include "core/hash.h"
#include "os/lock.h"
#include "watch/watch.h"

enum { INPUTS_MOST = 1 << 16 };

/* A program or shared object that code lies in. */
struct object {
    char *path; /* "": the program itself, which stays */
    uintptr_t base;
};

/* A fatbin in an object. */
struct fatbin {
    const unsigned char *bytes;
    size_t size;
    uint32_t object;
    uint32_t image;
};

#define COPIED UINT32_MAX /* as an object: no object, the payload is a copy */

/* A PTX text or a cubin, most of them compressed. Those of one image follow each other. */
struct code {
    struct pdl_fatbin_entry entry;
    uint32_t object;
    uint32_t image;
    uint64_t hash; /* of a copied image */
    bool indexed;
    pid_t recorded;  /* by this process; 0: not yet */
    uint64_t *names; /* hashes of its kernels', sorted */
    uint32_t count;
    size_t capacity;
};

static struct {
    struct pdl_lock lock;
    struct object *objects;
    uint32_t object_count;
    size_t object_capacity;
    struct fatbin *fatbins;
    uint32_t fatbin_count;
    size_t fatbin_capacity;
    struct code *codes;
    uint32_t code_count;
    size_t code_capacity;
    uint32_t image;        /* the last one; one more each time that the driver is given something */
    uint32_t fatbins_read; /* all before these are */
    unsigned long long unloads; /* of any object, when the last fatbin came */
} images;

/* ---- objects ------------------------------------------------------------------------------------- */

struct search {
    const unsigned char *address;
    uintptr_t base;
    size_t room; /* behind the address, in its segment; 0: not found */
    char *path;
    unsigned long long unloads;
};

static int look_at(struct dl_phdr_info *info, size_t size, void *context)
{
    struct search *const search = context;
    (void)size;
    search->unloads = info->dlpi_subs;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *const header = &info->dlpi_phdr[i];
        const uintptr_t offset =
            (uintptr_t)search->address - ((uintptr_t)info->dlpi_addr + header->p_vaddr);
        if (header->p_type == PT_LOAD && (header->p_flags & PF_R) != 0 &&
            offset < header->p_filesz) {
            search->room = header->p_filesz - offset;
            search->base = (uintptr_t)info->dlpi_addr;
            search->path = strdup(info->dlpi_name);
            return 1;
        }
    }
    return 0;
}

/* Which object an address lies in. The caller frees the path. */
static struct search find_object(const unsigned char *address)
{
    struct search search = {.address = address};
    (void)dl_iterate_phdr(look_at, &search);
    return search;
}

/* The object's number, UINT32_MAX without memory. Takes the path. */
static uint32_t object_of(struct search *found)
{
    uint32_t number = 0;
    while (number < images.object_count &&
           (images.objects[number].base != found->base ||
            strcmp(images.objects[number].path, found->path) != 0)) {
        number++;
    }
    if (number < images.object_count) {
        free(found->path);
    } else if (PDL_ARRAY_ROOM(images.objects, images.object_count, images.object_capacity)) {
        images.objects[images.object_count++] =
            (struct object){.path = found->path, .base = found->base};
    } else {
        free(found->path);
        number = UINT32_MAX;
    }
    found->path = NULL;
    return number;
}

/* Holds an object open, if it is still what lies at that address. */
static bool hold(uint32_t number, const unsigned char *address, size_t size, void **handle)
{
    *handle = NULL;
    if (number == COPIED) {
        return true;
    }
    const struct object *const object = &images.objects[number];
    if (object->path[0] != '\0') {
        *handle = dlopen(object->path, RTLD_LAZY | RTLD_NOLOAD);
    }
    const struct search found = find_object(address);
    const bool same = found.room >= size && found.base == object->base && found.path != NULL &&
                      strcmp(found.path, object->path) == 0 &&
                      (*handle != NULL || object->path[0] == '\0');
    free(found.path);
    if (!same && *handle != NULL) {
        (void)dlclose(*handle);
        *handle = NULL;
    }
    return same;
}

static void let_go(void *handle)
{
    if (handle != NULL) {
        (void)dlclose(handle);
    }
}

/* ---- what is given --------------------------------------------------------------------------------- */

static bool add_code(struct code code)
{
    const bool room = PDL_ARRAY_ROOM(images.codes, images.code_count, images.code_capacity);
    if (room) {
        images.codes[images.code_count++] = code;
    }
    return room;
}

/* Whether there is a copy of some bytes. */
static bool is_copied(const unsigned char *bytes, size_t size, uint64_t *hash)
{
    *hash = pdl_hash(PDL_HASH_START, bytes, size);
    for (uint32_t i = 0; i < images.code_count; i++) {
        if (images.codes[i].object == COPIED && images.codes[i].hash == *hash) {
            return true;
        }
    }
    return false;
}

/* A payload, copied with a NUL behind it. */
static unsigned char *copy_payload(const struct pdl_fatbin_entry *entry)
{
    unsigned char *const copy = malloc(entry->size + 1);
    if (copy != NULL) {
        memcpy(copy, entry->payload, entry->size);
        copy[entry->size] = '\0';
    }
    return copy;
}

static bool add_copied(struct pdl_fatbin_entry entry, const unsigned char *copy, uint64_t hash)
{
    entry.payload = copy;
    return add_code(
        (struct code){.entry = entry, .object = COPIED, .image = images.image, .hash = hash});
}

static void add_members(const unsigned char *bytes, size_t size)
{
    struct pdl_fatbin fatbin;
    struct pdl_fatbin_entry entry;
    const unsigned char *payload = NULL; /* the last one, which a table's images share */
    unsigned char *copy = NULL;
    uint64_t hash;
    if (is_copied(bytes, size, &hash)) {
        return;
    }
    pdl_fatbin_open(&fatbin, bytes, size);
    while (pdl_fatbin_next(&fatbin, &entry)) {
        if (entry.kind != PDL_FATBIN_PTX && entry.kind != PDL_FATBIN_CUBIN) {
            continue;
        }
        const bool shared = entry.payload == payload;
        copy = shared ? copy : copy_payload(&entry);
        payload = entry.payload;
        if (copy != NULL && !add_copied(entry, copy, hash) && !shared) {
            free(copy);
            copy = NULL;
        }
    }
}

/* A PTX text or a cubin by itself. */
static void add_alone(enum pdl_fatbin_kind kind, const unsigned char *bytes, size_t size)
{
    const struct pdl_fatbin_entry entry = {
        .kind = (uint16_t)kind, .compression = PDL_FATBIN_PLAIN, .payload = bytes, .size = size};
    uint64_t hash;
    if (!is_copied(bytes, size, &hash)) {
        unsigned char *const copy = copy_payload(&entry);
        if (copy != NULL && !add_copied(entry, copy, hash)) {
            free(copy);
        }
    }
}

static void add_fatbin(const unsigned char *bytes)
{
    struct search found = find_object(bytes);
    if (found.room == 0 || found.path == NULL) {
        free(found.path);
        const size_t size = pdl_fatbin_size(bytes, PDL_WATCH_IMAGE_MOST);
        add_members(bytes, size);
        return;
    }
    const uint32_t object = object_of(&found);
    const size_t size = pdl_fatbin_size(bytes, found.room);
    if (object == UINT32_MAX || size == 0) {
        return;
    }
    for (uint32_t i = 0; i < images.fatbin_count; i++) {
        if (images.fatbins[i].bytes == bytes && images.fatbins[i].object == object &&
            images.unloads == found.unloads) {
            return;
        }
    }
    images.unloads = found.unloads;
    if (PDL_ARRAY_ROOM(images.fatbins, images.fatbin_count, images.fatbin_capacity)) {
        images.fatbins[images.fatbin_count++] =
            (struct fatbin){.bytes = bytes, .size = size, .object = object, .image = images.image};
    }
}

static void add_wrapper(const struct pdl_watch_wrapper *wrapper)
{
    if (wrapper->data != NULL && pdl_fatbin_is(wrapper->data, PDL_FATBIN_HEADER)) {
        add_fatbin(wrapper->data);
    }
    for (uint32_t i = 0; wrapper->version == PDL_WATCH_WRAPPER_LINKED && wrapper->inputs != NULL &&
                         wrapper->inputs[i] != NULL && i < INPUTS_MOST;
         i++) {
        if (pdl_fatbin_is(wrapper->inputs[i], PDL_FATBIN_HEADER)) {
            add_fatbin(wrapper->inputs[i]);
        }
    }
}

/* How long a cubin is, by its own headers, as the driver takes it too; 0: it is none. */
static size_t cubin_size(const unsigned char *bytes)
{
    struct pdl_elf elf;
    struct pdl_elf_section section;
    if (!pdl_elf_open(&elf, bytes, PDL_WATCH_IMAGE_MOST) || elf.header.e_machine != PDL_EM_CUDA ||
        elf.cut) {
        return 0;
    }
    uint64_t end = elf.header.e_shoff + (uint64_t)elf.section_count * elf.header.e_shentsize;
    const uint64_t segments =
        elf.header.e_phoff + (uint64_t)elf.header.e_phnum * elf.header.e_phentsize;
    end = segments > end ? segments : end;
    for (uint32_t i = 0; i < elf.section_count; i++) {
        if (!pdl_elf_section(&elf, i, &section) || section.cut) {
            return 0;
        }
        const uint64_t last =
            section.data != NULL ? (uint64_t)(section.data - bytes) + section.size : 0;
        end = last > end ? last : end;
    }
    return end <= PDL_WATCH_IMAGE_MOST ? (size_t)end : 0;
}

uint32_t pdl_watch_image_magic(const void *image)
{
    uint32_t magic = 0;
    if (strnlen(image, sizeof(magic)) ==
        sizeof(magic)) { /* a text may be shorter; no magic has a NUL */
        memcpy(&magic, image, sizeof(magic));
    }
    return magic;
}

void pdl_watch_image_given(const void *image)
{
    const unsigned char *const bytes = image;
    const uint32_t magic = pdl_watch_image_magic(image);
    if (magic != 0 && pdl_elf_is(bytes, SELFMAG)) {
        const size_t size = cubin_size(bytes);
        if (size > 0) {
            pdl_watch_image_bytes(bytes, size);
        }
        return;
    }
    pdl_lock_take(&images.lock);
    images.image++;
    if (magic == PDL_WATCH_WRAPPER_MAGIC) {
        struct pdl_watch_wrapper wrapper;
        memcpy(&wrapper, image, offsetof(struct pdl_watch_wrapper, inputs));
        wrapper.inputs = NULL;
        if (wrapper.version == PDL_WATCH_WRAPPER_LINKED) {
            memcpy(&wrapper, image, sizeof(wrapper));
        }
        add_wrapper(&wrapper);
    } else if (magic == PDL_FATBIN_MAGIC) {
        add_fatbin(bytes);
    } else {
        add_alone(PDL_FATBIN_PTX, bytes, strnlen(image, PDL_WATCH_PTX_MOST));
    }
    pdl_lock_release(&images.lock);
}

void pdl_watch_image_bytes(const void *image, size_t size)
{
    const unsigned char *const bytes = image;
    const bool machine = pdl_elf_is(bytes, size);
    if (machine) {
        pdl_watch_cubin_loaded(bytes, size);
    }
    pdl_lock_take(&images.lock);
    images.image++;
    if (machine) {
        add_alone(PDL_FATBIN_CUBIN, bytes, size);
    } else if (pdl_fatbin_is(bytes, size)) {
        add_members(bytes, size);
    } else {
        add_alone(PDL_FATBIN_PTX, bytes, strnlen(image, size));
    }
    pdl_lock_release(&images.lock);
}

/* ---- the index --------------------------------------------------------------------------------------- */

/* Reads a code, into memory that the caller frees, or as it lies there (*own NULL). */
static const unsigned char *read_code(const struct code *code, size_t *size, unsigned char **own)
{
    const bool machine = code->entry.kind == PDL_FATBIN_CUBIN;
    const unsigned char *bytes = code->entry.payload;
    *own = NULL;
    *size = code->entry.size;
    if (code->entry.compression != PDL_FATBIN_PLAIN) {
        if (pdl_unpack(&code->entry, machine ? PDL_WATCH_IMAGE_MOST : PDL_WATCH_PTX_MOST, own,
                       size) != PDL_UNPACKED) {
            *own = NULL;
            return NULL;
        }
        bytes = *own;
    }
    *size = machine ? *size : strnlen((const char *)bytes, *size);
    return bytes;
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '%';
}

static int compare(const void *a, const void *b)
{
    const uint64_t first = *(const uint64_t *)a;
    const uint64_t second = *(const uint64_t *)b;
    return (first > second) - (first < second);
}

static void add_name(struct code *code, const char *name, size_t length)
{
    if (PDL_ARRAY_ROOM(code->names, code->count, code->capacity)) {
        code->names[code->count++] = pdl_hash(PDL_HASH_START, name, length);
    }
}

/* The names of the kernels in a text: what is behind `.entry`. One more from a comment does no harm. */
static void index_text(struct code *code, const char *text, size_t size)
{
    static const char word[] = ".entry";
    const char *const end = text + size;
    const char *at = text;
    while ((at = memmem(at, (size_t)(end - at), word, sizeof(word) - 1)) != NULL) {
        at += sizeof(word) - 1;
        while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) {
            at++;
        }
        const char *const name = at;
        while (at < end && is_name(*at)) {
            at++;
        }
        if (at > name) {
            add_name(code, name, (size_t)(at - name));
        }
    }
}

static void index_cubin(struct code *code, const unsigned char *bytes, size_t size)
{
    struct pdl_cubin cubin;
    if (pdl_scan_cubin(&cubin, bytes, size) != PDL_SCAN_DONE) {
        return;
    }
    code->entry.target = (uint32_t)cubin.target; /* which nobody tells of a cubin by itself */
    for (uint32_t i = 0; i < cubin.count && !cubin.relocatable; i++) { /* others are not run */
        if (cubin.codes[i].kernel) {
            add_name(code, cubin.codes[i].name, strlen(cubin.codes[i].name));
        }
    }
    pdl_scan_cubin_free(&cubin);
}

static void index_code(struct code *code)
{
    void *handle = NULL;
    code->indexed = true;
    if (!hold(code->object, code->entry.payload, code->entry.size, &handle)) {
        return;
    }
    unsigned char *own = NULL;
    size_t size = 0;
    const unsigned char *const bytes = read_code(code, &size, &own);
    if (bytes != NULL && code->entry.kind == PDL_FATBIN_CUBIN) {
        index_cubin(code, bytes, size);
    } else if (bytes != NULL) {
        index_text(code, (const char *)bytes, size);
    }
    free(own);
    let_go(handle);
    if (code->count > 0) {
        qsort(code->names, code->count, sizeof(code->names[0]), compare);
    }
}

/* What has come since the last time. */
static void read_fatbins(void)
{
    for (; images.fatbins_read < images.fatbin_count; images.fatbins_read++) {
        const struct fatbin *const known = &images.fatbins[images.fatbins_read];
        struct pdl_fatbin fatbin;
        struct pdl_fatbin_entry entry;
        void *handle = NULL;
        if (!hold(known->object, known->bytes, known->size, &handle)) {
            continue;
        }
        pdl_fatbin_open(&fatbin, known->bytes, known->size);
        while (pdl_fatbin_next(&fatbin, &entry)) {
            if (entry.kind == PDL_FATBIN_PTX || entry.kind == PDL_FATBIN_CUBIN) {
                (void)add_code(
                    (struct code){.entry = entry, .object = known->object, .image = known->image});
            }
        }
        let_go(handle);
    }
}

/* Whether the driver may have chosen a code, by its target; 0: that is not known. */
static bool fits(const struct code *code, const struct pdl_watch_loaded *function)
{
    const int32_t version =
        code->entry.kind == PDL_FATBIN_CUBIN ? function->binary_version : function->ptx_version;
    return code->entry.target == 0 || version <= 0 || code->entry.target == (uint32_t)version;
}

static bool has_kernel(struct code *code, uint64_t name, const struct pdl_watch_loaded *function)
{
    if (fits(code, function) && !code->indexed) {
        index_code(code);
    }
    return fits(code, function) && code->count > 0 &&
           bsearch(&name, code->names, code->count, sizeof(code->names[0]), compare) != NULL;
}

/* False where the code cannot be read now. */
static bool look_at_code(const struct code *code, pdl_watch_image_look *look, void *context,
                         enum pdl_watch_looked *looked)
{
    void *handle = NULL;
    unsigned char *own = NULL;
    size_t size = 0;
    if (!hold(code->object, code->entry.payload, code->entry.size, &handle)) {
        return false;
    }
    const unsigned char *const bytes = read_code(code, &size, &own);
    if (bytes != NULL) {
        *looked = look(context, &(const struct pdl_watch_code){
                                    .bytes = bytes,
                                    .size = size,
                                    .target = code->entry.target,
                                    .image = code->image,
                                    .machine = code->entry.kind == PDL_FATBIN_CUBIN,
                                });
    }
    free(own);
    let_go(handle);
    return bytes != NULL;
}

static uint64_t name_of(const struct pdl_watch_loaded *function)
{
    return pdl_hash(PDL_HASH_START, function->kernel->text, strlen(function->kernel->text));
}

/* Looks at the codes of an image that are of a kind; what is true of the image after the last of them. */
static enum pdl_watch_looked look_at_kind(const struct pdl_watch_loaded *function, uint32_t first,
                                          uint32_t end, enum pdl_fatbin_kind kind,
                                          pdl_watch_image_look *look, void *context, bool *all)
{
    const uint64_t name = name_of(function);
    enum pdl_watch_looked looked = PDL_WATCH_LOOK_ON;
    for (uint32_t i = first; i < end && looked != PDL_WATCH_LOOK_ENOUGH; i++) {
        struct code *const code = &images.codes[i];
        if (code->entry.kind == kind && has_kernel(code, name, function)) {
            *all = look_at_code(code, look, context, &looked) && *all;
        }
    }
    return looked;
}

bool pdl_watch_images_each(const struct pdl_watch_loaded *function, bool machine,
                           pdl_watch_image_look *look, void *context)
{
    enum pdl_watch_looked looked = PDL_WATCH_LOOK_ON;
    bool all = true;
    pdl_lock_take(&images.lock);
    read_fatbins();
    for (uint32_t first = 0, end; first < images.code_count && looked != PDL_WATCH_LOOK_ENOUGH;
         first = end) {
        end = first + 1;
        while (end < images.code_count && images.codes[end].image == images.codes[first].image) {
            end++;
        }
        looked = machine ? look_at_kind(function, first, end, PDL_FATBIN_CUBIN, look, context, &all)
                         : PDL_WATCH_LOOK_ON;
        if (looked == PDL_WATCH_LOOK_ON) {
            looked = look_at_kind(function, first, end, PDL_FATBIN_PTX, look, context, &all);
        }
    }
    pdl_lock_release(&images.lock);
    return all;
}

/* ---- recording --------------------------------------------------------------------------------------- */

/* Hashes of what is in this process's recording. */
static struct {
    struct pdl_lock lock;
    pid_t process;
    uint64_t *hashes;
    uint32_t count;
    size_t capacity;
} recorded;

/* Whether it is new. */
static bool note_hash(uint64_t hash)
{
    bool is_new = true;
    pdl_lock_take(&recorded.lock);
    if (recorded.process != getpid()) {
        recorded.count = 0;
        recorded.process = getpid();
    }
    for (uint32_t i = 0; i < recorded.count && is_new; i++) {
        is_new = recorded.hashes[i] != hash;
    }
    if (is_new && PDL_ARRAY_ROOM(recorded.hashes, recorded.count, recorded.capacity)) {
        recorded.hashes[recorded.count++] = hash;
    }
    pdl_lock_release(&recorded.lock);
    return is_new;
}

static void record(enum pdl_watch_form form, const void *bytes, size_t size, uint32_t target)
{
    const uint64_t hash = pdl_hash(PDL_HASH_START, bytes, size);
    if (!note_hash(hash)) {
        return;
    }
    struct pdl_watch_image *const image = pdl_watch_reserve_text(
        PDL_WATCH_IMAGE, offsetof(struct pdl_watch_image, bytes), bytes, size);
    if (image != NULL) {
        image->form = form;
        image->target = target;
        image->hash = hash;
        pdl_watch_commit(image);
    }
}

static bool wants_record(void)
{
    return pdl_watch_settings()->code && pdl_watch_recording_open();
}

void pdl_watch_cubin_loaded(const void *cubin, size_t size)
{
    if (wants_record()) {
        record(PDL_WATCH_CUBIN, cubin, size, 0);
    }
}

static enum pdl_watch_looked record_ptx(void *context, const struct pdl_watch_code *code)
{
    (void)context;
    record(PDL_WATCH_PTX, code->bytes, code->size, code->target);
    return PDL_WATCH_LOOK_ON;
}

/* Each text once: it may be long, and have many kernels that are seen for the first time, or again. */
void pdl_watch_image_of(struct pdl_watch_loaded *function)
{
    if (!wants_record()) {
        return;
    }
    const uint64_t name = name_of(function);
    const pid_t self = getpid();
    pdl_lock_take(&images.lock);
    read_fatbins();
    for (uint32_t i = 0; i < images.code_count; i++) {
        struct code *const code = &images.codes[i];
        enum pdl_watch_looked looked;
        if (code->entry.kind == PDL_FATBIN_PTX && code->recorded != self &&
            has_kernel(code, name, function) && look_at_code(code, record_ptx, NULL, &looked)) {
            code->recorded = self;
        }
    }
    pdl_lock_release(&images.lock);
}
