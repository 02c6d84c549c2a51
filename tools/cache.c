/* SPDX-License-Identifier: MIT */
/* pdltool cache: the folder where libpdl-rtc keeps what it compiled. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <pdl/rtc.h>

#include "commands.h"
#include "common/memory.h"
#include "common/options.h"
#include "common/print.h"
#include "common/suggest.h"
#include "documents.h"
#include "os/size_text.h"

struct arguments {
    const char *directory; /* NULL: the default cache's */
    bool json, remove;
    bool done; /* help was asked for */
};

/* What was seen while a folder was listed. */
struct listing {
    struct table table;
    unsigned long long files, damaged;
    bool damaged_only;
};

static void usage(void)
{
    (void)fputs("usage: pdltool cache list [--json] [--dir DIR]\n"
                "       pdltool cache verify [--remove] [--dir DIR]\n"
                "       pdltool cache trim SIZE [--dir DIR]\n"
                "       pdltool cache clear [--dir DIR]\n"
                "\n"
                "Manages the cache of kernels that libpdl-rtc compiles at run time.\n"
                "\n"
                "  list         list the cache entries: last use, size and kernels\n"
                "  verify       read every entry and report the damaged ones\n"
                "  trim SIZE    remove the entries used longest ago until at most SIZE bytes\n"
                "               remain; SIZE may end in K, M or G\n"
                "  clear        remove all entries\n"
                "\n"
                "      --dir DIR  the cache directory (default: that of programs, see\n"
                "                 'man pdltool-cache')\n"
                "      --json     list as JSON\n"
                "      --remove   remove the damaged entries that verify finds\n"
                "\n"
                "Examples:\n"
                "  pdltool cache list\n"
                "  pdltool cache trim 500M\n"
                "\n"
                "Exit status: 0; 1 if verify found damaged entries; 2 if the command line is\n"
                "wrong or the directory could not be read or written.\n",
                stdout);
}

/* ---- files ------------------------------------------------------------------------------------*/

static int fail(void)
{
    print_error("%s", pdl_last_error()->message);
    return EXIT_USAGE;
}

static char *date_of(int64_t seconds)
{
    char text[32] = "-";
    const time_t time = (time_t)seconds;
    struct tm parts;
    if (localtime_r(&time, &parts) != NULL) {
        (void)strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &parts);
    }
    return copy_text(text);
}

/* The first kernel, and how many there are besides. */
static char *kernels_of(const char *names)
{
    const size_t length = strcspn(names, "\n");
    size_t more = 0;
    for (const char *at = names + length; *at != '\0'; at++) {
        more += *at == '\n' && at[1] != '\0';
    }
    return more > 0 ? format_text("%.*s and %zu more", (int)length, names, more)
                    : format_text("%.*s", (int)length, names);
}

static void add_row(struct table *table, const pdl_rtc_file *file)
{
    table_add(table, date_of(file->used));
    table_add(table, format_count(file->bytes, "", ""));
    if (file->damage != NULL) {
        for (int i = 0; i < 3; i++) {
            table_add(table, copy_text("-"));
        }
        table_add(table, copy_text(file->name));
        table_add(table, format_text("damaged: %s", file->damage));
        return;
    }
    table_add(table, copy_text(file->target));
    table_add(table, copy_text(file->output == PDL_RTC_PTX ? "PTX" : "SASS"));
    table_add(table, format_text("%d.%d", (int)(file->compiler_version / 1000),
                                 (int)(file->compiler_version % 1000 / 10)));
    table_add(table, copy_text(file->program));
    table_add(table, kernels_of(file->kernels));
}

static int32_t visit(void *context, const pdl_rtc_file *file)
{
    struct listing *listing = context;
    listing->files++;
    listing->damaged += file->damage != NULL;
    if (!listing->damaged_only) {
        add_row(&listing->table, file);
    } else if (file->damage != NULL) {
        print_plain(stdout, file->name);
        printf(": ");
        print_plain(stdout, file->damage);
        (void)putchar('\n');
    }
    return 0;
}

/* ---- the commands -----------------------------------------------------------------------------*/

static void print_total(const struct listing *listing, uint64_t bytes)
{
    char *files = format_count(listing->files, "file", "files");
    char *size = format_count(bytes, "byte", "bytes");
    char *damaged = format_count(listing->damaged, "", "");
    printf("%s, %s, %s damaged\n", files, size, damaged);
    free(files);
    free(size);
    free(damaged);
}

static int list(const struct arguments *arguments)
{
    static const char *const headings[] = {"last used", "bytes",   "target", "form",
                                           "NVRTC",     "program", "kernels"};
    struct listing listing = {.table = {.headings = headings, .right = "lrlllll"}};
    uint64_t bytes = 0;
    if (arguments->json) {
        pdl_status listed;
        const bool written = cache_print_json(arguments->directory, &listed);
        return listed != PDL_SUCCESS ? fail() : written ? EXIT_DONE : EXIT_USAGE;
    }
    const pdl_status status = pdl_rtc_folder_list(arguments->directory, visit, &listing, &bytes);
    int code = status == PDL_SUCCESS ? EXIT_DONE : fail();
    if (status == PDL_SUCCESS) {
        if (listing.files > 0) {
            table_print(&listing.table, stdout);
        }
        print_total(&listing, bytes);
    }
    table_free(&listing.table);
    return code;
}

static int print_removed(uint64_t removed)
{
    char *text = format_count(removed, "file", "files");
    printf("%s removed\n", text);
    free(text);
    return EXIT_DONE;
}

static int verify(const struct arguments *arguments)
{
    struct listing listing = {.damaged_only = true};
    uint64_t bytes = 0;
    uint64_t removed = 0;
    if (pdl_rtc_folder_list(arguments->directory, visit, &listing, &bytes) != PDL_SUCCESS) {
        return fail();
    }
    print_total(&listing, bytes);
    if (listing.damaged == 0 || !arguments->remove) {
        return listing.damaged == 0 ? EXIT_DONE : EXIT_FINDING;
    }
    if (pdl_rtc_folder_trim(arguments->directory, 0, 1, &removed) != PDL_SUCCESS) {
        return fail();
    }
    (void)print_removed(removed);
    return EXIT_FINDING;
}

static int trim(const struct arguments *arguments, uint64_t capacity)
{
    uint64_t removed = 0;
    return pdl_rtc_folder_trim(arguments->directory, capacity, 0, &removed) == PDL_SUCCESS
               ? print_removed(removed)
               : fail();
}

/* ---- the command line -------------------------------------------------------------------------*/

static bool read_size(const char *text, uint64_t *size)
{
    const bool good = pdl_size_parse(text, UINT64_MAX, size);
    if (!good) {
        print_error("trim takes a size such as 500M or 2G, not '%s'", text);
    }
    return good;
}

static bool read_arguments(struct arguments *arguments, int argc, char **argv)
{
    static const struct option options[] = {{"dir", required_argument, NULL, 'd'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"remove", no_argument, NULL, 'r'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    int option;
    while ((option = next_option(argc, argv, "h", options)) != -1) {
        if (option == 'd') {
            arguments->directory = optarg;
        } else if (option == 'j') {
            arguments->json = true;
            if (cache_print_json == NULL) {
                return lacks_json("json");
            }
        } else if (option == 'r') {
            arguments->remove = true;
        } else if (option == 'h') {
            usage();
            arguments->done = true;
            return true;
        } else {
            return false;
        }
    }
    return true;
}

static int run(const struct arguments *arguments, int count, char **operands)
{
    const char *action = count > 0 ? operands[0] : "";
    const bool is_trim = strcmp(action, "trim") == 0;
    const char *wrong = NULL;
    uint64_t size = 0;
    if (is_trim && count != 2) {
        wrong = "trim needs a size";
    } else if (!is_trim && count > 1) {
        wrong = "one action at a time";
    } else if (arguments->json && strcmp(action, "list") != 0) {
        wrong = "--json is an option of list";
    } else if (arguments->remove && strcmp(action, "verify") != 0) {
        wrong = "--remove is an option of verify";
    } else if (strcmp(action, "list") == 0) {
        return list(arguments);
    } else if (strcmp(action, "verify") == 0) {
        return verify(arguments);
    } else if (strcmp(action, "clear") == 0) {
        return trim(arguments, 0);
    } else if (is_trim) {
        return read_size(operands[1], &size) ? trim(arguments, size) : EXIT_USAGE;
    } else {
        static const char *const actions[] = {"list", "verify", "trim", "clear"};
        const char *const close = suggest(action, actions, sizeof(actions) / sizeof(actions[0]));
        if (close != NULL) {
            print_error("unknown action '%s'; did you mean '%s'?", action, close);
            return EXIT_USAGE;
        }
        wrong = action[0] == '\0' ? "no action" : "unknown action";
    }
    print_misuse("%s", wrong);
    return EXIT_USAGE;
}

int command_cache(int argc, char **argv)
{
    struct arguments arguments = {0};
    int code = EXIT_USAGE;
    if (read_arguments(&arguments, argc, argv)) {
        code = arguments.done ? EXIT_DONE : run(&arguments, argc - optind, argv + optind);
    }
    return code;
}
