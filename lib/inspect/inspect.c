/* SPDX-License-Identifier: MIT */
/* How inspections are made: from memory or a file, through the images in it, to what takes all of
 * them to see. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inspect/image.h"
#include "inspect/rules/launched.h"
#include "inspect/rules/rules.h"

#define MAX_TEXT ((uint64_t)512 << 20)

/* One call of pdl_inspect_memory(). */
struct call {
    const void *bytes;
    size_t size;
    const char *name;
    pdl_inspect_options options; /* of the size of this library */
    const pdl_inspect_options *given;
    pdl_inspection *made;
};

static void take_options(const pdl_inspect_options *options, pdl_inspect_options *copy)
{
    pdl_given_resize(copy, sizeof(*copy), options, offsetof(pdl_inspect_options, constant_params),
                     "PDL_INSPECT_OPTIONS_INIT");
    copy->size = (uint32_t)sizeof(*copy);
    if (copy->max_text == 0) {
        copy->max_text = MAX_TEXT;
    }
    if ((copy->flags & ~(PDL_INSPECT_FACTS_ONLY | PDL_INSPECT_NO_SOURCES)) != 0) {
        pdl_fail(PDL_ERROR_INVALID_ARGUMENT, 0, 0, "options->flags has unknown bits: %#x",
                 copy->flags);
    }
    const struct {
        const char *const *list;
        uint64_t count;
        const char *name;
    } lists[] = {
        {copy->constant_params, copy->constant_param_count, "constant_params"},
        {copy->overlapped, copy->overlapped_count, "overlapped"},
        {copy->launched_overlapped, copy->launched_overlapped_count, "launched_overlapped"},
        {copy->launched_plain, copy->launched_plain_count, "launched_plain"},
        {copy->third_party, copy->third_party_count, "third_party"},
        {copy->plain, copy->plain_count, "plain"},
    };
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        pdl_given_check_list(lists[i].list, lists[i].count, lists[i].name);
    }
}

static void inspect(void *context)
{
    struct call *call = context;
    take_options(call->given, &call->options);
    pdl_inspection *made = call->made = calloc(1, sizeof(*made));
    if (made == NULL) {
        pdl_fail_memory();
    }
    made->arena.lasts = true;
    made->options = &call->options;
    made->facts_only = (call->options.flags & PDL_INSPECT_FACTS_ONLY) != 0;
    pdl_launched_prepare(made);
    pdl_container_read(made, call->bytes, call->size, call->name);
    pdl_rules_across(made);
    pdl_launched_count(made);
}

pdl_status pdl_inspect_memory(const void *bytes, size_t size, const char *name,
                              const pdl_inspect_options *options, pdl_inspection **inspection)
{
    const pdl_inspect_error before = *pdl_inspect_last_error();
    if (bytes == NULL || name == NULL || inspection == NULL) {
        return pdl_inspect_fail(PDL_ERROR_INVALID_ARGUMENT, 0, 0, "%s is NULL",
                                bytes == NULL ? "bytes" : (name == NULL ? "name" : "inspection"));
    }
    struct call call = {.bytes = bytes, .size = size, .name = name, .given = options};
    const pdl_status status = pdl_attempt(inspect, &call);
    if (call.made != NULL) {
        free(call.made->unpacked);
        call.made->unpacked = NULL;
        call.made->launches = NULL;
        call.made->options = NULL;
    }
    if (status != PDL_SUCCESS) {
        pdl_inspection_destroy(call.made);
        return status;
    }
    pdl_inspect_error_restore(&before); /* that of an image that is unread */
    *inspection = call.made;
    return PDL_SUCCESS;
}

uint32_t pdl_inspect_version(void)
{
    return PDL_VERSION;
}

static pdl_status file_error(const char *doing, int error)
{
    return pdl_inspect_fail(PDL_ERROR_FILE, 0, 0, "the file cannot be %s: %s", doing,
                            strerror(error));
}

pdl_status pdl_inspect_file(const char *path, const pdl_inspect_options *options,
                            pdl_inspection **inspection)
{
    pdl_status status;
    struct stat about;
    void *bytes = MAP_FAILED;
    if (path == NULL) {
        return pdl_inspect_fail(PDL_ERROR_INVALID_ARGUMENT, 0, 0, "path is NULL");
    }
    /* Not to wait for whoever would write to a pipe of that name. */
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return file_error("opened", errno);
    }
    if (fstat(file, &about) != 0) {
        status = file_error("examined", errno);
        goto close;
    }
    if (!S_ISREG(about.st_mode)) {
        status = pdl_inspect_fail(PDL_ERROR_FILE, 0, 0, "it is not a regular file");
        goto close;
    }
    const size_t size = (size_t)about.st_size;
    if (size == 0) {
        status = pdl_inspect_memory("", 0, path, options, inspection);
        goto close;
    }
    /* Of an executable of a gigabyte only what is looked at is ever read. */
    bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED) {
        status = file_error("mapped", errno);
        goto close;
    }
    status = pdl_inspect_memory(bytes, size, path, options, inspection);
    (void)munmap(bytes, size);

close:
    (void)close(file);
    return status;
}
