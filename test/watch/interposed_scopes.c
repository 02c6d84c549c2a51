/* SPDX-License-Identifier: MIT */
/* What dlsym() finds depends on who calls it, whoever stands in between. The arguments are two libraries of
 * interposed_next.c; without arguments both were preloaded. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int failures;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)printf("%s:%d: %s is wrong\n", __FILE__, __LINE__, #condition);                  \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

/* Both were preloaded, behind the library that is tested. */
static int check_preloaded(void)
{
    int (*next)(void *) = NULL;
    *(void **)&next = dlsym(RTLD_DEFAULT, "cutest_next");
    CHECK(next != NULL && next(RTLD_DEFAULT) == 1 && next(RTLD_NEXT) == 2);
    return failures != 0;
}

int main(int argc, char **argv)
{
    int (*next_of_first)(void *) = NULL;
    int (*next_of_second)(void *) = NULL;
    if (argc == 1) {
        return check_preloaded();
    }
    CHECK(dlsym(RTLD_DEFAULT, "cutest_which") == NULL);
    const char *why = dlerror();
    CHECK(why != NULL && strstr(why, "cutest_which") != NULL);
    CHECK(dlsym(RTLD_DEFAULT, "cuLaunchKernel") == NULL); /* there is no driver */
    why = dlerror();
    CHECK(why != NULL && strstr(why, "cuLaunchKernel") != NULL);
    CHECK(dlsym(dlopen(NULL, RTLD_NOW), "cuLaunchKernelEx") == NULL);
    CHECK(dlerror() != NULL);
    CHECK(dlsym(RTLD_DEFAULT, "printf") != NULL);
    CHECK(dlerror() == NULL);
    void *const local = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    CHECK(local != NULL);
    *(void **)&next_of_first = dlsym(local, "cutest_next");
    /* A library that was opened for itself alone sees itself, and the program does not see it. */
    CHECK(next_of_first != NULL && next_of_first(RTLD_DEFAULT) == 1);
    CHECK(dlsym(RTLD_DEFAULT, "cutest_which") == NULL);
    CHECK(next_of_first(RTLD_NEXT) == 0);
    void *const global = dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL);
    CHECK(global != NULL);
    *(void **)&next_of_second = dlsym(global, "cutest_next");
    CHECK(next_of_second != NULL && next_of_second != next_of_first);
    CHECK(next_of_second(RTLD_DEFAULT) == 2);
    CHECK(next_of_second(global) == 2 && next_of_second(local) == 1);
    return failures != 0;
}
