/* SPDX-License-Identifier: MIT */
/* pdltool report: runs of `pdltool bench` as a page with plots. */
#include <getopt.h>
#include <stdio.h>

#include "commands.h"
#include "common/options.h"
#include "common/print.h"
#include "report/make.h"

static void usage(void)
{
    (void)fputs("usage: pdltool report DIR [OPTION...]\n"
                "\n"
                "Makes a web page of the JSON files in DIR that 'pdltool bench' and 'pdltool\n"
                "tune' wrote: index.html with its plots, which are also written to plots/ as SVG\n"
                "and PNG. gnuplot draws the plots.\n"
                "\n"
                "  -o, --output DIR     write to DIR, which is created (default: the same DIR)\n"
                "      --require-plots  exit with 1 if a plot could not be drawn\n"
                "\n"
                "Examples:\n"
                "  pdltool report results/\n"
                "  pdltool report results/ --output public --require-plots\n"
                "\n"
                "Exit status: 0; 1 if a JSON file could not be read, or a required plot not\n"
                "drawn; 2 if no page was written.\n",
                stdout);
}

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
    while ((option = next_option(argc, argv, "o:h", options)) != -1) {
        switch (option) {
        case 'o':
            chosen.output = optarg;
            break;
        case 'r':
            chosen.require_plots = true;
            break;
        case 'h':
            usage();
            return EXIT_DONE;
        default:
            return EXIT_USAGE;
        }
    }
    if (argc - optind != 1) {
        print_misuse(argc == optind ? "no directory" : "one directory at a time");
        return EXIT_USAGE;
    }
    chosen.directory = argv[optind];
    chosen.output = chosen.output != NULL ? chosen.output : chosen.directory;
    if (report_make == NULL) {
        print_error("report needs a pdltool that was built with the library jansson");
        return EXIT_USAGE;
    }
    return report_make(&chosen);
}
