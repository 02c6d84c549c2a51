/* SPDX-License-Identifier: MIT */
/* The device code that a program gives to the driver. Of that the PTX counts: it is what libpdl-inspect reads.
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
#include "code/fatbin.h"
#include "code/unpack.h"
#include "core/array.h"
#include "core/hash.h"
#include "core/lock.h"
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
};

/* A PTX text, most of them compressed. */
struct ptx {
    struct pdl_fatbin_entry entry;
    uint32_t object; /* UINT32_MAX: the payload is a copy */
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
    struct ptx *ptx;
    uint32_t ptx_count;
    size_t ptx_capacity;
    uint32_t fatbins_indexed, ptx_indexed; /* all before these are */
    unsigned long long unloads;            /* of any object, when the last fatbin came */
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
    if (number == UINT32_MAX) {
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

/* A text, copied with a NUL behind it. */
static void add_copy(const struct pdl_fatbin_entry *entry)
{
    unsigned char *const copy = malloc(entry->size + 1);
    for (uint32_t i = 0; copy != NULL && i < images.ptx_count; i++) {
        const struct ptx *const known = &images.ptx[i];
        if (known->object == UINT32_MAX && known->entry.size == entry->size &&
            memcmp(known->entry.payload, entry->payload, entry->size) == 0) {
            free(copy);
            return;
        }
    }
    if (copy == NULL || !PDL_ARRAY_ROOM(images.ptx, images.ptx_count, images.ptx_capacity)) {
        free(copy);
        return;
    }
    memcpy(copy, entry->payload, entry->size);
    copy[entry->size] = '\0';
    struct ptx *const ptx = &images.ptx[images.ptx_count];
    *ptx = (struct ptx){.entry = *entry, .object = UINT32_MAX};
    ptx->entry.payload = copy;
    images.ptx_count++;
}

/* Of a fatbin's members the PTX. */
static void add_members(const unsigned char *bytes, size_t size)
{
    struct pdl_fatbin fatbin;
    struct pdl_fatbin_entry entry;
    pdl_fatbin_open(&fatbin, bytes, size);
    while (pdl_fatbin_next(&fatbin, &entry)) {
        if (entry.kind == PDL_FATBIN_PTX) {
            add_copy(&entry);
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
            (struct fatbin){.bytes = bytes, .size = size, .object = object};
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

static void add_text(const unsigned char *text, size_t size)
{
    const struct pdl_fatbin_entry entry = {
        .kind = PDL_FATBIN_PTX, .compression = PDL_FATBIN_PLAIN, .payload = text, .size = size};
    add_copy(&entry);
}

/* How long a cubin is, by its own headers, as the driver takes it too; 0: it is none. */
static size_t cubin_size(const unsigned char *bytes)
{
    struct pdl_elf elf;
    struct pdl_elf_section section;
    if (!pdl_elf_open(&elf, bytes, PDL_WATCH_IMAGE_MOST) || elf.header.e_machine != EM_CUDA ||
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
            pdl_watch_cubin_loaded(bytes, size);
        }
        return;
    }
    pdl_lock_take(&images.lock);
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
        add_text(bytes, strnlen(image, PDL_WATCH_PTX_MOST));
    }
    pdl_lock_release(&images.lock);
}

void pdl_watch_image_bytes(const void *image, size_t size)
{
    const unsigned char *const bytes = image;
    if (pdl_elf_is(bytes, size)) {
        pdl_watch_cubin_loaded(bytes, size);
        return;
    }
    pdl_lock_take(&images.lock);
    if (pdl_fatbin_is(bytes, size)) {
        add_members(bytes, size);
    } else {
        add_text(bytes, strnlen(image, size));
    }
    pdl_lock_release(&images.lock);
}

/* ---- the index --------------------------------------------------------------------------------------- */

/* Reads a text, into memory that the caller frees, or as it lies there (*own NULL). */
static const char *read_text(const struct ptx *ptx, size_t *size, unsigned char **own)
{
    *own = NULL;
    if (ptx->entry.compression == PDL_FATBIN_PLAIN) {
        *size = strnlen((const char *)ptx->entry.payload, ptx->entry.size);
        return (const char *)ptx->entry.payload;
    }
    if (pdl_unpack(&ptx->entry, PDL_WATCH_PTX_MOST, own, size) != PDL_UNPACKED) {
        *own = NULL;
        return NULL;
    }
    *size = strnlen((const char *)*own, *size);
    return (const char *)*own;
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

/* The names of the kernels in a text: what is behind `.entry`. One more from a comment does no harm. */
static void index_text(struct ptx *ptx, const char *text, size_t size)
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
        if (at > name && PDL_ARRAY_ROOM(ptx->names, ptx->count, ptx->capacity)) {
            ptx->names[ptx->count++] = pdl_hash(PDL_HASH_START, name, (size_t)(at - name));
        }
    }
    if (ptx->count > 0) {
        qsort(ptx->names, ptx->count, sizeof(ptx->names[0]), compare);
    }
}

static void index_fatbin(const struct fatbin *known)
{
    struct pdl_fatbin fatbin;
    struct pdl_fatbin_entry entry;
    void *handle = NULL;
    if (!hold(known->object, known->bytes, known->size, &handle)) {
        return;
    }
    pdl_fatbin_open(&fatbin, known->bytes, known->size);
    while (pdl_fatbin_next(&fatbin, &entry)) {
        if (entry.kind == PDL_FATBIN_PTX &&
            PDL_ARRAY_ROOM(images.ptx, images.ptx_count, images.ptx_capacity)) {
            images.ptx[images.ptx_count++] = (struct ptx){.entry = entry, .object = known->object};
        }
    }
    let_go(handle);
}

/* What has come since the last time. */
static void index_all(void)
{
    for (; images.fatbins_indexed < images.fatbin_count; images.fatbins_indexed++) {
        index_fatbin(&images.fatbins[images.fatbins_indexed]);
    }
    for (; images.ptx_indexed < images.ptx_count; images.ptx_indexed++) {
        struct ptx *const ptx = &images.ptx[images.ptx_indexed];
        void *handle = NULL;
        if (hold(ptx->object, ptx->entry.payload, ptx->entry.size, &handle)) {
            unsigned char *own = NULL;
            size_t size = 0;
            const char *const text = read_text(ptx, &size, &own);
            if (text != NULL) {
                index_text(ptx, text, size);
            }
            free(own);
            let_go(handle);
        }
    }
}

static bool has_kernel(const struct ptx *ptx, uint64_t name,
                       const struct pdl_watch_loaded *function)
{
    const uint32_t target = ptx->entry.target; /* 0: a text by itself, which the driver compiled */
    return ptx->count > 0 &&
           (target == 0 || function->ptx_version <= 0 ||
            target == (uint32_t)function->ptx_version) &&
           bsearch(&name, ptx->names, ptx->count, sizeof(ptx->names[0]), compare) != NULL;
}

bool pdl_watch_images_each(const struct pdl_watch_loaded *function, pdl_watch_image_look *look,
                           void *context)
{
    const char *const text = function->kernel->text;
    const uint64_t name = pdl_hash(PDL_HASH_START, text, strlen(text));
    bool found = false;
    bool goes_on = true;
    pdl_lock_take(&images.lock);
    index_all();
    for (uint32_t i = 0; goes_on && i < images.ptx_count; i++) {
        const struct ptx *const ptx = &images.ptx[i];
        void *handle = NULL;
        if (has_kernel(ptx, name, function) &&
            hold(ptx->object, ptx->entry.payload, ptx->entry.size, &handle)) {
            unsigned char *own = NULL;
            size_t size = 0;
            const char *const read = read_text(ptx, &size, &own);
            if (read != NULL) {
                found = true;
                goes_on = look(context, read, size, ptx->entry.target);
            }
            free(own);
            let_go(handle);
        }
    }
    pdl_lock_release(&images.lock);
    return found;
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

static bool record_ptx(void *context, const char *text, size_t size, uint32_t target)
{
    (void)context;
    record(PDL_WATCH_PTX, text, size, target);
    return true;
}

void pdl_watch_image_of(struct pdl_watch_loaded *function)
{
    if (wants_record()) {
        (void)pdl_watch_images_each(function, record_ptx, NULL);
    }
}
