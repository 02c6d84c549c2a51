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
#include "common/print.h"
#include "overlap/spec.h"

static void usage(FILE *to)
{
    (void)fputs(
        "usage: pdltool overlap [OPTION...] --primary KERNEL --secondary KERNEL [FILE...]\n\n"
        "Tells whether blocks of the secondary can run while the primary, which is launched\n"
        "before it, still does (Programmatic Dependent Launch): every condition, what an SM has\n"
        "room for, and what would have to shrink. Needs no device.\n\n"
        "KERNEL is KEY=VALUE,..., or with files NAME[,KEY=VALUE...] to take from the code what is\n"
        "known there: registers, static shared memory, waits and triggers.\n\n"
        "  blocks=N or grid=XxYxZ     blocks of the launch\n"
        "  threads=N or block=XxYxZ   threads of a block\n"
        "  registers=N                of a thread\n"
        "  shared=BYTES, dynamic=BYTES  static and dynamic shared memory of a block; 48K is 49152\n"
        "  carveout=PERCENT           the preferred share of shared memory; else the driver "
        "chooses\n"
        "  barriers=N                 that a block names, 0 to 16\n"
        "  cluster=N                  blocks of a cluster\n"
        "  cooperative=yes|no, overlap=yes|no  of the launch: no, yes\n"
        "  waits=yes|no|unknown, triggers=yes|no|unknown, code=9.0  without files: yes, yes, "
        "9.0\n\n"
        "  --device NAME  one of these, or the number of a device of this machine; h200\n"
        "  --json         the same as JSON; docs/overlap.md describes it\n\n",
        to);
    overlap_device_list(to);
    (void)fputs(
        "\nExits with 0 where blocks can overlap, or that cannot be known, with 1 where they "
        "cannot,\nand with 2 where the command line is wrong or something could not be "
        "read.\n",
        to);
}

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
    char *blocks = format_count(side->blocks, "block", "blocks");
    (void)printf("%s: ", spec->role);
    print_plain(stdout, spec->name);
    (void)printf(", %s of %u threads", blocks, side->block.threads);
    if (side->block_known) {
        char *bytes = number(side->block.shared_memory);
        (void)printf(", %u registers, %s bytes of shared memory: %u on an SM",
                     side->block.registers, bytes, per_sm);
        free(bytes);
    }
    if (spec->origin != NULL) {
        (void)fputs(" (", stdout);
        print_plain(stdout, spec->origin);
        (void)putchar(')');
    }
    (void)putchar('\n');
    free(blocks);
}

static void print_wave(const pdl_overlap_report *report)
{
    if (report->primary_waves == 0) {
        return;
    }
    char *last = format_count(report->last_wave, "block", "blocks");
    (void)printf("the primary's last wave, of %u: %s, %u on each of %u SMs", report->primary_waves,
                 last, report->most_on_sm, report->sms_with_most);
    if (report->idle_sms > 0) {
        (void)printf(", %u idle", report->idle_sms);
    } else if (report->fewest_on_sm < report->most_on_sm) {
        (void)printf(", %u on the others", report->fewest_on_sm);
    }
    (void)putchar('\n');
    free(last);
}

static void print_conditions(const pdl_overlap_report *report)
{
    static const char *const words[] = {"?", "NO", "yes"};
    for (uint32_t i = 0; i < report->condition_count; i++) {
        const pdl_condition_report *condition = &report->conditions[i];
        (void)printf("  %-3s  %-15s ", words[condition->met],
                     pdl_condition_name((pdl_condition)condition->condition));
        print_plain(stdout, condition->message);
        (void)putchar('\n');
    }
}

static void print_resources(const pdl_overlap_report *report)
{
    static const char *const headings[] = {
        "of an SM",          "it has", "a primary block", "left",
        "a secondary block", "fit",    "one more with",   "or primary with"};
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
        (void)puts("  one more with: a secondary, or a primary, of at most so many threads a "
                   "block, registers\n"
                   "  a thread, bytes of shared memory a block (static and dynamic)");
    }
    table_free(&table);
}

static bool print_text(const struct pdl_overlap_input *input, const struct overlap_spec specs[2],
                       const pdl_overlap_report *report)
{
    static const char *const answers[] = {"unknown", "no", "yes"};
    print_line(stdout, "device: %s, compute capability %d.%d, %u SMs", input->device_name,
               input->sm.compute_capability / 10, input->sm.compute_capability % 10, input->sms);
    print_kernel(&specs[0], report->primary_per_sm);
    print_kernel(&specs[1], report->secondary_per_sm);
    print_wave(report);
    (void)putchar('\n');
    print_conditions(report);
    print_resources(report);
    (void)printf("\noverlap: %s; early launch: %s\n", answers[report->overlap],
                 answers[report->early_launch]);
    print_plain(stdout, report->message);
    (void)putchar('\n');
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
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
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
#ifdef PDL_HAVE_JANSSON
            request->print = overlap_print_json;
            break;
#else
            (void)fputs("pdltool overlap: --json is not in this build, which was made without the "
                        "JSON library jansson\n",
                        stderr);
            return EXIT_USAGE;
#endif
        case 'h':
            usage(stdout);
            return EXIT_DONE;
        default:
            (void)fputs("`pdltool overlap --help` tells the options\n", stderr);
            return EXIT_USAGE;
        }
    }
    if (request->texts[0] == NULL || request->texts[1] == NULL) {
        (void)fputs(
            "pdltool overlap: --primary and --secondary say which kernels; `pdltool overlap "
            "--help` tells how\n",
            stderr);
        return EXIT_USAGE;
    }
    return -1;
}

/* Both kernels, from the command line and, if there are any, from the files. */
static bool read_kernels(const struct request *request, const struct inputs *inputs,
                         int32_t capability, struct overlap_spec specs[2])
{
    for (int i = 0; i < 2; i++) {
        if (!overlap_spec_read(request->texts[i], &specs[i]) ||
            (inputs->count > 0 && !overlap_spec_find(inputs, capability, &specs[i])) ||
            !overlap_spec_finish(&specs[i])) {
            return false;
        }
    }
    return true;
}

static int answer(const struct request *request, const struct inputs *inputs,
                  struct overlap_spec specs[2])
{
    char device_name[128];
    struct pdl_overlap_input input = {.device = -1, .same_stream = PDL_YES};
    pdl_overlap_report report = PDL_OVERLAP_REPORT_INIT;
    if (!overlap_device_find(request->device, &input, device_name) ||
        !read_kernels(request, inputs, input.sm.compute_capability, specs)) {
        return EXIT_USAGE;
    }
    input.primary = specs[0].side;
    input.secondary = specs[1].side;
    input.requested = specs[1].asks;
    pdl_overlap_judge(&input, &report);
    if (!request->print(&input, specs, &report) || fflush(stdout) != 0) {
        print_line(stderr, "pdltool overlap: the answer could not be written: %s", strerror(errno));
        return EXIT_USAGE;
    }
    return report.overlap == PDL_NO ? EXIT_FINDING : EXIT_DONE;
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
