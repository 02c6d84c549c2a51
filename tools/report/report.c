/* SPDX-License-Identifier: MIT */
/* pdltool report: starts the program in Python that makes pages of measurements, and more of them. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "common/memory.h"
#include "common/print.h"

#ifndef PDL_REPORT_DATADIR
#define PDL_REPORT_DATADIR "share"
#endif

int command_report(int argc, char **argv)
{
    static char python[] = "python3";
    static char no_cache[] = "-B"; /* nothing is written beside the program */
    char own[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
    own[length > 0 ? length : 0] = '\0';
    const char *const slash = strrchr(own, '/');
    const int folder = slash != NULL ? (int)(slash - own) : 0;
    char *const program = format_text("%.*s/../" PDL_REPORT_DATADIR "/pdl/report", folder, own);
    char **const words = allocate((size_t)argc + 5, sizeof(*words));
    if (access(program, R_OK) != 0) {
        print_error("%s: %s; it is installed with pdltool", program, strerror(errno));
    } else {
        size_t count = 0;
        words[count++] = python;
        words[count++] = no_cache;
        words[count++] = program;
        words[count++] = own; /* what it runs for predictions */
        for (int i = 1; i < argc; i++) {
            words[count++] = argv[i];
        }
        (void)execvp(python, words);
        print_error("report needs Python 3: %s; apt install python3-matplotlib", strerror(errno));
    }
    free(words);
    free(program);
    return EXIT_USAGE;
}
