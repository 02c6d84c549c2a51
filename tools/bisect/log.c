/* SPDX-License-Identifier: MIT */
#include "bisect/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.h"
#include "common/memory.h"
#include "common/print.h"

static const char first_line[] = "pdltool bisect log 1";
static const char *const verdicts[] = {
    [SEARCH_PASSES] = "passes", [SEARCH_FAILS] = "fails", [SEARCH_SKIPPED] = "skipped"};

/* ---- steps ------------------------------------------------------------------------------------ */

struct log_step *log_step(struct log *log, const char *set)
{
    for (size_t i = 0; i < log->step_count; i++) {
        if (strcmp(log->steps[i]->set, set) == 0) {
            return log->steps[i];
        }
    }
    struct log_step *step = allocate(1, sizeof(*step));
    *step = (struct log_step){.set = copy_text(set)};
    log->steps =
        room_for_one((void *)log->steps, log->step_count, &log->step_room, sizeof(*log->steps));
    log->steps[log->step_count++] = step;
    return step;
}

static void count_run(struct log_step *step, enum search_verdict verdict)
{
    step->passes += verdict == SEARCH_PASSES;
    step->failures += verdict == SEARCH_FAILS;
    step->skips += verdict == SEARCH_SKIPPED;
    if (verdict == SEARCH_FAILS) {
        step->until_failure = step->passes + step->failures;
    }
}

/* ---- writing ---------------------------------------------------------------------------------- */

/* Each line at once: what was run is not to be run again, however the search ends. */
__attribute__((format(printf, 2, 3))) static void put(struct log *log, const char *format, ...)
{
    if (log->file == NULL || log->failed) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    const bool written = vfprintf(log->file, format, arguments) >= 0;
    va_end(arguments);
    if (!written || fflush(log->file) != 0) {
        print_error("cannot write the log %s: %s", log->path, strerror(errno));
        log->failed = true;
    }
}

static void put_step(struct log *log, struct log_step *step)
{
    if (log->current != step) {
        put(log, "step %s\n", step->set);
        log->current = step;
    }
}

void log_run(struct log *log, struct log_step *step, enum search_verdict verdict, double seconds,
             const char *how)
{
    put_step(log, step);
    count_run(step, verdict);
    put(log, "run %s %.2f%s%s\n", verdicts[verdict], seconds, *how != '\0' ? " " : "", how);
}

void log_verdict(struct log *log, struct log_step *step, enum search_verdict verdict)
{
    put_step(log, step);
    step->decided = true;
    step->verdict = verdict;
    put(log, "verdict %s\n", verdicts[verdict]);
}

static char *escaped(char *const *arguments)
{
    char *text = NULL;
    size_t size = 0;
    FILE *const to = memory_open(&text, &size);
    for (size_t i = 0; arguments[i] != NULL; i++) {
        if (i > 0) {
            (void)putc(' ', to);
        }
        if (arguments[i][0] == '\0') {
            (void)fputs("\\0", to); /* an empty argument */
        }
        for (const char *c = arguments[i]; *c != '\0'; c++) {
            const unsigned char byte = (unsigned char)*c;
            (void)fprintf(to, byte <= ' ' || byte == '\\' || byte == 0x7f ? "\\x%02x" : "%c", byte);
        }
    }
    memory_close(to);
    return text;
}

void log_suspects(struct log *log, struct suspect *suspects, uint32_t count)
{
    log->suspects = suspects;
    log->suspect_count = count;
    log->has_suspects = true;
    for (uint32_t i = 0; i < count && log->file != NULL; i++) {
        char *numbers = NULL;
        size_t size = 0;
        FILE *const to = memory_open(&numbers, &size);
        const char *comma = "";
        for (uint32_t j = 0; j < suspects[i].count; j++) {
            const uint32_t first = suspects[i].nths[j];
            while (j + 1 < suspects[i].count &&
                   suspects[i].nths[j + 1] == suspects[i].nths[j] + 1) {
                j++;
            }
            (void)fprintf(to, "%s%" PRIu32 "-%" PRIu32, comma, first, suspects[i].nths[j]);
            comma = ",";
        }
        memory_close(to);
        put(log, "kernel %" PRIu32 " %s %s\n", i, suspects[i].name, numbers);
        free(numbers);
    }
    put(log, "kernels %" PRIu32 "\n", count);
}

/* ---- reading ---------------------------------------------------------------------------------- */

/* A number of a launch, and moves on; 0: there is none. */
static uint32_t read_number(const char **text)
{
    char *end = NULL;
    const unsigned long number = **text >= '0' && **text <= '9' ? strtoul(*text, &end, 10) : 0;
    *text = end != NULL ? end : *text;
    return number < UINT32_MAX ? (uint32_t)number : 0;
}

static bool read_numbers(struct suspect *suspect, const char *text)
{
    size_t room = 0;
    uint32_t before = 0;
    while (*text != '\0') {
        const uint32_t first = read_number(&text);
        if (first <= before || *text++ != '-') {
            return false;
        }
        const uint32_t last = read_number(&text);
        if (last < first || (*text != '\0' && *text++ != ',')) {
            return false;
        }
        for (uint32_t nth = first; nth <= last; nth++) {
            suspect->nths = room_for_one(suspect->nths, suspect->count, &room, sizeof(uint32_t));
            suspect->nths[suspect->count++] = nth;
        }
        before = last;
    }
    return suspect->count > 0;
}

static bool read_kernel(struct log *log, char *rest)
{
    char *end = NULL;
    const unsigned long index = strtoul(rest, &end, 10);
    if (end == rest || *end != ' ' || index != log->suspect_count) {
        return false;
    }
    char *const name = end + 1;
    char *const numbers = strchr(name, ' ');
    if (numbers == NULL || numbers == name) {
        return false;
    }
    *numbers = '\0';
    struct suspect suspect = {.name = copy_text(name)};
    log->suspects =
        room_for_one(log->suspects, log->suspect_count, &log->suspect_room, sizeof(suspect));
    const bool right = read_numbers(&suspect, numbers + 1);
    log->suspects[log->suspect_count++] = suspect;
    return right;
}

static bool read_verdict(const char *text, enum search_verdict *verdict)
{
    for (int i = SEARCH_PASSES; i <= SEARCH_SKIPPED; i++) {
        const size_t length = strlen(verdicts[i]);
        if (strncmp(text, verdicts[i], length) == 0 &&
            (text[length] == ' ' || text[length] == '\0')) {
            *verdict = (enum search_verdict)i;
            return true;
        }
    }
    return false;
}

static bool read_line(struct log *log, char *line)
{
    enum search_verdict verdict;
    char *const blank = strchr(line, ' ');
    if (*line == '#' || *line == '\0') {
        return true;
    }
    if (blank == NULL) {
        return false;
    }
    *blank = '\0';
    char *const rest = blank + 1;
    if (strcmp(line, "command") == 0 && log->command == NULL) {
        log->command = copy_text(rest);
    } else if (strcmp(line, "setting") == 0) {
        log->settings = room_for_one((void *)log->settings, log->setting_count, &log->setting_room,
                                     sizeof(*log->settings));
        log->settings[log->setting_count++] = copy_text(rest);
    } else if (strcmp(line, "kernel") == 0 && !log->has_suspects) {
        return read_kernel(log, rest);
    } else if (strcmp(line, "kernels") == 0) {
        log->has_suspects = true;
        return strtoul(rest, NULL, 10) == log->suspect_count;
    } else if (strcmp(line, "step") == 0) {
        log->current = log_step(log, rest);
    } else if (strcmp(line, "run") == 0 && log->current != NULL && read_verdict(rest, &verdict)) {
        count_run(log->current, verdict);
    } else if (strcmp(line, "verdict") == 0 && log->current != NULL &&
               read_verdict(rest, &verdict)) {
        log->current->decided = true;
        log->current->verdict = verdict;
    } else {
        return false;
    }
    return true;
}

static void free_suspects(struct log *log)
{
    for (size_t i = 0; i < log->suspect_count; i++) {
        free(log->suspects[i].name);
        free(log->suspects[i].nths);
    }
    free(log->suspects);
    log->suspects = NULL;
    log->suspect_count = log->suspect_room = 0;
}

/* Reads the lines, up to the last that is whole; its end in `size`. The number of the first line that is wrong; 0. */
static unsigned read_lines(struct log *log, char *text, size_t *size)
{
    unsigned number = 0;
    char *line = text;
    for (char *end; (end = memchr(line, '\n', *size - (size_t)(line - text))) != NULL;
         line = end + 1) {
        *end = '\0';
        number++;
        if (strlen(line) != (size_t)(end - line) ||
            !(number == 1 ? strcmp(line, first_line) == 0 : read_line(log, line))) {
            return number;
        }
    }
    if (number == 0 && strncmp(text, first_line, *size) != 0) {
        return 1; /* one line without an end, which is not that of a log */
    }
    *size = (size_t)(line - text);
    log->was_there = number > 0;
    if (!log->has_suspects) { /* a list that was not written whole is made again */
        free_suspects(log);
    }
    return 0;
}

static bool complain(const char *path, const char *why)
{
    print_error("the log %s %s", path, why);
    return false;
}

/* Reads what is there, and leaves the file at its end. */
static bool take_file(struct log *log)
{
    size_t size = 0;
    if (flock(fileno(log->file), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        return complain(log->path, "belongs to a search that runs");
    }
    char *const text = file_read_stream(log->file, FILE_LONGEST, &size);
    if (text == NULL) {
        return complain(log->path, strerror(errno));
    }
    const unsigned wrong = read_lines(log, text, &size);
    free(text);
    if (wrong > 0) {
        print_error("line %u of %s is not a line of a bisect log", wrong, log->path);
        return false;
    }
    if (ftruncate(fileno(log->file), (off_t)size) != 0 ||
        fseeko(log->file, (off_t)size, SEEK_SET) != 0) {
        return complain(log->path, strerror(errno));
    }
    log->current = NULL;
    return true;
}

bool log_open(struct log *log, const char *path, bool must_exist)
{
    log->path = path;
    if (path == NULL) {
        return true;
    }
    log->file = fopen(path, "r+e");
    if (log->file == NULL && errno == ENOENT && !must_exist) {
        log->file = fopen(path, "w+ex");
    }
    if (log->file == NULL) {
        print_error("cannot open the log %s: %s", path, strerror(errno));
        return false;
    }
    struct stat about;
    if (fstat(fileno(log->file), &about) == 0 && S_ISFIFO(about.st_mode)) {
        print_error("the log %s is a pipe: it is read again and needs a regular file", path);
        return false;
    }
    if (!take_file(log)) {
        return false;
    }
    if (!log->was_there) {
        put(log, "%s\n", first_line);
    }
    return !log->failed;
}

void log_close(struct log *log)
{
    for (size_t i = 0; i < log->step_count; i++) {
        free(log->steps[i]->set);
        free(log->steps[i]);
    }
    free((void *)log->steps);
    for (size_t i = 0; i < log->setting_count; i++) {
        free(log->settings[i]);
    }
    free((void *)log->settings);
    free_suspects(log);
    free(log->command);
    if (log->file != NULL) {
        (void)fclose(log->file);
    }
    *log = (struct log){0};
}

/* ---- what is searched ------------------------------------------------------------------------- */

bool log_command(struct log *log, char *const *arguments)
{
    char *const command = escaped(arguments);
    bool same = true;
    if (log->command == NULL) {
        put(log, "command %s\n", command);
        log->command = copy_text(command);
    } else if (strcmp(log->command, command) != 0) {
        print_error("the log %s belongs to another command: %s", log->path, log->command);
        same = false;
    }
    free(command);
    return same;
}

bool log_settings(struct log *log, const char *const *settings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (i >= log->setting_count) {
            put(log, "setting %s\n", settings[i]);
            continue;
        }
        if (strcmp(log->settings[i], settings[i]) != 0) {
            print_error("the log %s was written with other options: \"%s\", not \"%s\"", log->path,
                        log->settings[i], settings[i]);
            return false;
        }
    }
    return true;
}
