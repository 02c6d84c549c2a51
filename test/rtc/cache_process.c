/* SPDX-License-Identifier: MIT */
/* A process that uses a cache, for faults.py, which runs many of them:
 *
 *   cache_process FOLDER [--keys N] [--threads N] [--seed N] [--compiler IDENTITY] [--read-only]
 *                 [--milliseconds N] [--log FILE] [--source TEXT] [--word WORD] [--rounds N]
 *
 * It asks for N texts (or the one) in an order of its own, on each thread, and compares what comes. The last
 * line it prints is its statistics. It exits with 1 where an image is not its text's, or a call fails. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache_support.h"
#include "rtc/compiler.h"

static struct {
    const char *folder, *source, *word, *compiler;
    int keys, threads, seed, rounds;
    uint32_t flags;
} asked = {.compiler = "one", .keys = 1, .threads = 1, .rounds = 1};

static pdl_rtc_cache *cache;
static atomic_int failed;

static void ask(int number)
{
    char source[64];
    pdl_rtc_options options = PDL_RTC_OPTIONS_INIT;
    pdl_rtc_image *image = NULL;
    (void)snprintf(source, sizeof(source), "text %d", number);
    const char *text = asked.source != NULL ? asked.source : source;
    options.target = "compute_90";
    if (pdl_rtc_cache_compile(cache, "text.cu", text, &options, &image) != PDL_SUCCESS) {
        (void)fprintf(stderr, "%s: %s\n", text, pdl_last_error()->message);
        atomic_store(&failed, 1);
        return;
    }
    if (!cache_mock_made(image, text, asked.word)) {
        (void)fprintf(stderr, "%s: the image is another's\n", text);
        atomic_store(&failed, 1);
    }
    pdl_rtc_image_destroy(image);
}

static void *run(void *argument)
{
    unsigned state = (unsigned)asked.seed * 1000 + *(unsigned *)argument;
    for (int round = 0; round < asked.rounds; round++) {
        const int first = rand_r(&state) % asked.keys;
        for (int i = 0; i < asked.keys; i++) {
            ask((first + i) % asked.keys + round * asked.keys);
        }
    }
    return NULL;
}

static void print_stats(void)
{
    pdl_rtc_stats now = PDL_RTC_STATS_INIT;
    (void)pdl_rtc_cache_stats(cache, &now);
    (void)printf("memory_hits=%llu disk_hits=%llu misses=%llu waits=%llu damaged=%llu stored=%llu "
                 "store_failures=%llu evicted=%llu problem=%s\n",
                 (unsigned long long)now.memory_hits, (unsigned long long)now.disk_hits,
                 (unsigned long long)now.misses, (unsigned long long)now.waits,
                 (unsigned long long)now.damaged, (unsigned long long)now.stored,
                 (unsigned long long)now.store_failures, (unsigned long long)now.evicted,
                 now.problem);
}

static int usage(void)
{
    (void)fprintf(stderr, "cache_process: see the head of its source\n");
    return 2;
}

static bool parse(int count, char **arguments)
{
    asked.folder = arguments[1];
    for (int i = 2; i < count; i++) {
        const char *name = arguments[i];
        if (strcmp(name, "--read-only") == 0) {
            asked.flags = PDL_RTC_CACHE_READ_ONLY;
            continue;
        }
        if (++i == count) {
            return false;
        }
        const char *value = arguments[i];
        const int number = (int)strtol(value, NULL, 10);
        if (strcmp(name, "--keys") == 0) {
            asked.keys = number;
        } else if (strcmp(name, "--threads") == 0) {
            asked.threads = number;
        } else if (strcmp(name, "--seed") == 0) {
            asked.seed = number;
        } else if (strcmp(name, "--rounds") == 0) {
            asked.rounds = number;
        } else if (strcmp(name, "--compiler") == 0) {
            asked.compiler = value;
        } else if (strcmp(name, "--milliseconds") == 0) {
            cache_mock.milliseconds = number;
        } else if (strcmp(name, "--log") == 0) {
            cache_mock.log_path = value;
        } else if (strcmp(name, "--source") == 0) {
            asked.source = value;
        } else if (strcmp(name, "--word") == 0) {
            asked.word = value;
        } else {
            return false;
        }
    }
    return true;
}

int main(int count, char **arguments)
{
    enum { MOST = 64 };
    pthread_t threads[MOST];
    unsigned numbers[MOST];
    pdl_rtc_cache_desc desc = PDL_RTC_CACHE_DESC_INIT;
    if (count < 2 || !parse(count, arguments) || asked.threads > MOST || asked.keys < 1) {
        return usage();
    }
    cache_mock_start(13000, asked.compiler);
    desc.directory = asked.folder;
    desc.flags = asked.flags;
    if (pdl_rtc_cache_create(&desc, &cache) != PDL_SUCCESS) {
        (void)printf("error=%s\n", pdl_last_error()->message);
        return 3;
    }
    for (int i = 0; i < asked.threads; i++) {
        numbers[i] = (unsigned)i;
        if (pthread_create(&threads[i], NULL, run, &numbers[i]) != 0) {
            return 2;
        }
    }
    for (int i = 0; i < asked.threads; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    print_stats();
    pdl_rtc_cache_destroy(cache);
    pdl_rtc_compiler_override(NULL);
    return atomic_load(&failed);
}
