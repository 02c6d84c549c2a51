/* SPDX-License-Identifier: MIT */
/* pdltool overlap: whether a kernel's blocks can run beside those of the kernel before it. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common/input.h"
#include "common/memory.h"
#include "common/options.h"
#include "common/print.h"
#include "overlap/spec.h"

static void usage(void)
{
    (void)fputs("usage: pdltool overlap [OPTION...] --primary KERNEL --secondary KERNEL [FILE...]\n"
                "\n"
                "Says whether blocks of the secondary can run while the primary, which is\n"
                "launched before it, still runs (Programmatic Dependent Launch): what an SM has\n"
                "room for, every condition, and what would have to shrink. Needs no device.\n"
                "\n"
                "KERNEL is KEY=VALUE,... or, with FILE, NAME[,KEY=VALUE...]: registers, static\n"
                "shared memory, clusters, limits of launches, waits and triggers then come from\n"
                "the code. Without FILE, both kernels wait and trigger.\n"
                "\n"
                "  blocks=N or grid=XxYxZ    grid of the launch\n"
                "  threads=N or block=XxYxZ  threads per block\n"
                "  registers=N               registers per thread\n"
                "  shared=BYTES              static shared memory per block, such as 48K\n"
                "  dynamic=BYTES             dynamic shared memory per block\n"
                "  carveout=PERCENT          preferred share of shared memory (default: the\n"
                "                            choice of the driver)\n"
                "  cluster=N                 blocks per cluster (default: as compiled in)\n"
                "\n"
                "  --primary KERNEL    the kernel that is launched first\n"
                "  --secondary KERNEL  the kernel that is launched after it\n"
                "  --device NAME       one of h200, or X.Y:SMS as below (default: h200)\n"
                "  --json              write JSON\n"
                "\n"
                "Devices:\n",
                stdout);
    overlap_device_list(stdout);
    (void)fputs("\n"
                "Examples:\n"
                "  pdltool overlap --primary blocks=264,threads=512,registers=64 \\\n"
                "      --secondary blocks=264,threads=128,registers=32\n"
                "  pdltool overlap app --primary fc1,blocks=264,threads=512 \\\n"
                "      --secondary fc2,blocks=264,threads=128,dynamic=16K --device 10.0:148\n"
                "\n"
                "Exit status: 0 if blocks can overlap; 1 if they cannot; 2 if it is unknown, the\n"
                "command line is wrong or a file could not be read.\n",
                stdout);
}

enum { INDENT = 2 }; /* of the lines of a sentence after the first */

/* ---- text ----------------------------------------------------------------------------------- */

static char *number(uint64_t value)
{
    return format_count(value, "", "");
}

static char *number_or_dash(int32_t value)
{
    return value >= 0 ? number((uint64_t)value) : copy_text("-");
}

static void print_kernel(const struct overlap_spec *spec, uint32_t per_sm)
{
    const struct pdl_overlap_side *side = &spec->side;
    char *const blocks = format_count(side->blocks, "block", "blocks");
    char *const bytes = number(side->block.shared_memory);
    char *const needs =
        side->block_known
            ? format_text("; %u registers per thread and %s bytes of shared memory per "
                          "block; %u per SM",
                          side->block.registers, bytes, per_sm)
            : copy_text("");
    char *const clusters =
        side->cluster > 1 ? format_text(" in clusters of %u", side->cluster) : copy_text("");
    char *const text =
        format_text("%s: %s%s%s%s, %s of %u threads%s%s", spec->role, spec->name,
                    spec->origin != NULL ? " (" : "", spec->origin != NULL ? spec->origin : "",
                    spec->origin != NULL ? ")" : "", blocks, side->block.threads, clusters, needs);
    print_wrapped(stdout, 0, INDENT, text);
    free(blocks);
    free(bytes);
    free(needs);
    free(clusters);
    free(text);
}

static void print_wave(const pdl_overlap_report *report)
{
    if (report->primary_waves == 0) {
        return;
    }
    char *const last = format_count(report->last_wave, "block", "blocks");
    char *const rest = report->idle_sms > 0 ? format_text(", %u idle", report->idle_sms)
                       : report->fewest_on_sm < report->most_on_sm
                           ? format_text(", %u on each of the others", report->fewest_on_sm)
                           : copy_text("");
    char *const text =
        format_text("last wave of the primary (wave %u): %s, %u on each of %u SMs%s",
                    report->primary_waves, last, report->most_on_sm, report->sms_with_most, rest);
    print_wrapped(stdout, 0, INDENT, text);
    free(last);
    free(rest);
    free(text);
}

/* What is not met first, then what is not known. */
static void print_conditions(const pdl_overlap_report *report)
{
    static const uint32_t order[] = {PDL_NO, PDL_UNKNOWN, PDL_YES};
    static const char *const words[] = {"?", "NO", "yes"};
    (void)puts("\nconditions:");
    for (size_t o = 0; o < sizeof(order) / sizeof(order[0]); o++) {
        for (uint32_t i = 0; i < report->condition_count; i++) {
            const pdl_condition_report *const condition = &report->conditions[i];
            if (condition->met == order[o]) {
                const int begin = printf("  %-3s  %-14s  ", words[condition->met],
                                         pdl_condition_name((pdl_condition)condition->condition));
                print_wrapped(stdout, begin, begin, condition->message);
            }
        }
    }
}

static void print_resources(const pdl_overlap_report *report)
{
    static const char *const headings[] = {"per SM",    "total", "primary", "left",
                                           "secondary", "fit",   "sec. <=", "prim. <="};
    struct table table = {.headings = headings, .right = "lrrrrrrr"};
    for (uint32_t i = 0; i < report->resource_count; i++) {
        const pdl_resource_report *resource = &report->resources[i];
        if (!resource->known) {
            continue;
        }
        table_add(&table, copy_text(pdl_condition_name((pdl_condition)resource->condition)));
        table_add(&table, number(resource->capacity));
        table_add(&table, number(resource->primary_block));
        table_add(&table, number(resource->left));
        table_add(&table, number(resource->secondary_block));
        table_add(&table, resource->fit < UINT32_MAX ? number(resource->fit) : copy_text("any"));
        table_add(&table, number_or_dash(resource->secondary_at_most));
        table_add(&table, number_or_dash(resource->primary_at_most));
    }
    if (table.count > 0) {
        (void)putchar('\n');
        table_print(&table, stdout);
        (void)puts(
            "primary, secondary: what a block takes. fit: blocks of the secondary beside the\n"
            "last wave. <=: one more fits if that kernel needs at most this (threads per\n"
            "block, registers per thread, bytes of shared memory per block).");
    }
    table_free(&table);
}

static bool print_text(const struct pdl_overlap_input *input, const struct overlap_spec specs[2],
                       const pdl_overlap_report *report)
{
    static const char *const answers[] = {"unknown", "no", "yes"};
    (void)printf("overlap: %s; early launch: %s\n", answers[report->overlap],
                 answers[report->early_launch]);
    print_wrapped(stdout, 0, 0, report->message);
    (void)putchar('\n');
    print_line(stdout, "device: %s, compute capability %d.%d, %u SMs", input->device_name,
               input->sm.compute_capability / 10, input->sm.compute_capability % 10, input->sms);
    print_kernel(&specs[0], report->primary_per_sm);
    print_kernel(&specs[1], report->secondary_per_sm);
    print_wave(report);
    print_resources(report);
    print_conditions(report);
    return ferror(stdout) == 0;
}

/* ---- the command ---------------------------------------------------------------------------- */

struct request {
    const char *device;
    const char *texts[2];
    bool (*print)(const struct pdl_overlap_input *input, const struct overlap_spec specs[2],
                  const pdl_overlap_report *report);
};

/* Reads what was asked for; an exit code, or -1 to go on. */
static int read_options(int argc, char **argv, struct request *request)
{
    static const struct option options[] = {
        {"primary", required_argument, NULL, 'p'}, {"secondary", required_argument, NULL, 's'},
        {"device", required_argument, NULL, 'd'},  {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};
    int option;
    while ((option = next_option(argc, argv, "h", options)) != -1) {
        switch (option) {
        case 'p':
            request->texts[0] = optarg;
            break;
        case 's':
            request->texts[1] = optarg;
            break;
        case 'd':
            request->device = optarg;
            break;
        case 'j':
            request->print = overlap_print_json;
            if (request->print == NULL) {
                (void)lacks_json("json");
                return EXIT_USAGE;
            }
            break;
        case 'h':
            usage();
            return EXIT_DONE;
        default:
            return EXIT_USAGE;
        }
    }
    if (request->texts[0] == NULL || request->texts[1] == NULL) {
        print_misuse("no %s", request->texts[0] == NULL ? "--primary" : "--secondary");
        return EXIT_USAGE;
    }
    return -1;
}

/* Both kernels, from the command line and, if there are any, from the files. */
static bool read_kernels(const struct request *request, const struct inputs *inputs,
                         int32_t capability, struct overlap_spec specs[2])
{
    bool good = true;
    for (int i = 0; i < 2; i++) { /* what is wrong with either is reported at once */
        good = overlap_spec_read(request->texts[i], &specs[i]) &&
               (inputs->count == 0 || overlap_spec_find(inputs, capability, &specs[i])) &&
               overlap_spec_finish(&specs[i]) && good;
    }
    return good;
}

static int answer(const struct request *request, const struct inputs *inputs,
                  struct overlap_spec specs[2])
{
    struct pdl_overlap_input input = {.device = -1, .requested = true, .same_stream = PDL_YES};
    pdl_overlap_report report = PDL_OVERLAP_REPORT_INIT;
    if (!overlap_device_find(request->device, &input) ||
        !read_kernels(request, inputs, input.sm.compute_capability, specs)) {
        return EXIT_USAGE;
    }
    input.primary = specs[0].side;
    input.secondary = specs[1].side;
    pdl_overlap_judge(&input, &report);
    if (!request->print(&input, specs, &report) || fflush(stdout) != 0) {
        print_error("cannot write the report: %s", strerror(errno));
        return EXIT_USAGE;
    }
    return report.overlap == PDL_YES  ? EXIT_DONE
           : report.overlap == PDL_NO ? EXIT_FINDING
                                      : EXIT_USAGE;
}

int command_overlap(int argc, char **argv)
{
    struct request request = {.device = "h200", .print = print_text};
    struct overlap_spec specs[2] = {{.role = "primary"}, {.role = "secondary"}};
    int code = read_options(argc, argv, &request);
    if (code >= 0) {
        return code;
    }
    pdl_inspect_options facts = PDL_INSPECT_OPTIONS_INIT;
    facts.flags = PDL_INSPECT_FACTS_ONLY;
    struct inputs inputs = {.options = &facts};
    for (int i = optind; i < argc; i++) {
        inputs_read(&inputs, argv[i]);
    }
    code = inputs.incomplete ? EXIT_USAGE : answer(&request, &inputs, specs);
    overlap_spec_free(&specs[0]);
    overlap_spec_free(&specs[1]);
    inputs_free(&inputs);
    return code;
}
