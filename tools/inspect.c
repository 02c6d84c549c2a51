/* SPDX-License-Identifier: MIT */
/* pdltool inspect: what is known of each kernel in some device code. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common/demangle.h"
#include "common/input.h"
#include "common/memory.h"
#include "common/print.h"
#ifdef PDL_HAVE_JANSSON
#include "common/json.h"
#endif

static void usage(FILE *to)
{
    (void)fputs(
        "usage: pdltool inspect [--json] FILE|DIRECTORY|-...\n\n"
        "Shows, for each kernel and architecture in PTX, cubins, fatbins, objects, archives,\n"
        "libraries and programs, whether the code waits for the kernel before it and triggers the\n"
        "next one (Programmatic Dependent Launch), and what it needs. `-` is standard input. In a\n"
        "directory, every file that holds device code is read.\n\n"
        "  --json  the same as JSON; docs/lint.md describes it\n\n"
        "Exits with 2 where something could not be read.\n",
        to);
}

static char *number_or_dash(int64_t number)
{
    return number >= 0 ? format_count((unsigned long long)number, "", "") : copy_text("-");
}

static char *known_and_count(uint32_t known, uint32_t count)
{
    return known == PDL_YES && count > 1 ? format_text("yes, %u times", (unsigned)count)
                                         : copy_text(known_name(known));
}

static void add_row(struct table *table, const pdl_inspect_image *image,
                    const pdl_inspect_kernel *kernel)
{
    table_add(table, target_name(image));
    table_add(table, copy_text(image->kind == PDL_INSPECT_PTX ? "PTX" : "SASS"));
    table_add(table, known_and_count(kernel->info->waits, kernel->wait_count));
    table_add(table, known_and_count(kernel->info->triggers, kernel->trigger_count));
    table_add(table, image->ptx_version > 0
                         ? format_text("%u.%u", image->ptx_version / 10u, image->ptx_version % 10u)
                         : copy_text("-"));
    table_add(table, number_or_dash(kernel->info->registers_per_thread));
    table_add(table, number_or_dash(kernel->info->static_shared_memory));
    table_add(table, demangle(kernel->info->name));
}

static bool print_tables(const struct inputs *inputs)
{
    static const char *const headings[] = {"target", "kind",      "waits",  "triggers",
                                           "PTX",    "registers", "shared", "kernel"};
    bool first = true;
    for (size_t i = 0; i < inputs->count; i++) {
        const struct input *input = &inputs->items[i];
        struct table table = {.headings = headings, .right = "llllrrrl"};
        const size_t count =
            input->inspection != NULL ? pdl_inspection_kernel_count(input->inspection) : 0;
        for (size_t k = 0; k < count; k++) {
            const pdl_inspect_kernel *kernel = pdl_inspection_kernel(input->inspection, k);
            add_row(&table, pdl_inspection_image(input->inspection, kernel->image), kernel);
        }
        if (inputs->count > 1 && input->inspection != NULL) {
            (void)fputs(first ? "" : "\n", stdout);
            print_plain(stdout, input->name);
            (void)fputs(count > 0 ? ":\n" : ": no kernels\n", stdout);
            first = false;
        }
        if (count > 0) {
            table_print(&table, stdout);
        }
        table_free(&table);
    }
    return ferror(stdout) == 0;
}

#ifdef PDL_HAVE_JANSSON
static bool print_json(const struct inputs *inputs)
{
    json_t *root = json_document(inputs);
    json_set(root, "kernels", json_kernels(inputs));
    return json_print(root);
}
#endif

int command_inspect(int argc, char **argv)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    bool (*print)(const struct inputs *inputs) = print_tables;
    int option;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == 'j') {
#ifdef PDL_HAVE_JANSSON
            print = print_json;
#else
            (void)fputs("pdltool inspect: --json is not in this build, which was made without the "
                        "JSON library jansson\n",
                        stderr);
            return EXIT_USAGE;
#endif
        } else if (option == 'h') {
            usage(stdout);
            return EXIT_DONE;
        } else {
            (void)fputs("`pdltool inspect --help` tells the options\n", stderr);
            return EXIT_USAGE;
        }
    }
    if (optind == argc) {
        (void)fputs("pdltool inspect: nothing to read; `pdltool inspect --help` tells how\n",
                    stderr);
        return EXIT_USAGE;
    }
    pdl_inspect_options facts = PDL_INSPECT_OPTIONS_INIT;
    facts.flags = PDL_INSPECT_FACTS_ONLY;
    struct inputs inputs = {.options = &facts};
    for (int i = optind; i < argc; i++) {
        inputs_read(&inputs, argv[i]);
    }
    int code = inputs.incomplete ? EXIT_USAGE : EXIT_DONE;
    if (!print(&inputs) || fflush(stdout) != 0) {
        print_line(stderr, "pdltool inspect: the report could not be written: %s", strerror(errno));
        code = EXIT_USAGE;
    }
    inputs_free(&inputs);
    return code;
}
