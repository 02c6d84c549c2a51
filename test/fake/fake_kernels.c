/* SPDX-License-Identifier: MIT */
/* The fake driver: images, kernels and launches. */
#define _GNU_SOURCE
#include "fake_cuda.h"

#include <ctype.h>
#include <elf.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "h200.h"

#define FATBIN_MAGIC  0xba55ed50u
#define WRAPPER_MAGIC 0x466243b1u
#define COMPRESSED    (0x2000u | 0x8000u) /* LZ4 and Zstandard, in the flags of a fatbin's entry */

/* What a handle points to. The first word tells a kernel from a function, because launches take
 * both. */
enum kind { KIND_FUNCTION = 0x66756e63, KIND_KERNEL = 0x6b65726e };

struct entity {
    enum kind kind;
    int max_dynamic_shared_memory;
    struct entity *function; /* of a kernel: its function */
    struct entity *next;     /* in its image */
    char *name;
    size_t parameter_count;
    size_t parameter_sizes[FAKE_PARAMETERS];
};

/* A library or a module. */
struct image {
    unsigned char *bytes;
    size_t size;
    bool compressed; /* some of it cannot be searched for names */
    struct entity *entities;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- images --------------------------------------------------------------------------------- */

static uint32_t magic_of(const void *bytes)
{
    uint32_t magic;
    memcpy(&magic, bytes, sizeof(magic));
    return magic;
}

static size_t cubin_size(const void *bytes)
{
    Elf64_Ehdr header;
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

static CUresult load(const void *code, struct image **image)
{
    const unsigned char *bytes = code;
    size_t size;
    bool compressed = false;
    if (code == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (magic_of(bytes) == WRAPPER_MAGIC) {
        memcpy(&bytes, bytes + 8, sizeof(bytes)); /* the wrapper points to the fatbin */
    }
    if (magic_of(bytes) == FATBIN_MAGIC) {
        size = fatbin_size(bytes);
        compressed = fatbin_is_compressed(bytes, size);
    } else if (memcmp(bytes, ELFMAG, SELFMAG) == 0) {
        size = cubin_size(bytes);
    } else {
        size = strlen((const char *)bytes);
        if (strstr((const char *)bytes, ".version") == NULL) {
            return CUDA_ERROR_INVALID_IMAGE;
        }
    }
    struct image *made = calloc(1, sizeof(*made));
    unsigned char *copy = malloc(size);
    if (made == NULL || copy == NULL) {
        free(made);
        free(copy);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memcpy(copy, bytes, size);
    made->bytes = copy;
    made->size = size;
    made->compressed = compressed;
    *image = made;
    return CUDA_SUCCESS;
}

static void unload(struct image *image)
{
    while (image->entities != NULL) {
        struct entity *next = image->entities->next;
        free(image->entities->name);
        free(image->entities);
        image->entities = next;
    }
    free(image->bytes);
    free(image);
}

static bool is_name_byte(unsigned char byte)
{
    return isalnum(byte) || byte == '_' || byte == '$';
}

/* Whether the name occurs as a whole word: in PTX text, or in the string tables of a cubin. */
static bool holds_name(const struct image *image, const char *name)
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

/* ---- parameters, of PTX text ---------------------------------------------------------------- */

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

/* The list in parentheses after `.entry name`. */
static void read_parameters(const struct image *image, struct entity *entity)
{
    const char *text = (const char *)image->bytes;
    const char *end = text + image->size;
    if (find_word(text, end, ".version") == NULL || memcmp(text, ELFMAG, SELFMAG) == 0) {
        return;
    }
    for (const char *at = find_word(text, end, ".entry"); at != NULL;
         at = find_word(at + 1, end, ".entry")) {
        const char *name = at + strlen(".entry");
        const size_t length = strlen(entity->name);
        while (name < end && isspace((unsigned char)*name)) {
            name++;
        }
        if ((size_t)(end - name) <= length || memcmp(name, entity->name, length) != 0 ||
            is_name_byte((unsigned char)name[length])) {
            continue;
        }
        const char *close = memchr(name, ')', (size_t)(end - name));
        const char *next = close != NULL ? find_word(name, close, ".param") : NULL;
        while (next != NULL && entity->parameter_count < FAKE_PARAMETERS) {
            const char *const from = next + strlen(".param");
            next = find_word(from, close, ".param");
            entity->parameter_sizes[entity->parameter_count++] =
                size_of_parameter(from, next != NULL ? next : close);
        }
        return;
    }
}

static struct entity *add_entity(struct image *image, enum kind kind, const char *name)
{
    struct entity *made = calloc(1, sizeof(*made));
    char *copy = strdup(name);
    if (made == NULL || copy == NULL) {
        free(made);
        free(copy);
        return NULL;
    }
    made->kind = kind;
    made->name = copy;
    made->max_dynamic_shared_memory = 49152;
    read_parameters(image, made);
    made->next = image->entities;
    image->entities = made;
    return made;
}

/* The kernel (or function) of a name; made on the first question. Under the lock. */
static CUresult find(struct image *image, enum kind kind, const char *name, struct entity **found)
{
    for (struct entity *entity = image->entities; entity != NULL; entity = entity->next) {
        if (entity->kind == kind && strcmp(entity->name, name) == 0) {
            *found = entity;
            return CUDA_SUCCESS;
        }
    }
    if (!holds_name(image, name)) {
        if (!image->compressed) {
            return CUDA_ERROR_NOT_FOUND;
        }
        FAKE_LOG("# %s is taken on trust: the image is compressed", name);
    }
    struct entity *made = add_entity(image, kind, name);
    if (made != NULL && kind == KIND_KERNEL) {
        made->function = add_entity(image, KIND_FUNCTION, name);
    }
    if (made == NULL || (kind == KIND_KERNEL && made->function == NULL)) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *found = made;
    return CUDA_SUCCESS;
}

static CUresult find_locked(struct image *image, enum kind kind, const char *name,
                            struct entity **found)
{
    if (image == NULL || name == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    (void)pthread_mutex_lock(&lock);
    const CUresult result = find(image, kind, name, found);
    (void)pthread_mutex_unlock(&lock);
    return result;
}

FAKE_ENTRY(cuLibraryLoadData, CUlibrary *library, const void *code, CUjit_option *options,
           void **values, unsigned count, CUlibraryOption *library_options, void **library_values,
           unsigned library_count)
{
    struct image *image = NULL;
    (void)options;
    (void)values;
    (void)library_options;
    (void)library_values;
    const CUresult result = load(code, &image);
    FAKE_LOG("cuLibraryLoadData options=%u library_options=%u result=%d", count, library_count,
             (int)result);
    if (result == CUDA_SUCCESS) {
        *library = (CUlibrary)(void *)image;
    }
    return result;
}

FAKE_ENTRY(cuLibraryUnload, CUlibrary library)
{
    FAKE_LOG("cuLibraryUnload");
    unload((struct image *)(void *)library);
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuLibraryGetKernel, CUkernel *kernel, CUlibrary library, const char *name)
{
    struct entity *found = NULL;
    const CUresult result = find_locked((struct image *)(void *)library, KIND_KERNEL, name, &found);
    FAKE_LOG("cuLibraryGetKernel name=%s result=%d", name, (int)result);
    if (result == CUDA_SUCCESS) {
        *kernel = (CUkernel)(void *)found;
    }
    return result;
}

static CUresult load_module(CUmodule *module, const void *code)
{
    struct image *image = NULL;
    CUresult result = CUDA_ERROR_INVALID_CONTEXT;
    if (fake_current_device() >= 0) {
        result = load(code, &image);
    }
    if (result == CUDA_SUCCESS) {
        *module = (CUmodule)(void *)image;
    }
    return result;
}

FAKE_ENTRY(cuModuleLoadData, CUmodule *module, const void *code)
{
    FAKE_LOG("cuModuleLoadData");
    return load_module(module, code);
}

FAKE_ENTRY(cuModuleLoadDataEx, CUmodule *module, const void *code, unsigned count,
           CUjit_option *options, void **values)
{
    FAKE_LOG("cuModuleLoadDataEx options=%u", count);
    (void)options;
    (void)values;
    return load_module(module, code);
}

FAKE_ENTRY(cuModuleGetFunction, CUfunction *function, CUmodule module, const char *name)
{
    struct entity *found = NULL;
    const CUresult result =
        find_locked((struct image *)(void *)module, KIND_FUNCTION, name, &found);
    FAKE_LOG("cuModuleGetFunction name=%s result=%d", name, (int)result);
    if (result == CUDA_SUCCESS) {
        *function = (CUfunction)(void *)found;
    }
    return result;
}

FAKE_ENTRY(cuModuleUnload, CUmodule module)
{
    FAKE_LOG("cuModuleUnload");
    unload((struct image *)(void *)module);
    return CUDA_SUCCESS;
}

/* ---- kernels -------------------------------------------------------------------------------- */

/* A kernel handed in as either kind is what its function is. */
static struct entity *function_of(const void *handle)
{
    struct entity *entity = (struct entity *)(uintptr_t)handle;
    if (entity == NULL || (entity->kind != KIND_FUNCTION && entity->kind != KIND_KERNEL)) {
        return NULL;
    }
    return entity->kind == KIND_KERNEL ? entity->function : entity;
}

static CUresult get_attribute(const void *handle, CUfunction_attribute attribute, int *value)
{
    const struct entity *function = function_of(handle);
    if (function == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    switch ((int)attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = 1024;
        break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = 32;
        break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
        *value = fake.ptx_version;
        break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = 10 * fake.major + fake.minor;
        break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = function->max_dynamic_shared_memory;
        break;
    default:
        *value = 0;
        break;
    }
    return CUDA_SUCCESS;
}

static CUresult set_attribute(const void *handle, CUfunction_attribute attribute, int value)
{
    enum {
#define OPTIN(name, number) LIMIT_##name = (number),
        H200_ATTRIBUTES(OPTIN)
#undef OPTIN
    };
    struct entity *function = function_of(handle);
    if (function == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        if (value < 0 || value > LIMIT_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        function->max_dynamic_shared_memory = value;
    }
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuKernelGetFunction, CUfunction *function, CUkernel kernel)
{
    struct entity *found = function_of(kernel);
    FAKE_LOG("cuKernelGetFunction kernel=%s", found != NULL ? found->name : "?");
    if (found == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *function = (CUfunction)(void *)found;
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuKernelGetName, const char **name, CUkernel kernel)
{
    const struct entity *found = function_of(kernel);
    FAKE_LOG("cuKernelGetName");
    if (found == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *name = found->name;
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuFuncGetName, const char **name, CUfunction function)
{
    const struct entity *found = function_of(function);
    FAKE_LOG("cuFuncGetName");
    if (found == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *name = found->name;
    return CUDA_SUCCESS;
}

const char *fake_function_name(CUfunction function)
{
    const struct entity *found = function_of(function);
    return found != NULL ? found->name : NULL;
}

CUresult fake_parameter(CUfunction handle, size_t index, size_t *offset, size_t *size)
{
    const struct entity *function = function_of(handle);
    size_t at = 0;
    if (function == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (index >= function->parameter_count) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (size_t i = 0; i < index; i++) {
        at += (function->parameter_sizes[i] + 7) & ~(size_t)7;
    }
    if (offset != NULL) {
        *offset = at;
    }
    if (size != NULL) {
        *size = function->parameter_sizes[index];
    }
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuFuncGetParamInfo, CUfunction function, size_t index, size_t *offset, size_t *size)
{
    const CUresult result = fake_parameter(function, index, offset, size);
    FAKE_LOG("cuFuncGetParamInfo index=%zu result=%d", index, (int)result);
    return result;
}

FAKE_ENTRY(cuKernelGetParamInfo, CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
    const CUresult result = fake_parameter((CUfunction)(void *)kernel, index, offset, size);
    FAKE_LOG("cuKernelGetParamInfo index=%zu result=%d", index, (int)result);
    return result;
}

FAKE_ENTRY(cuKernelGetAttribute, int *value, CUfunction_attribute attribute, CUkernel kernel,
           CUdevice device)
{
    FAKE_LOG("cuKernelGetAttribute attribute=%d device=%d", (int)attribute, device);
    return get_attribute(kernel, attribute, value);
}

FAKE_ENTRY(cuKernelSetAttribute, CUfunction_attribute attribute, int value, CUkernel kernel,
           CUdevice device)
{
    FAKE_LOG("cuKernelSetAttribute attribute=%d value=%d device=%d", (int)attribute, value, device);
    return set_attribute(kernel, attribute, value);
}

FAKE_ENTRY(cuFuncGetAttribute, int *value, CUfunction_attribute attribute, CUfunction function)
{
    FAKE_LOG("cuFuncGetAttribute attribute=%d", (int)attribute);
    return get_attribute(function, attribute, value);
}

FAKE_ENTRY(cuFuncSetAttribute, CUfunction function, CUfunction_attribute attribute, int value)
{
    FAKE_LOG("cuFuncSetAttribute attribute=%d value=%d", (int)attribute, value);
    return set_attribute(function, attribute, value);
}

FAKE_ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks, CUfunction function, int block,
           size_t shared)
{
    FAKE_LOG("cuOccupancyMaxActiveBlocksPerMultiprocessor block=%d smem=%zu", block, shared);
    if (function_of(function) == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (block <= 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const int by_threads = 2048 / ((block + 31) / 32 * 32);
    const int by_shared = (int)(233472 / (shared + 1024)); /* 1 KiB is CUDA's own */
    *blocks = by_threads < by_shared ? by_threads : by_shared;
    *blocks = *blocks < 32 ? *blocks : 32;
    return CUDA_SUCCESS;
}

/* Of a device whose SMs are in groups of 16 and 18, as an H200's: clusters of up to 8, or 16. */
FAKE_ENTRY(cuOccupancyMaxPotentialClusterSize, int *size, CUfunction function,
           const CUlaunchConfig *config)
{
    FAKE_LOG("cuOccupancyMaxPotentialClusterSize attributes=%u", config->numAttrs);
    if (function_of(function) == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *size = 8;
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuOccupancyMaxActiveClusters, int *clusters, CUfunction function,
           const CUlaunchConfig *config)
{
    FAKE_LOG("cuOccupancyMaxActiveClusters attributes=%u", config->numAttrs);
    if (function_of(function) == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    for (unsigned i = 0; i < config->numAttrs; i++) {
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
            const CUlaunchAttributeValue *value = &config->attrs[i].value;
            const unsigned blocks = value->clusterDim.x * value->clusterDim.y * value->clusterDim.z;
            *clusters = blocks > 8 ? 0 : (int)(132 / blocks);
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_VALUE;
}

/* ---- launches ------------------------------------------------------------------------------- */

CUresult fake_check_attribute(const CUlaunchAttribute *attribute)
{
    switch ((int)attribute->id) {
    case 3: /* a stream's, not a launch's */
        return CUDA_ERROR_INVALID_VALUE;
    case 7:
        return fake_event_is_launchable(attribute->value.programmaticEvent.event)
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_NOT_SUPPORTED;
    case 12:
        if (fake.driver_version < 12030) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        return fake_event_is_launchable(attribute->value.programmaticEvent.event)
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_NOT_SUPPORTED;
    case 13: /* only while capturing, which this driver cannot do */
        return CUDA_ERROR_INVALID_VALUE;
    case 14:
        return fake.driver_version < 12050 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    case 11:
        return fake.driver_version < 12080 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    case 16:
        return fake.driver_version < 13000 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    default:
        return (unsigned)attribute->id > 16 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    }
}

static CUresult launch(const char *call, const CUlaunchConfig *config, CUfunction handle)
{
    const struct entity *function = function_of(handle);
    const unsigned threads = config->blockDimX * config->blockDimY * config->blockDimZ;
    if (function == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (fake_current_device() < 0) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (config->gridDimX == 0 || config->gridDimY == 0 || config->gridDimZ == 0 || threads == 0 ||
        threads > 1024 || config->sharedMemBytes > (unsigned)function->max_dynamic_shared_memory) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const CUresult result = fake_check_attribute(&config->attrs[i]);
        if (result != CUDA_SUCCESS) {
            return result;
        }
    }
    (void)atomic_fetch_add_explicit(&fake.launches, 1, memory_order_relaxed);
    if (__builtin_expect(fake.log != NULL, 0)) {
        fake_log_launch(call, config, function->name);
    }
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuLaunchKernelEx, const CUlaunchConfig *config, CUfunction function, void **arguments,
           void **extra)
{
    (void)arguments;
    (void)extra;
    const CUresult result = launch("cuLaunchKernelEx", config, function);
    if (result != CUDA_SUCCESS) {
        FAKE_LOG("cuLaunchKernelEx result=%d", (int)result);
    }
    return result;
}

FAKE_ENTRY(cuLaunchKernel, CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
           unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, CUstream stream,
           void **arguments, void **extra)
{
    const CUlaunchConfig config = {
        .gridDimX = grid_x,
        .gridDimY = grid_y,
        .gridDimZ = grid_z,
        .blockDimX = block_x,
        .blockDimY = block_y,
        .blockDimZ = block_z,
        .sharedMemBytes = shared,
        .hStream = stream,
    };
    (void)arguments;
    (void)extra;
    return launch("cuLaunchKernel", &config, function);
}

FAKE_PTSZ(cuLaunchKernelEx, _ptsz);
FAKE_PTSZ(cuLaunchKernel, _ptsz);
