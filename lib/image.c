/* SPDX-License-Identifier: MIT */
/* Loading kernel images. The driver is told where an image begins and not how long it is, so that its
 * length is checked here against what its headers say. */
#include "image.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "error.h"

#define FATBIN_MAGIC 0xba55ed50u

/* How a fatbin begins. */
struct fatbin_header {
    uint32_t magic;
    uint16_t version;
    uint16_t header_size;
    uint64_t body_size;
};

enum image_kind { IMAGE_NONE, IMAGE_PTX, IMAGE_CUBIN, IMAGE_FATBIN };

pdl_status pdl_image_read(const char *path, void **image, size_t *size)
{
    pdl_status status;
    void *bytes = NULL;
    struct stat about;
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_FILE, "path", "%s cannot be opened: %s", path,
                              strerror(errno));
    }
    if (fstat(fileno(file), &about) != 0 || !S_ISREG(about.st_mode)) {
        status = PDL_FAIL_FIELD(PDL_ERROR_FILE, "path", "%s is not a regular file", path);
        goto close;
    }
    const size_t length = (size_t)about.st_size;
    bytes = malloc(length > 0 ? length : 1);
    if (bytes == NULL) {
        status =
            PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for the %zu bytes of %s", length, path);
        goto close;
    }
    if (fread(bytes, 1, length, file) != length) {
        status = PDL_FAIL_FIELD(PDL_ERROR_FILE, "path", "%s cannot be read: %s", path,
                                ferror(file) ? strerror(errno) : "it became shorter");
        goto close;
    }
    *image = bytes;
    *size = length;
    bytes = NULL;
    status = PDL_SUCCESS;

close:
    free(bytes);
    (void)fclose(file);
    return status;
}

/* Whether `count` items of `each` bytes from `from` lie within `size` bytes. */
static bool within(uint64_t from, uint64_t count, uint64_t each, uint64_t size)
{
    return from <= size && (each == 0 || count <= (size - from) / each);
}

static bool cubin_is_whole(const unsigned char *image, size_t size)
{
    Elf64_Ehdr header;
    if (size < sizeof(header)) {
        return false;
    }
    memcpy(&header, image, sizeof(header));
    if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
        !within(header.e_phoff, header.e_phnum, header.e_phentsize, size) ||
        !within(header.e_shoff, header.e_shnum, header.e_shentsize, size) ||
        (header.e_shnum > 0 && header.e_shentsize != sizeof(Elf64_Shdr))) {
        return false;
    }
    for (size_t i = 0; i < header.e_shnum; i++) {
        Elf64_Shdr section;
        memcpy(&section, image + header.e_shoff + i * sizeof(section), sizeof(section));
        if (section.sh_type != SHT_NOBITS && !within(section.sh_offset, section.sh_size, 1, size)) {
            return false;
        }
    }
    return true;
}

static bool fatbin_is_whole(const unsigned char *image, size_t size)
{
    struct fatbin_header header;
    if (size < sizeof(header)) {
        return false;
    }
    memcpy(&header, image, sizeof(header));
    return header.header_size >= sizeof(header) &&
           within(header.header_size, header.body_size, 1, size);
}

static enum image_kind image_kind(const unsigned char *image, size_t size)
{
    uint32_t magic = 0;
    if (size >= sizeof(magic)) {
        memcpy(&magic, image, sizeof(magic));
    }
    if (magic == FATBIN_MAGIC) {
        return IMAGE_FATBIN;
    }
    if (size >= SELFMAG && memcmp(image, ELFMAG, SELFMAG) == 0) {
        return IMAGE_CUBIN;
    }
    /* PTX is text and must hold a .version directive; a NUL may only end it. */
    const unsigned char *nul = memchr(image, '\0', size);
    const size_t length = nul != NULL ? (size_t)(nul - image) : size;
    static const char directive[] = ".version";
    for (size_t i = 0; i + sizeof(directive) - 1 <= length; i++) {
        if (memcmp(image + i, directive, sizeof(directive) - 1) == 0) {
            return IMAGE_PTX;
        }
    }
    return IMAGE_NONE;
}

/* What the compiler of PTX said, on one line and short enough for a message. */
static const char *tidy_log(char *log)
{
    size_t length = strlen(log);
    while (length > 0 && (log[length - 1] == '\n' || log[length - 1] == ' ')) {
        log[--length] = '\0';
    }
    for (char *at = log; *at != '\0'; at++) {
        if (*at == '\n') {
            *at = ' ';
        }
    }
    return log;
}

static pdl_status load(const struct pdl_driver *driver, const void *image, CUlibrary *library)
{
    char log[1024] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof(log)};
    const CUresult result =
        driver->cuLibraryLoadData(library, image, options, values, 2, NULL, NULL, 0);
    if (result == CUDA_SUCCESS) {
        return PDL_SUCCESS;
    }
    const pdl_status status =
        pdl_error_from_cuda(driver, "cuLibraryLoadData", (int32_t)result, "to load an image");
    log[sizeof(log) - 1] = '\0';
    if (log[0] == '\0') {
        return status;
    }
    const struct pdl_error_source source = {
        .call = "cuLibraryLoadData", .field = "image", .cuda_result = (int32_t)result};
    return pdl_error_set(status, source, "the image cannot be loaded: %s: %s",
                         pdl_driver_result_name(driver, result), tidy_log(log));
}

pdl_status pdl_image_load(const struct pdl_driver *driver, const void *image, size_t size,
                          CUlibrary *library)
{
    const unsigned char *bytes = image;
    const enum image_kind kind = size > 0 ? image_kind(bytes, size) : IMAGE_NONE;
    pdl_status status;
    if (kind == IMAGE_NONE) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_IMAGE, "image",
                              "the %zu bytes are neither PTX text nor a cubin nor a fatbin", size);
    }
    if ((kind == IMAGE_CUBIN && !cubin_is_whole(bytes, size)) ||
        (kind == IMAGE_FATBIN && !fatbin_is_whole(bytes, size))) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_IMAGE, "image",
                              "the %s is cut short: its headers name more than its %zu bytes",
                              kind == IMAGE_CUBIN ? "cubin" : "fatbin", size);
    }
    if (kind != IMAGE_PTX) {
        return load(driver, image, library);
    }
    char *text = malloc(size + 1); /* the driver wants a NUL at the end */
    if (text == NULL) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for a copy of %zu bytes of PTX", size);
    }
    memcpy(text, image, size);
    text[size] = '\0';
    status = load(driver, text, library);
    free(text);
    return status;
}

pdl_status pdl_image_find(const struct pdl_driver *driver, CUlibrary library, const char *name,
                          CUkernel *kernel)
{
    const CUresult result = driver->cuLibraryGetKernel(kernel, library, name);
    if (result == CUDA_SUCCESS) {
        return PDL_SUCCESS;
    }
    if (result == CUDA_ERROR_NOT_FOUND) {
        const struct pdl_error_source source = {
            .call = "cuLibraryGetKernel", .field = "name", .cuda_result = (int32_t)result};
        return pdl_error_set(PDL_ERROR_NOT_FOUND, source,
                             "the image has no kernel named %s (C++ kernels have mangled names)",
                             name);
    }
    return pdl_error_from_cuda(driver, "cuLibraryGetKernel", (int32_t)result,
                               "to find a kernel in an image");
}
