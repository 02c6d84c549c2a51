/* SPDX-License-Identifier: MIT */
/* What the first question about a symbol costs: reading the object that it is in. Prints JSON lines: of
 * this program's own kernels, if first_use.py has made some; or of libraries, by their files. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "code/object.h"

struct symbol {
    const void *stub;
    const char *name;
};

extern const struct symbol *own_symbols(void) __attribute__((weak));

static const struct pdl_object_code device = {
    .capability = 90, .ptx_version = 90, .binary_version = 90};

static double now_ms(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

/* Memory of its own, without files that are mapped. */
static long own_kib(void)
{
    long total = 0;
    long resident = 0;
    long shared = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    const int count = file != NULL ? fscanf(file, "%ld %ld %ld", &total, &resident, &shared) : 0;
    if (file != NULL) {
        (void)fclose(file);
    }
    return count == 3 ? (resident - shared) * 4 : -1;
}

static void measure(const char *what, const void *stub, const char *first, const char *second)
{
    const long before = own_kib();
    const double start = now_ms();
    const struct pdl_scan_answer answer = pdl_object_scan(stub, first, &device);
    const double middle = now_ms();
    (void)pdl_object_scan(stub, second, &device);
    const double end = now_ms();
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    printf("{\"object\": \"%s\", \"first_ms\": %.3f, \"next_us\": %.2f, \"own_kib\": %ld, "
           "\"peak_resident_kib\": %ld, \"waits\": %d, \"why\": \"%s\"}\n",
           what, middle - start, 1e3 * (end - middle), own_kib() - before, usage.ru_maxrss,
           (int)answer.waits, pdl_why_string(answer.why));
}

int main(int argc, char **argv)
{
    if (own_symbols != NULL && argc > 1) {
        const struct symbol *symbols = own_symbols();
        measure(argv[1], symbols[0].stub, symbols[0].name, symbols[1].name);
        return 0;
    }
    for (int i = 1; i < argc; i++) {
        struct stat about;
        const struct link_map *const opened = dlopen(argv[i], RTLD_LAZY | RTLD_LOCAL);
        const char *const slash = strrchr(argv[i], '/');
        char what[256];
        if (opened == NULL || stat(argv[i], &about) != 0) {
            (void)fprintf(stderr, "%s\n", dlerror());
            return 2;
        }
        (void)snprintf(what, sizeof(what), "%s, %lld MB", slash != NULL ? slash + 1 : argv[i],
                       (long long)about.st_size / 1000000);
        measure(what, opened->l_ld, "no_such_kernel", "nor_this");
    }
    return 0;
}
