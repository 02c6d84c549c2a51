/* SPDX-License-Identifier: MIT */
/* Texts are compiled by the mock of test/rtc, whose code holds the text and what it includes: so every image can be
 * compared with what it must have been made of. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../rtc/cache_support.h"
#include "soak_host.h"

enum { TEXTS = 60, KERNEL_TEXTS = 20 };

static char *directory;
static pdl_rtc_cache *cache;

void cache_start(const char *folder)
{
    directory = strdup(folder);
    cache_mock_start(13000, "soak");
    cache_mock.milliseconds = 2;
}

void cache_open(void)
{
    pdl_rtc_cache_desc desc = PDL_RTC_CACHE_DESC_INIT;
    desc.directory = directory;
    desc.capacity = 256 << 10;
    if (pdl_rtc_cache_create(&desc, &cache) != PDL_SUCCESS) {
        fault(NULL, "the cache cannot be made: %s", pdl_last_error()->message);
    }
}

void cache_close(void)
{
    pdl_rtc_cache_destroy(cache);
    cache = NULL;
}

/* ------------------------------------------------------------------------------------------------
 * Asking
 * ---------------------------------------------------------------------------------------------- */

static void ask(struct worker *worker, pdl_rtc_cache *of, const char *source, const char *word)
{
    pdl_rtc_options options = PDL_RTC_OPTIONS_INIT;
    pdl_rtc_image *image = NULL;
    options.target = "compute_90";
    if (pdl_rtc_cache_compile(of, "text.cu", source, &options, &image) != PDL_SUCCESS) {
        fault(worker, "a text is not compiled: %s", pdl_last_error()->message);
    }
    if (!cache_mock_made(image, source, word)) {
        fault(worker, "the image of \"%s\" is another's, or stale", source);
    }
    pdl_rtc_image_destroy(image);
    atomic_fetch_add(&counts.compiled, 1);
}

static void ask_text(struct worker *worker, pdl_rtc_cache *of)
{
    char source[64];
    (void)snprintf(source, sizeof(source), "text %u", draw(worker, TEXTS));
    ask(worker, of, source, NULL);
}

static void ask_failing(struct worker *worker)
{
    pdl_rtc_options options = PDL_RTC_OPTIONS_INIT;
    pdl_rtc_image *image = NULL;
    options.target = "compute_90";
    const pdl_status status = pdl_rtc_cache_compile(
        cache, "text.cu", draw(worker, 2) == 0 ? "FAIL 1" : "FAIL 2", &options, &image);
    if (status != PDL_ERROR_COMPILE) {
        fault(worker, "a text with an error gave %s", pdl_status_name(status));
    }
}

/* A kernel, which asks the driver. NULL where that failed. */
static pdl_kernel *load(struct worker *worker, const char *source)
{
    pdl_kernel *kernel = NULL;
    pdl_rtc_options options = PDL_RTC_OPTIONS_INIT;
    options.target = "compute_90";
    if (pdl_rtc_kernel(cache, source, "k", &options, &kernel) == PDL_SUCCESS) {
        atomic_fetch_add(&counts.loaded, 1);
    } else if (pdl_last_error()->cuda_result == 0) {
        fault(worker, "a kernel is not loaded: %s", pdl_last_error()->message);
    } else {
        atomic_fetch_add(&counts.failed_calls, 1);
    }
    return kernel;
}

static void load_text(struct worker *worker)
{
    char source[64];
    (void)snprintf(source, sizeof(source), "kernel text %u", draw(worker, KERNEL_TEXTS));
    (void)load(worker, source);
}

/* Changes the header of this thread, as an editor does, and asks for an image or a kernel. A kernel of the old header
 * lives as long as the cache, so that one of the new header is another. */
static void change_header(struct worker *worker)
{
    char path[512];
    char next[sizeof(path) + 8];
    char word[64];
    char source[sizeof(path) + 32];
    (void)snprintf(path, sizeof(path), "%s-header-%u", directory, worker->number);
    (void)snprintf(next, sizeof(next), "%s.new", path);
    (void)snprintf(word, sizeof(word), "word%u-%u.", worker->number, ++worker->words);
    const bool in_place = draw(worker, 2) == 0;
    FILE *file = fopen(in_place ? path : next, "w");
    if (file == NULL || fputs(word, file) < 0 || fclose(file) != 0 ||
        (!in_place && rename(next, path) != 0)) {
        fault(worker, "%s cannot be written: %s", path, strerror(errno));
    }
    (void)snprintf(source, sizeof(source), "#include \"%s\"", path);
    if (draw(worker, 2) == 0) {
        ask(worker, cache, source, word);
    } else {
        const pdl_kernel *kernel = load(worker, source);
        if (kernel != NULL && kernel == worker->of_header) {
            fault(worker, "a header changed, and its kernel did not");
        }
        worker->of_header = kernel != NULL ? kernel : worker->of_header;
    }
    atomic_fetch_add(&counts.changed_headers, 1);
}

void cache_step(struct worker *worker)
{
    const unsigned kind = draw(worker, 100);
    worker->doing = "the cache";
    if (kind < 60) {
        ask_text(worker, cache);
    } else if (kind < 75) {
        change_header(worker);
    } else if (kind < 95) {
        load_text(worker);
    } else {
        ask_failing(worker);
    }
}

/* A cache of its own. */
int cache_child(struct worker *worker)
{
    cache_open();
    for (unsigned i = draw(worker, 20); i > 0; i--) {
        ask_text(worker, cache);
    }
    cache_close();
    return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Harm
 * ---------------------------------------------------------------------------------------------- */

static void damage(struct worker *worker, int folder, const char *name)
{
    const int file = openat(folder, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    struct stat about;
    if (file < 0) {
        return;
    }
    if (fstat(file, &about) == 0 && about.st_size > 0) {
        const off_t at = (off_t)draw(worker, (unsigned)about.st_size);
        unsigned char byte = 0;
        if (draw(worker, 3) == 0) {
            (void)!ftruncate(file, at);
        } else if (pread(file, &byte, 1, at) == 1) {
            byte ^= (unsigned char)(1U << draw(worker, 8));
            (void)!pwrite(file, &byte, 1, at);
        }
        atomic_fetch_add(&counts.damaged, 1);
    }
    (void)close(file);
}

/* Days ago, or days from now. */
static void age(struct worker *worker, int folder, const char *name)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec += (time_t)draw(worker, 20 * 86400) - 10 * 86400;
    const struct timespec times[2] = {now, now};
    (void)utimensat(folder, name, times, AT_SYMLINK_NOFOLLOW);
}

/* One file of some part. */
void cache_harm(struct worker *worker)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/pdl-rtc-2/%02x", directory, draw(worker, 256));
    DIR *files = opendir(path);
    const struct dirent *entry;
    if (files == NULL) {
        return;
    }
    while ((entry = readdir(files)) != NULL) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        switch (draw(worker, 4)) {
        case 0:
            damage(worker, dirfd(files), entry->d_name);
            break;
        case 1:
            (void)unlinkat(dirfd(files), entry->d_name, 0);
            break;
        default:
            age(worker, dirfd(files), entry->d_name);
            break;
        }
    }
    (void)closedir(files);
}
