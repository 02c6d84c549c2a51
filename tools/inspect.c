/* SPDX-License-Identifier: MIT */
/* pdltool inspect: what is known of each kernel in some device code. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common/demangle.h"
#include "common/input.h"
#include "common/memory.h"
#include "common/options.h"
#include "common/print.h"
#include "documents.h"

static void usage(void)
{
    (void)fputs("usage: pdltool inspect [OPTION...] FILE|DIRECTORY|-...\n"
                "\n"
                "Lists the kernels in PTX, cubins, fatbins, objects, archives, libraries and\n"
                "programs, once per architecture: whether they wait for the kernel before them\n"
                "and trigger the next one (Programmatic Dependent Launch), and which registers\n"
                "and shared memory they need. In a directory, every file that holds device code\n"
                "is read. - is standard input.\n"
                "\n"
                "  -k, --kernel GLOB  only kernels with this mangled or demangled name;\n"
                "                     repeatable\n"
                "      --arch ARCH    only code for this architecture, such as 90 or sm_90a;\n"
                "                     repeatable\n"
                "      --kind KIND    one of sass, ptx\n"
                "      --pdl          only kernels that wait or trigger\n"
                "      --summary      counts per architecture instead of kernels\n"
                "      --full-names   do not shorten template arguments\n"
                "      --json         write JSON\n"
                "\n"
                "Examples:\n"
                "  pdltool inspect --summary /usr/local/cuda/lib64/libcublasLt.so\n"
                "  pdltool inspect --pdl --arch 90 --kernel '*gemm*' build/app\n"
                "\n"
                "Exit status: 0; 1 if there is no kernel, or none matches --kernel, --arch,\n"
                "--kind or --pdl; 2 if an input could not be read, or it is unknown whether a\n"
                "kernel matches --pdl and none does.\n",
                stdout);
}

/* ---- which kernels ------------------------------------------------------------------------------ */

struct architecture {
    uint32_t number;
    char suffix; /* 'a' or 'f'; '\0': any */
};

struct patterns {
    const char **items;
    size_t count, capacity;
};

struct architectures {
    struct architecture *items;
    size_t count, capacity;
};

struct request {
    struct patterns names;
    struct architectures architectures;
    int32_t kind; /* pdl_inspect_kind; -1: any */
    bool pdl, summary, full_names, json;
};

/* 90, 90a, 9.0, sm_90a or compute_90. */
static bool read_architecture(const char *text, struct architectures *list)
{
    struct architecture made = {0, '\0'};
    const char *at = text;
    at += strncmp(at, "sm_", 3) == 0 ? 3 : strncmp(at, "compute_", 8) == 0 ? 8 : 0;
    for (int digits = 0; digits < 5 && (isdigit((unsigned char)*at) || *at == '.'); at++) {
        made.number = *at == '.' ? made.number : made.number * 10 + (uint32_t)(*at - '0');
        digits++;
    }
    if (*at == 'a' || *at == 'f') {
        made.suffix = *at++;
    }
    if (made.number < 10 || *at != '\0') {
        print_error("--arch takes an architecture such as 90 or sm_90a, not '%s'", text);
        return false;
    }
    APPEND(list, made);
    return true;
}

static bool has_architecture(const pdl_inspect_image *image, const struct architectures *list)
{
    bool matches = list->count == 0;
    for (size_t i = 0; i < list->count && !matches; i++) {
        const struct architecture *const wanted = &list->items[i];
        matches = image->target == (int32_t)wanted->number &&
                  (wanted->suffix == '\0' || wanted->suffix == image->target_suffix);
    }
    return matches;
}

static bool is_wanted(const void *context, const pdl_inspect_image *image,
                      const pdl_inspect_kernel *kernel)
{
    const struct request *const request = context;
    return (request->kind < 0 || image->kind == request->kind) &&
           (!request->pdl || kernel->info->waits == PDL_YES || kernel->info->triggers == PDL_YES) &&
           has_architecture(image, &request->architectures) &&
           (request->names.count == 0 ||
            name_matches(kernel->info->name, request->names.items, request->names.count));
}

/* ---- totals ------------------------------------------------------------------------------------- */

struct sum {
    int32_t target, kind;
    char suffix;
    uint64_t kernels, wait, trigger, neither, unknown;
};

struct sums {
    struct sum *items;
    size_t count, capacity;
    uint64_t found; /* before filters */
};

static void count_kernel(struct sum *sum, const pdl_kernel_info *info)
{
    const bool unknown = info->waits == PDL_UNKNOWN || info->triggers == PDL_UNKNOWN;
    sum->kernels++;
    sum->wait += info->waits == PDL_YES;
    sum->trigger += info->triggers == PDL_YES;
    sum->neither += info->waits == PDL_NO && info->triggers == PDL_NO;
    sum->unknown += unknown;
}

static struct sum *sum_of(struct sums *sums, const pdl_inspect_image *image)
{
    for (size_t i = sums->count; i-- > 0;) {
        struct sum *const sum = &sums->items[i];
        if (sum->target == image->target && sum->kind == image->kind &&
            sum->suffix == image->target_suffix) {
            return sum;
        }
    }
    const struct sum none = {
        .target = image->target, .kind = image->kind, .suffix = image->target_suffix};
    APPEND(sums, none);
    return &sums->items[sums->count - 1];
}

static struct sum total_of(const struct sums *sums)
{
    struct sum total = {.kind = -1};
    for (size_t i = 0; i < sums->count; i++) {
        total.kernels += sums->items[i].kernels;
        total.wait += sums->items[i].wait;
        total.trigger += sums->items[i].trigger;
        total.neither += sums->items[i].neither;
        total.unknown += sums->items[i].unknown;
    }
    return total;
}

static void print_total(const struct sum *total, uint64_t found)
{
    char *const kernels = format_count(found, "kernel", "kernels");
    char *const shown = format_count(total->kernels, "of", "of");
    char *const wait = format_count(total->wait, "waits", "wait");
    char *const trigger = format_count(total->trigger, "triggers", "trigger");
    char *const unknown = format_count(total->unknown, "unknown", "unknown");
    printf("%s%s%s: %s, %s", total->kernels < found ? shown : "", total->kernels < found ? " " : "",
           kernels, wait, trigger);
    if (total->unknown > 0) {
        printf(", %s", unknown);
    }
    (void)putchar('\n');
    free(kernels);
    free(shown);
    free(wait);
    free(trigger);
    free(unknown);
}

static void add_sum(struct table *table, const struct sum *sum, char *target, const char *kind)
{
    const uint64_t counts[] = {sum->kernels, sum->wait, sum->trigger, sum->neither, sum->unknown};
    table_add(table, target);
    table_add(table, copy_text(kind));
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        table_add(table, format_count(counts[i], "", ""));
    }
}

static int compare_sums(const void *a, const void *b)
{
    const struct sum *const left = a;
    const struct sum *const right = b;
    return left->target != right->target   ? (left->target < right->target ? -1 : 1)
           : left->suffix != right->suffix ? left->suffix - right->suffix
                                           : left->kind - right->kind;
}

static void print_summary(struct sums *sums)
{
    static const char *const headings[] = {"target",  "kind",    "kernels", "wait",
                                           "trigger", "neither", "unknown"};
    struct table table = {.headings = headings, .right = "llrrrrr"};
    if (sums->count > 0) {
        qsort(sums->items, sums->count, sizeof(*sums->items), compare_sums);
    }
    for (size_t i = 0; i < sums->count; i++) {
        const struct sum *const sum = &sums->items[i];
        const pdl_inspect_image image = {
            .target = sum->target, .kind = sum->kind, .target_suffix = sum->suffix};
        add_sum(&table, sum, target_name(&image), sum->kind == PDL_INSPECT_PTX ? "PTX" : "SASS");
    }
    if (sums->count > 0) {
        table_print(&table, stdout);
    }
    table_free(&table);
}

/* ---- kernels ------------------------------------------------------------------------------------ */

static char *number_or_dash(int64_t number)
{
    return number >= 0 ? format_count((unsigned long long)number, "", "") : copy_text("-");
}

static char *known_and_count(uint32_t known, uint32_t count)
{
    return known == PDL_YES && count > 1 ? format_text("yes, %u", (unsigned)count)
                                         : copy_text(known_name(known));
}

/* Whether code says something of the launches of a kernel that is shown. */
static bool any_bounds(const struct request *request, const pdl_inspection *inspection)
{
    bool any = false;
    for (size_t k = 0; k < pdl_inspection_kernel_count(inspection) && !any; k++) {
        const pdl_inspect_kernel *kernel = pdl_inspection_kernel(inspection, k);
        char *const text = bounds_text(kernel->info);
        any = strcmp(text, "-") != 0 &&
              is_wanted(request, pdl_inspection_image(inspection, kernel->image), kernel);
        free(text);
    }
    return any;
}

static void add_row(struct table *table, const pdl_inspect_image *image,
                    const pdl_inspect_kernel *kernel, bool bounds, bool full_names)
{
    table_add(table, target_name(image));
    table_add(table, copy_text(image->kind == PDL_INSPECT_PTX ? "PTX" : "SASS"));
    table_add(table, image->ptx_version > 0
                         ? format_text("%u.%u", image->ptx_version / 10u, image->ptx_version % 10u)
                         : copy_text("-"));
    table_add(table, known_and_count(kernel->info->waits, kernel->wait_count));
    table_add(table, known_and_count(kernel->info->triggers, kernel->trigger_count));
    table_add(table, number_or_dash(kernel->info->registers_per_thread));
    table_add(table, number_or_dash(kernel->info->static_shared_memory));
    if (bounds) {
        table_add(table, bounds_text(kernel->info));
    }
    table_add(table,
              full_names ? demangle(kernel->info->name) : demangle_brief(kernel->info->name));
}

static void print_input(const struct request *request, const struct input *input, bool named,
                        struct sums *sums)
{
    static const char *const headings[] = {"target",   "kind",      "PTX",    "waits",
                                           "triggers", "registers", "shared", "kernel"};
    static const char *const bounded[] = {"target",    "kind",   "PTX",    "waits", "triggers",
                                          "registers", "shared", "bounds", "kernel"};
    const bool bounds = any_bounds(request, input->inspection);
    struct table table = {.headings = bounds ? bounded : headings,
                          .right = bounds ? "llrllrrll" : "llrllrrl"};
    const size_t count = pdl_inspection_kernel_count(input->inspection);
    const uint64_t before = total_of(sums).kernels;
    sums->found += count;
    for (size_t k = 0; k < count; k++) {
        const pdl_inspect_kernel *kernel = pdl_inspection_kernel(input->inspection, k);
        const pdl_inspect_image *image = pdl_inspection_image(input->inspection, kernel->image);
        if (is_wanted(request, image, kernel)) {
            count_kernel(sum_of(sums, image), kernel->info);
            if (!request->summary) {
                add_row(&table, image, kernel, bounds, request->full_names);
            }
        }
    }
    if (named && !request->summary && (table.count > 0 || count == 0)) {
        print_line(stdout, "%s:%s", input->name, count > 0 ? "" : " no kernels");
    }
    if (table.count > 0) {
        table_print(&table, stdout);
    }
    if (!request->summary && (table.count > 0 || named) && total_of(sums).kernels > before) {
        (void)putchar('\n');
    }
    table_free(&table);
}

static bool print_text(const struct request *request, const struct inputs *inputs, bool *any)
{
    struct sums sums = {0};
    for (size_t i = 0; i < inputs->count; i++) {
        if (inputs->items[i].inspection != NULL) {
            print_input(request, &inputs->items[i], inputs->count > 1, &sums);
        }
    }
    const struct sum total = total_of(&sums);
    if (request->summary) {
        print_summary(&sums);
        (void)fputs(sums.count > 0 ? "\n" : "", stdout);
    }
    print_total(&total, sums.found);
    free(sums.items);
    *any = total.kernels > 0;
    return ferror(stdout) == 0;
}

/* ---- the command line --------------------------------------------------------------------------- */

/* Whether --pdl leaves out a kernel that may wait or trigger. */
static bool has_unknown(const struct request *request, const struct inputs *inputs)
{
    struct request any = *request;
    bool unknown = false;
    any.pdl = false;
    for (size_t i = 0; i < inputs->count; i++) {
        const pdl_inspection *const inspection = inputs->items[i].inspection;
        const size_t count = inspection != NULL ? pdl_inspection_kernel_count(inspection) : 0;
        for (size_t k = 0; k < count; k++) {
            const pdl_inspect_kernel *const kernel = pdl_inspection_kernel(inspection, k);
            unknown =
                unknown ||
                ((kernel->info->waits == PDL_UNKNOWN || kernel->info->triggers == PDL_UNKNOWN) &&
                 is_wanted(&any, pdl_inspection_image(inspection, kernel->image), kernel));
        }
    }
    return unknown;
}

static int inspect(const struct request *request, int count, char **arguments)
{
    pdl_inspect_options facts = PDL_INSPECT_OPTIONS_INIT;
    facts.flags = PDL_INSPECT_FACTS_ONLY;
    struct inputs inputs = {.options = &facts};
    for (int i = 0; i < count; i++) {
        inputs_read(&inputs, arguments[i]);
    }
    bool any = false;
    bool printed = request->json ? inspect_print_json(&inputs, is_wanted, request, &any)
                                 : print_text(request, &inputs, &any);
    int code = inputs.incomplete ? EXIT_USAGE : any ? EXIT_DONE : EXIT_FINDING;
    if (code == EXIT_FINDING && request->pdl && has_unknown(request, &inputs)) {
        print_error("no kernel is known to wait or trigger, and of some it is unknown");
        code = EXIT_USAGE;
    }
    if (!printed || fflush(stdout) != 0) {
        print_error("cannot write the report: %s", strerror(errno));
        code = EXIT_USAGE;
    }
    inputs_free(&inputs);
    return code;
}

enum { OPTION_ARCH = 256, OPTION_KIND, OPTION_PDL, OPTION_SUMMARY, OPTION_FULL_NAMES, OPTION_JSON };

static bool read_option(struct request *request, int option)
{
    static const char *const kinds[] = {"sass", "ptx", NULL};
    static const int32_t values[] = {PDL_INSPECT_SASS, PDL_INSPECT_PTX};
    int kind;
    switch (option) {
    case 'k':
        APPEND(&request->names, optarg);
        return true;
    case OPTION_ARCH:
        return read_architecture(optarg, &request->architectures);
    case OPTION_KIND:
        kind = parse_choice("kind", optarg, kinds);
        request->kind = kind >= 0 ? values[kind] : -1;
        return kind >= 0;
    case OPTION_PDL:
        request->pdl = true;
        return true;
    case OPTION_SUMMARY:
        request->summary = true;
        return true;
    case OPTION_FULL_NAMES:
        request->full_names = true;
        return true;
    case OPTION_JSON:
        request->json = true;
        return inspect_print_json != NULL || lacks_json("json");
    default:
        return false;
    }
}

/* An exit code, or -1 to go on. */
static int read_options(struct request *request, int argc, char **argv)
{
    static const struct option options[] = {{"kernel", required_argument, NULL, 'k'},
                                            {"arch", required_argument, NULL, OPTION_ARCH},
                                            {"kind", required_argument, NULL, OPTION_KIND},
                                            {"pdl", no_argument, NULL, OPTION_PDL},
                                            {"summary", no_argument, NULL, OPTION_SUMMARY},
                                            {"full-names", no_argument, NULL, OPTION_FULL_NAMES},
                                            {"json", no_argument, NULL, OPTION_JSON},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    int option;
    while ((option = next_option(argc, argv, "k:h", options)) != -1) {
        if (option == 'h') {
            usage();
            return EXIT_DONE;
        }
        if (!read_option(request, option)) {
            return EXIT_USAGE;
        }
    }
    if (request->json && request->summary) {
        print_misuse("--json and --summary exclude each other");
        return EXIT_USAGE;
    }
    if (optind == argc) {
        print_misuse("no input");
        return EXIT_USAGE;
    }
    return -1;
}

int command_inspect(int argc, char **argv)
{
    struct request request = {.kind = -1};
    int code = read_options(&request, argc, argv);
    if (code < 0) {
        code = inspect(&request, argc - optind, argv + optind);
    }
    free(request.names.items);
    free(request.architectures.items);
    return code;
}
