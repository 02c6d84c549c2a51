/* SPDX-License-Identifier: MIT */
/* A process that uses a cache, for faults.py, which runs many of them:
 *
 *   cache_process FOLDER [--keys N] [--threads N] [--seed N] [--milliseconds N] [--log FILE] [--rounds N]
 *
 * It asks for N texts in an order of its own, on each thread, and compares what comes. The last line it prints is its
 * statistics. It exits with 1 where an image is not its text's, or a call fails. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache_support.h"
#include "rtc/compiler.h"

static struct {
    const char *folder;
    int keys, threads, seed, rounds;
} asked = {.keys = 1, .threads = 1, .rounds = 1};

static pdl_rtc_cache *cache;
static atomic_int failed;

static void ask(int number)
{
    char source[64];
    pdl_rtc_options options = PDL_RTC_OPTIONS_INIT;
    pdl_rtc_image *image = NULL;
    (void)snprintf(source, sizeof(source), "text %d", number);
    options.target = "compute_90";
    if (pdl_rtc_cache_compile(cache, "text.cu", source, &options, &image) != PDL_SUCCESS) {
        (void)fprintf(stderr, "%s: %s\n", source, pdl_last_error()->message);
        atomic_store(&failed, 1);
        return;
    }
    if (!cache_mock_made(image, source, NULL)) {
        (void)fprintf(stderr, "%s: the image is another's\n", source);
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
    const struct {
        const char *name;
        int *number;
    } numbers[] = {{"--keys", &asked.keys},
                   {"--threads", &asked.threads},
                   {"--seed", &asked.seed},
                   {"--rounds", &asked.rounds},
                   {"--milliseconds", &cache_mock.milliseconds}};
    asked.folder = arguments[1];
    for (int i = 2; i + 1 < count; i += 2) {
        bool known = strcmp(arguments[i], "--log") == 0;
        if (known) {
            cache_mock.log_path = arguments[i + 1];
        }
        for (size_t n = 0; n < sizeof(numbers) / sizeof(numbers[0]); n++) {
            if (strcmp(arguments[i], numbers[n].name) == 0) {
                *numbers[n].number = (int)strtol(arguments[i + 1], NULL, 10);
                known = true;
            }
        }
        if (!known) {
            return false;
        }
    }
    return count % 2 == 0;
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
    cache_mock_start(13000, "one");
    desc.directory = asked.folder;
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
