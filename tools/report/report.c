/* SPDX-License-Identifier: MIT */
/* pdltool report: runs of `pdltool bench` as a page with plots. */
#include <getopt.h>
#include <stdio.h>

#include "commands.h"
#include "common/print.h"
#include "report/make.h"

static void usage(FILE *to)
{
    (void)fputs(
        "usage: pdltool report DIR [OPTION...]\n\n"
        "Makes a page of what `pdltool bench --json` and `pdltool tune --json` wrote into a "
        "folder:\n"
        "index.html, with the plots in it, and the same plots as SVG and PNG in plots/. gnuplot\n"
        "draws them.\n\n"
        "  -o, --output DIR      where to, made if it is not there (default: the same folder)\n"
        "      --require-plots   exits with 1 if a plot could not be drawn\n\n"
        "Exits with 0; 1 if a JSON file could not be read, or for the option above; 2 if there is\n"
        "no page.\n",
        to);
}

#ifndef PDL_HAVE_JANSSON
int report_make(const struct report_options *options)
{
    (void)options;
    (void)fputs("pdltool report: built without jansson, it reads no JSON\n", stderr);
    return EXIT_USAGE;
}
#endif

int command_report(int argc, char **argv)
{
    static const struct option options[] = {
        {"output", required_argument, NULL, 'o'},
        {"require-plots", no_argument, NULL, 'r'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct report_options chosen = {NULL, NULL, false};
    int option;
    while ((option = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
        switch (option) {
        case 'o':
            chosen.output = optarg;
            break;
        case 'r':
            chosen.require_plots = true;
            break;
        case 'h':
            usage(stdout);
            return EXIT_DONE;
        default:
            return EXIT_USAGE; /* getopt has said why */
        }
    }
    if (argc - optind != 1) {
        print_line(stderr, "pdltool report: one folder is wanted, %d are there", argc - optind);
        usage(stderr);
        return EXIT_USAGE;
    }
    chosen.directory = argv[optind];
    chosen.output = chosen.output != NULL ? chosen.output : chosen.directory;
    return report_make(&chosen);
}
