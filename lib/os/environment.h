/* SPDX-License-Identifier: MIT */
/* All environment variables of all libraries and tools: one table for reading, `pdltool info` and docs/environment.md. A
 * test compares them. */
#ifndef PDL_LIB_OS_ENVIRONMENT_H
#define PDL_LIB_OS_ENVIRONMENT_H

#include "os/compiler.h"
#include "os/variable.h"

/* X(name, kind, most, values, unset, unknown, effect): the members of struct pdl_variable. */
#define PDL_VARIABLE_LIST(X)                                                                       \
    X(PDL_OVERLAP, OPEN_WORD, 0, "off, on or capture", "on", "off",                                \
      "off: no launch of libpdl overlaps; capture: only captured ones do")                         \
    X(PDL_OVERLAP_STRICT, WORD, 0, "off or on", "off", "on",                                       \
      "on: only kernels that are proved to wait overlap")                                          \
    X(PDL_OVERLAP_PROOF, WORD, 0, "off or on", "on", "on",                                         \
      "off: kernels overlap in whose code libpdl-inspect finds a race")                            \
    X(PDL_OVERLAP_EXCLUDE, TEXT, 0, "patterns, separated by colons", "", "",                       \
      "kernels that do not overlap")                                                               \
    X(PDL_LOG, LOG, 0, "stderr or a file", "", "", "where decisions about overlap are logged")     \
    X(PDL_NVRTC, TEXT, 0, "a file", "", "", "the NVRTC that libpdl-rtc opens")                     \
    X(PDL_RTC_CACHE, WORD, 0, "off or on", "on", "off",                                            \
      "off: kernels compiled at run time are kept in memory only")                                 \
    X(PDL_RTC_CACHE_DIR, TEXT, 0, "a directory", "", "", "where compiled kernels are kept")        \
    X(PDL_RTC_CACHE_SHIPPED, TEXT, 0, "a directory", "", "", "kernels that are shipped")           \
    X(PDL_RTC_CACHE_SIZE, SIZE, UINT64_MAX, "a size such as 64M", "1G", "1G",                      \
      "size limit of the directory")                                                               \
    X(PDL_RTC_DUMP_DIR, TEXT, 0, "a directory", "", "",                                            \
      "where failed compilations are written; empty: nowhere")                                     \
    X(PDL_INSTRUMENT, WORD, 0, "off, on, entry or hoist", "off", "off",                            \
      "where PTX gets a wait; on is entry. Unset, pdl-ptxas takes entry")                          \
    X(PDL_INSTRUMENT_TRIGGER, WORD, 0, "off, none, wait or last-read", "none", "none",             \
      "where PTX that gets a wait gets a trigger")                                                 \
    X(PDL_INSTRUMENT_CONSTANT, TEXT, 0, "names, separated by commas", "", "",                      \
      "constant parameters")                                                                       \
    X(PDL_INSTRUMENT_LOG, TEXT, 0, "a file", "", "", "gets a line per instrumented kernel")        \
    X(PDL_PTXAS, TEXT, 0, "a file", "", "", "the ptxas that pdl-ptxas runs")                       \
    X(PDL_PTXAS_RUNS, TEXT, 0, "a file", "", "", "set by pdl-ptxas for what it runs")              \
    X(PDL_NVCC_STEP, TEXT, 0, "1", "", "", "set by pdl-ptxas for the nvcc that it runs")           \
    X(PDL_WATCH_LIBRARY, TEXT, 0, "a file", "", "", "the libpdl-watch that pdltool loads")         \
    X(PDL_WATCH_RECORD, TEXT, 0, "a file", "", "", "what libpdl-watch records into")               \
    X(PDL_WATCH_RULES, TEXT, 0, "a file", "", "", "overlaps that libpdl-watch adds and removes")   \
    X(PDL_WATCH_CUPTI, WORD, 0, "off or on", "on", "on",                                           \
      "off: CUPTI is not opened, and there are no device times")                                   \
    X(PDL_WATCH_CODE, WORD, 0, "off or on", "on", "on", "off: device code is not recorded")        \
    X(PDL_WATCH_LIMIT, SIZE, UINT64_MAX, "a size such as 64M", "2G", "2G",                         \
      "size limit of a recording")                                                                 \
    X(PDL_WATCH_SKIP, NUMBER, UINT64_MAX, "a number", "0", "0",                                    \
      "how many launches are not recorded at the beginning")                                       \
    X(PDL_WATCH_COUNT, NUMBER, UINT64_MAX, "a number", "0", "0", "launches recorded; 0: all")      \
    X(PDL_WATCH_SECONDS, SECONDS, 0, "seconds such as 0.5", "0", "0", "time recorded; 0: all")     \
    X(PDL_WATCH_DELAY, TIMES, 100000, "N or N,N, each 0 to 100000", "40,40", "40,40",              \
      "microseconds: how long a kernel before is held up, and one runs beside it")                 \
    X(PDL_CUPTI_PATH, TEXT, 0, "a file or directory", "", "", "where libcupti.so is")

enum {
#define PDL_VARIABLE_NUMBER_(name, ...) name##_VARIABLE,
    PDL_VARIABLE_LIST(PDL_VARIABLE_NUMBER_)
#undef PDL_VARIABLE_NUMBER_
        PDL_VARIABLE_COUNT
};

extern PDL_HIDDEN struct pdl_variable pdl_variables[PDL_VARIABLE_COUNT];

/* The row of a variable, by its name. */
#define PDL_VARIABLE(name) (&pdl_variables[name##_VARIABLE])

#endif /* PDL_LIB_OS_ENVIRONMENT_H */
