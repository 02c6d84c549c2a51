/* SPDX-License-Identifier: MIT */
/* The model of CUDA: images, and the kernels that are found in them. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem() */
#endif
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "code/elf_format.h"
#include "mock_entry.h"

#define FATBIN_MAGIC  0xba55ed50u
#define WRAPPER_MAGIC 0x466243b1u
#define COMPRESSED    (0x2000u | 0x8000u) /* LZ4 and Zstandard, in the flags of a fatbin's entry */

static CUlibrary libraries;

/* ------------------------------------------------------------------------------------------------
 * Loading
 * ---------------------------------------------------------------------------------------------- */

static uint32_t magic_of(const void *bytes)
{
    uint32_t magic;
    memcpy(&magic, bytes, sizeof(magic));
    return magic;
}

static size_t cubin_size(const void *bytes)
{
    struct pdl_elf64_ehdr header;
    memcpy(&header, bytes, sizeof(header));
    size_t size = header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
    const size_t programs = header.e_phoff + (size_t)header.e_phnum * header.e_phentsize;
    return size > programs ? size : programs;
}

static size_t fatbin_size(const unsigned char *bytes)
{
    uint16_t header;
    uint64_t body;
    memcpy(&header, bytes + 6, sizeof(header));
    memcpy(&body, bytes + 8, sizeof(body));
    return header + (size_t)body;
}

/* A fatbin is a header and entries, each with a header: its own size, its payload's, flags. */
static bool fatbin_is_compressed(const unsigned char *bytes, size_t size)
{
    uint16_t header;
    memcpy(&header, bytes + 6, sizeof(header));
    size_t at = header;
    while (at + 48 <= size) {
        uint32_t entry_header;
        uint64_t payload;
        uint64_t flags;
        memcpy(&entry_header, bytes + at + 4, sizeof(entry_header));
        memcpy(&payload, bytes + at + 8, sizeof(payload));
        memcpy(&flags, bytes + at + 40, sizeof(flags));
        if ((flags & COMPRESSED) != 0) {
            return true;
        }
        if (entry_header == 0 || payload > size) {
            break;
        }
        at += entry_header + (size_t)payload;
    }
    return false;
}

/* As the driver: a binary is as long as its own header says, anything else is text that ends in a
 * NUL. Every byte is read, so that the address sanitizer sees a load that goes past the caller's
 * copy. */
CUresult mock_load(const void *code, CUlibrary *library)
{
    struct CUlib_st read = {.next = libraries};
    const unsigned char *bytes = code;
    if (code == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (magic_of(bytes) == WRAPPER_MAGIC) {
        memcpy(&bytes, bytes + 8, sizeof(bytes)); /* the wrapper points to the fatbin */
    }
    if (magic_of(bytes) == FATBIN_MAGIC) {
        read.size = fatbin_size(bytes);
        read.is_compressed = fatbin_is_compressed(bytes, read.size);
    } else if (memcmp(bytes, PDL_ELFMAG, PDL_SELFMAG) == 0) {
        read.size = cubin_size(bytes);
    } else {
        read.size = strlen((const char *)bytes);
        read.is_text = true;
    }
    mock.image_size = read.size;
    if (read.is_text && strstr((const char *)bytes, ".version") == NULL) {
        return CUDA_ERROR_INVALID_IMAGE;
    }
    CUlibrary made = mock_new(sizeof(*made));
    read.bytes = mock_new(read.size + 1);
    memcpy(read.bytes, bytes, read.size);
    *made = read;
    libraries = made;
    mock.live_libraries++;
    *library = made;
    return CUDA_SUCCESS;
}

bool mock_has_library(CUlibrary library, const char *call)
{
    for (const struct CUlib_st *live = libraries; live != NULL; live = live->next) {
        if (live == library) {
            return true;
        }
    }
    mock_misused("%s was called with %p, which is not a live library", call, (void *)library);
    return false;
}

void mock_unload(CUlibrary library)
{
    CUlibrary *at = &libraries;
    while (*at != library) {
        at = &(*at)->next;
    }
    *at = library->next;
    while (library->kernels != NULL) {
        struct mock_kernel *next = library->kernels->next;
        free((char *)(uintptr_t)library->kernels->name);
        free(library->kernels);
        library->kernels = next;
    }
    free(library->bytes);
    free(library);
    mock.live_libraries--;
}

void mock_forget_images(void)
{
    while (libraries != NULL) {
        mock_unload(libraries);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Finding kernels
 * ---------------------------------------------------------------------------------------------- */

struct mock_kernel *mock_next_kernel(const struct mock_kernel *kernel)
{
    const uintptr_t at = (uintptr_t)kernel;
    const uintptr_t first = (uintptr_t)mock.kernels;
    CUlibrary library = libraries;
    if (kernel == NULL) {
        return &mock.kernels[0];
    }
    if (at >= first && at < first + sizeof(mock.kernels) - sizeof(mock.kernels[0])) {
        return &mock.kernels[kernel - mock.kernels + 1];
    }
    if (at < first || at >= first + sizeof(mock.kernels)) {
        if (kernel->next != NULL) {
            return kernel->next;
        }
        library = kernel->library->next;
    }
    while (library != NULL && library->kernels == NULL) {
        library = library->next;
    }
    return library != NULL ? library->kernels : NULL;
}

static bool is_name_byte(unsigned char byte)
{
    return isalnum(byte) || byte == '_' || byte == '$';
}

/* Whether the name occurs as a whole word: in PTX text, or in the string tables of a cubin. */
static bool holds_name(const struct CUlib_st *image, const char *name)
{
    const size_t length = strlen(name);
    const unsigned char *end = image->bytes + image->size;
    const unsigned char *from = image->bytes;
    while (length > 0) {
        const unsigned char *at = memmem(from, (size_t)(end - from), name, length);
        if (at == NULL) {
            return false;
        }
        if ((at == image->bytes || !is_name_byte(at[-1])) &&
            (at + length == end || !is_name_byte(at[length]))) {
            return true;
        }
        from = at + 1;
    }
    return false;
}

/* The first occurrence of a word between two places; NULL if there is none. */
static const char *find_word(const char *from, const char *end, const char *word)
{
    return memmem(from, (size_t)(end - from), word, strlen(word));
}

/* The size of one declaration: .param .u64 name, or .param .align 8 .b8 name[24]. */
static size_t size_of_parameter(const char *from, const char *end)
{
    static const struct {
        const char *name;
        size_t size;
    } types[] = {{".u64", 8}, {".s64", 8}, {".b64", 8}, {".f64", 8}, {".u32", 4},
                 {".s32", 4}, {".b32", 4}, {".f32", 4}, {".u16", 2}, {".s16", 2},
                 {".b16", 2}, {".u8", 1},  {".s8", 1},  {".b8", 1}};
    const char *count = memchr(from, '[', (size_t)(end - from));
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (find_word(from, end, types[i].name) != NULL) {
            return types[i].size * (count != NULL ? strtoul(count + 1, NULL, 10) : 1);
        }
    }
    return 0;
}

/* ---- clusters that are compiled in ---- */

static void set_on_all(struct mock_kernel *kernel, CUfunction_attribute attribute, int value)
{
    for (int d = 0; d < MOCK_DEVICES; d++) {
        kernel->attributes[d][attribute] = value;
    }
}

static void set_cluster(struct mock_kernel *kernel, const uint32_t blocks[3])
{
    set_on_all(kernel, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, (int)blocks[0]);
    set_on_all(kernel, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, (int)blocks[1]);
    set_on_all(kernel, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, (int)blocks[2]);
}

static void set_threads(struct mock_kernel *kernel, const uint32_t threads[3])
{
    set_on_all(kernel, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
               (int)(threads[0] * threads[1] * threads[2]));
}

/* The numbers behind a directive; false if it is not there. */
static bool read_directive(const char *from, const char *end, const char *directive,
                           uint32_t numbers[3])
{
    const char *at = find_word(from, end, directive);
    if (at == NULL) {
        return false;
    }
    at += strlen(directive);
    for (int i = 0; i < 3; i++) {
        char *next = NULL;
        const unsigned long number = strtoul(at, &next, 10);
        numbers[i] = next != at ? (uint32_t)number : 1;
        at = next + strspn(next, " ,");
    }
    return true;
}

/* What stands between the parameters of a kernel in PTX text and its body. */
static void read_directives(const char *from, const char *end, struct mock_kernel *kernel)
{
    uint32_t numbers[3];
    if (read_directive(from, end, ".maxntid", numbers)) {
        set_threads(kernel, numbers);
    }
    if (read_directive(from, end, ".reqntid", numbers)) {
        set_threads(kernel, numbers);
        memcpy(kernel->block, numbers, sizeof(kernel->block));
    }
    if (read_directive(from, end, ".maxclusterrank", numbers)) {
        kernel->most_cluster = numbers[0];
    }
    if (read_directive(from, end, ".reqnctapercluster", numbers)) {
        set_cluster(kernel, numbers);
    }
    set_on_all(kernel, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET,
               find_word(from, end, ".explicitcluster") != NULL);
    kernel->counts_clusters = find_word(from, end, ".blocksareclusters") != NULL;
}

/* The list in parentheses after `.entry name` of PTX text, and what stands behind it. Nothing is
 * read of a binary image. */
static void read_parameters(const struct CUlib_st *image, struct mock_kernel *kernel)
{
    const char *text = (const char *)image->bytes;
    const char *end = text + image->size;
    for (const char *at = image->is_text ? find_word(text, end, ".entry") : NULL; at != NULL;
         at = find_word(at + 1, end, ".entry")) {
        const char *name = at + strlen(".entry");
        const size_t length = strlen(kernel->name);
        while (name < end && isspace((unsigned char)*name)) {
            name++;
        }
        if ((size_t)(end - name) <= length || memcmp(name, kernel->name, length) != 0 ||
            is_name_byte((unsigned char)name[length])) {
            continue;
        }
        const char *close = memchr(name, ')', (size_t)(end - name));
        const char *next = close != NULL ? find_word(name, close, ".param") : NULL;
        while (next != NULL && kernel->parameter_count < MOCK_PARAMETERS) {
            const char *const from = next + strlen(".param");
            next = find_word(from, close, ".param");
            const size_t size = size_of_parameter(from, next != NULL ? next : close);
            if (size > MOCK_ARGUMENT) {
                mock_misused("%s has a parameter of %zu bytes", kernel->name, size);
                return;
            }
            kernel->parameter_sizes[kernel->parameter_count++] = size;
        }
        const char *const body = close != NULL ? memchr(close, '{', (size_t)(end - close)) : NULL;
        if (body != NULL) {
            read_directives(close, body, kernel);
        }
        if (next != NULL) {
            mock_misused("%s has more than %d parameters", kernel->name, MOCK_PARAMETERS);
        }
        return;
    }
}

struct mock_kernel *mock_find_kernel(CUlibrary library, const char *name)
{
    for (struct mock_kernel *kernel = library->kernels; kernel != NULL; kernel = kernel->next) {
        if (strcmp(kernel->name, name) == 0) {
            return kernel;
        }
    }
    if (!holds_name(library, name)) {
        if (!library->is_compressed) {
            return NULL;
        }
        MOCK_LOG("name=%s is taken on trust: the image is compressed", name);
    }
    struct mock_kernel *made = mock_new(sizeof(*made));
    char *copy = strcpy(mock_new(strlen(name) + 1), name);
    mock_init_kernel(made, copy);
    made->occupancy = -1;
    made->library = library;
    made->next = library->kernels;
    library->kernels = made;
    read_parameters(library, made);
    return made;
}

/* ------------------------------------------------------------------------------------------------
 * Entries
 * ---------------------------------------------------------------------------------------------- */

/* Where the library's user wants its log. */
static void read_options(CUlibrary log, const CUjit_option *options, void **values, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER) {
            log->log = values[i];
        } else if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
            log->log_size = (size_t)(uintptr_t)values[i];
            values[i] = NULL; /* the driver writes how much there is */
        }
    }
}

static void write_log(const struct CUlib_st *log)
{
    if (mock.jit_log != NULL && log->log != NULL && log->log_size != 0) {
        (void)snprintf(log->log, log->log_size, "%s", mock.jit_log);
    }
}

/* The driver may compile an image any time until it is unloaded, and write its log then. */
void mock_write_late_logs(void)
{
    for (const struct CUlib_st *live = libraries; live != NULL; live = live->next) {
        write_log(live);
    }
}

CUresult mock_cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *options,
                                void **values, unsigned count, CUlibraryOption *library_options,
                                void **library_values, unsigned library_count)
{
    MOCK_ENTER(cuLibraryLoadData);
    struct CUlib_st log = {.log = NULL};
    (void)library_values;
    for (unsigned i = 0; i < library_count; i++) {
        if (library_options[i] == CU_LIBRARY_BINARY_IS_PRESERVED) {
            mock_misused("an image that may be freed was declared to be preserved");
        }
    }
    read_options(&log, options, values, count);
    CUresult result = mock_load(code, library);
    if (result == CUDA_SUCCESS && mock.image_result != CUDA_SUCCESS) {
        mock_unload(*library);
        result = mock.image_result;
    }
    if (result != CUDA_SUCCESS) {
        *library = (CUlibrary)(void *)&mock; /* nobody promises what a failure leaves there */
        write_log(&log);
        return mock_leave(result);
    }
    (*library)->log = log.log;
    (*library)->log_size = log.log_size;
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuLibraryUnload(CUlibrary library)
{
    MOCK_ENTER(cuLibraryUnload);
    MOCK_FAIL_IF(!mock_has_library(library, "cuLibraryUnload"), CUDA_ERROR_INVALID_HANDLE);
    mock_unload(library);
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    MOCK_ENTER(cuLibraryGetKernel);
    struct mock_kernel *found = NULL;
    MOCK_FAIL_IF(!mock_has_library(library, "cuLibraryGetKernel"), CUDA_ERROR_INVALID_HANDLE);
    if (mock.find_result != CUDA_SUCCESS) {
        mock_write_late_logs();
        return mock_leave(mock.find_result);
    }
    if (mock.is_fake) {
        found = mock_find_kernel(library, name);
    }
    for (unsigned i = 0; i < MOCK_KERNELS && !mock.is_fake; i++) {
        if (mock.kernels[i].in_image && strcmp(mock.kernels[i].name, name) == 0) {
            found = &mock.kernels[i];
        }
    }
    MOCK_LOG("name=%s result=%d", name, found != NULL ? 0 : (int)CUDA_ERROR_NOT_FOUND);
    MOCK_FAIL_IF(found == NULL, CUDA_ERROR_NOT_FOUND);
    *kernel = (CUkernel)(void *)&found->handles[0];
    return mock_leave(CUDA_SUCCESS);
}
