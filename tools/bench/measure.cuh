/* SPDX-License-Identifier: MIT */
/* What the measuring programs share: rows, which are measured in turn and printed, and options. */
#ifndef PDL_BENCH_MEASURE_CUH
#define PDL_BENCH_MEASURE_CUH

#include <cstring>
#include <functional>
#include <string>

#include "common.cuh"

/* ---- rows ------------------------------------------------------------------------------------ */

/* What is measured. A table's first row is what the others are compared with. */
struct row {
    std::string name, key;
    std::function<double()> sample; /* runs it once and returns the microseconds */
    std::vector<double> us = {};
    std::string text = {}, json = {}; /* what else there is to say of it */

    /* "key 1.5" in the table, and "key": 1.5 in JSON. */
    void say(std::string what, double value, int decimals = 0)
    {
        char number[40];
        std::snprintf(number, sizeof(number), "%.*f", decimals, value);
        json += ", \"" + what + "\": " + number;
        std::replace(what.begin(), what.end(), '_', ' ');
        text += "  " + what + " " + number;
    }
};

/* A round takes one sample of each row, and the order turns. The first round loads what is not loaded. */
inline void measure(const std::vector<row *> &rows, int rounds)
{
    for (int round = -1; round < rounds; round++) {
        for (size_t i = 0; i < rows.size(); i++) {
            row &r = *rows[(i + static_cast<size_t>(round + 1)) % rows.size()];
            const double us = r.sample();
            if (round >= 0) {
                r.us.push_back(us);
            }
        }
    }
}

/* Medians, quartiles and how many times as fast as the first row, as a table and as an object of JSON. */
inline void print_rows(FILE *json, const char *title, const char *key, const std::vector<row> &rows)
{
    std::printf("%s\n", title);
    std::fprintf(json, ",\n \"%s\": {", key);
    for (const row &r : rows) {
        std::printf("  %-40s", r.name.c_str());
        std::fprintf(json, "%s\n  \"%s\": {\"samples\": %zu", &r == &rows[0] ? "" : ",",
                     r.key.c_str(), r.us.size());
        if (!r.us.empty()) {
            const double middle = median(r.us), p25 = quantile(r.us, 0.25),
                         p75 = quantile(r.us, 0.75);
            std::printf(" %10.2f (%.2f to %.2f) %7.2fx", middle, p25, p75,
                        median(rows[0].us) / middle);
            std::fprintf(json, ", \"us\": %.3f, \"p25\": %.3f, \"p75\": %.3f", middle, p25, p75);
        }
        std::printf("%s\n", r.text.c_str());
        std::fprintf(json, "%s}", r.json.c_str());
    }
    std::fprintf(json, "}");
}

/* ---- the command line ------------------------------------------------------------------------ */

struct option {
    const char *name, *help;
    std::string takes;                     /* what its value is, for messages */
    std::function<bool(const char *)> set; /* false if the value is not */
};

inline option number_option(const char *name, const char *help, int *to, int least, int most)
{
    return {name, help, "a number from " + std::to_string(least) + " to " + std::to_string(most),
            [=](const char *text) {
                char *end;
                const long value = std::strtol(text, &end, 10);
                *to = static_cast<int>(value);
                return *text != '\0' && *end == '\0' && value >= least && value <= most;
            }};
}

inline option json_option(const char **to)
{
    return {"--json", "FILE: also writes the figures to it", "a file", [=](const char *text) {
                *to = text;
                return *text != '\0';
            }};
}

/* Ends the program with 2 where the command line is wrong, and with 0 after --help. */
inline void parse_options(const char *program, int argc, char **argv,
                          const std::vector<option> &options)
{
    for (int i = 1; i < argc; i += 2) {
        const char *const value = i + 1 < argc ? argv[i + 1] : "";
        const bool help = std::strcmp(argv[i], "--help") == 0;
        const auto found = std::find_if(options.begin(), options.end(), [&](const option &o) {
            return std::strcmp(o.name, argv[i]) == 0;
        });
        if (found == options.end()) {
            FILE *const to = help ? stdout : stderr;
            std::fprintf(to, help ? "usage: %s [option...]\n" : "%s: unknown option: %s\n", program,
                         argv[i]);
            for (const option &o : options) {
                std::fprintf(to, "  %s %s\n", o.name, o.help);
            }
            std::exit(help ? 0 : 2);
        }
        if (!found->set(value)) {
            std::fprintf(stderr, "%s: %s takes %s, not '%s'\n", program, argv[i],
                         found->takes.c_str(), value);
            std::exit(2);
        }
    }
}

inline FILE *open_json(const char *path)
{
    FILE *const json = std::fopen(path, "w");
    if (json == nullptr) {
        std::perror(path);
        std::exit(1);
    }
    return json;
}

/* What main() returns. */
inline int finish(FILE *json, const char *path, bool good)
{
    if (std::fclose(json) != 0) {
        std::perror(path);
        good = false;
    }
    return verdict(good);
}

#endif /* PDL_BENCH_MEASURE_CUH */
