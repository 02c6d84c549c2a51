/* SPDX-License-Identifier: MIT */
/* Prints what libpdl reads of the kernels of this program, and of the shared objects that are named:
 * PREFIX:FILE opens one, and -PREFIX closes it again. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "code/object.h"

struct symbol {
    const void *stub;
    const char *name;
};
typedef const struct symbol *(*get_symbols)(void);

extern const struct symbol *own_symbols(void) __attribute__((weak));

static void print(const char *prefix, get_symbols get, uint32_t version)
{
    static const char *const known[] = {"unknown", "no", "yes"};
    const struct pdl_object_code code = {
        .capability = 90, .ptx_version = version, .binary_version = 90};
    for (const struct symbol *symbol = get(); symbol->stub != NULL; symbol++) {
        const struct pdl_scan_answer answer = pdl_object_scan(symbol->stub, symbol->name, &code);
        printf("%s %s waits=%s triggers=%s (%s)\n", prefix, symbol->name, known[answer.waits],
               known[answer.triggers], pdl_why_string(answer.why));
    }
}

int main(int argc, char **argv)
{
    const char *const given = getenv("PTX_VERSION");
    const uint32_t version = given != NULL ? (uint32_t)strtoul(given, NULL, 10) : 90;
    void *opened[256] = {NULL};
    if (own_symbols != NULL) {
        print("own", own_symbols, version);
    }
    for (int i = 1; i < argc; i++) {
        char *const file = strchr(argv[i], ':');
        char name[64];
        if (argv[i][0] == '-') {
            (void)dlclose(opened[(unsigned char)argv[i][1]]);
            continue;
        }
        *file = '\0';
        void *const handle = dlopen(file + 1, RTLD_NOW | RTLD_LOCAL);
        (void)snprintf(name, sizeof(name), "%s_symbols", argv[i]);
        get_symbols get = NULL;
        *(void **)&get = handle != NULL ? dlsym(handle, name) : NULL;
        if (get == NULL) {
            (void)fprintf(stderr, "%s\n", dlerror());
            return 2;
        }
        opened[(unsigned char)argv[i][0]] = handle;
        (void)unlink(getenv("UNLINK") != NULL ? file + 1 : "");
        print(argv[i], get, version);
    }
    return 0;
}
