/* SPDX-License-Identifier: MIT */
#include "ptxas/step.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/file.h"
#include "common/memory.h"
#include "common/print.h"
#include "common/program.h"
#include "os/environment.h"

/* ---- where the program is --------------------------------------------------------------------------- */

/* Whether a path is a program other than this one. */
static bool is_other(const char *path)
{
    struct stat self, file;
    return access(path, X_OK) == 0 && stat(path, &file) == 0 && S_ISREG(file.st_mode) &&
           (stat("/proc/self/exe", &self) != 0 || file.st_dev != self.st_dev ||
            file.st_ino != self.st_ino);
}

/* The path if it is such a program; else NULL, and it is freed. */
static char *if_other(char *path)
{
    if (!is_other(path)) {
        free(path);
        path = NULL;
    }
    return path;
}

static char *find_on_path(const char *name)
{
    const char *const variable = getenv("PATH");
    char *const folders = copy_text(variable != NULL ? variable : "/bin:/usr/bin");
    char *rest = folders, *found = NULL;
    for (const char *folder; found == NULL && (folder = strsep(&rest, ":")) != NULL;) {
        found = if_other(format_text("%s/%s", *folder != '\0' ? folder : ".", name));
    }
    free(folders);
    return found;
}

/* In a folder of programs, or where a toolkit whose programs are there has cicc. */
static char *find_in(const char *bin, const char *name)
{
    char *const found = if_other(format_text("%s/%s", bin, name));
    return found != NULL ? found : if_other(format_text("%s/../nvvm/bin/%s", bin, name));
}

static char *find_in_toolkits(const char *name)
{
    const char *const homes[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    char *nvcc = program_find("nvcc");
    char *found = NULL;
    if (nvcc != NULL) {
        char *const end = strrchr(nvcc, '/');
        if (end != NULL) {
            *end = '\0';
            found = find_in(nvcc, name);
        }
        free(nvcc);
    }
    for (size_t i = 0; i < sizeof(homes) / sizeof(homes[0]) && found == NULL; i++) {
        if (homes[i] != NULL && *homes[i] != '\0') {
            char *const bin = format_text("%s/bin", homes[i]);
            found = find_in(bin, name);
            free(bin);
        }
    }
    return found;
}

char *step_find(const char *name)
{
    /* nvcc and its ptxas must fit each other; the variable may be for Triton. */
    const bool choose =
        strcmp(name, "ptxas") == 0 && pdl_variable_text(PDL_VARIABLE(PDL_NVCC_STEP)) == NULL;
    const char *const set = choose ? pdl_variable_text(PDL_VARIABLE(PDL_PTXAS)) : NULL;
    const char *const active = pdl_variable_text(PDL_VARIABLE(PDL_PTXAS_RUNS));
    char *found;
    if (active != NULL) {
        print_line(stderr, "pdl-ptxas: error: %s runs pdl-ptxas; PDL_PTXAS must be the real ptxas",
                   active);
        return NULL;
    }
    if (set != NULL) {
        found = if_other(copy_text(set));
        if (found == NULL) {
            print_line(stderr, "pdl-ptxas: error: PDL_PTXAS is '%s', which is not a ptxas to run",
                       set);
        }
        return found;
    }
    found = find_on_path(name);
    if (found == NULL) {
        found = find_in_toolkits(name);
    }
    if (found == NULL) {
        print_line(stderr,
                   "pdl-ptxas: error: no %s on PATH, beside nvcc, in CUDA_HOME, CUDA_PATH or "
                   "/usr/local/cuda%s",
                   name, strcmp(name, "ptxas") == 0 ? "; PDL_PTXAS can name it" : "");
    }
    return found;
}

/* ---- texts instead of files --------------------------------------------------------------------------- */

/* A file in memory, or one without a name where a sandbox has none: nothing of it is left, however this process ends. */
static int open_in_memory(void)
{
    int file = memfd_create("pdl-ptxas", 0);
    FILE *const other = file < 0 ? tmpfile() : NULL;
    if (other != NULL) {
        file = dup(fileno(other));
        (void)fclose(other);
    }
    return file;
}

/* Not closed: the program opens it. */
static int keep_in_memory(const char *bytes, size_t size)
{
    const int file = open_in_memory();
    for (size_t done = 0; file >= 0 && done < size;) {
        const ssize_t written = write(file, bytes + done, size - done);
        if (written < 0 && errno != EINTR) {
            (void)close(file);
            return -1;
        }
        done += written > 0 ? (size_t)written : 0;
    }
    return file;
}

static bool input_was_taken;

/* A pipe can be read once. From here on the descriptor is of the text that was read. */
static char *take_pipe(int pipe, size_t *size)
{
    FILE *const from = fdopen(dup(pipe), "rb");
    char *const text = from != NULL ? file_read_stream(from, FILE_LONGEST, size) : NULL;
    const int file = text != NULL ? keep_in_memory(text, *size) : -1;
    if (from != NULL) {
        (void)fclose(from);
    }
    if (file >= 0) {
        (void)dup2(file, pipe);
        (void)close(file);
        input_was_taken = input_was_taken || pipe == STDIN_FILENO;
    }
    return text;
}

/* The descriptor that a path names, as a shell's <(...) does; -1: it names none. */
static int descriptor_of(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        const char *const number = path + strlen(folders[i]);
        if (strncmp(path, folders[i], strlen(folders[i])) == 0 && *number != '\0' &&
            strlen(number) < 7 && number[strspn(number, "0123456789")] == '\0') {
            return (int)strtol(number, NULL, 10);
        }
    }
    return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdin") == 0 ? STDIN_FILENO : -1;
}

char *step_read(const char *path, size_t *size)
{
    const int descriptor = descriptor_of(path);
    struct stat about;
    if (descriptor == STDIN_FILENO) {
        return take_pipe(descriptor, size);
    }
    if (stat(path, &about) != 0) {
        return NULL;
    }
    if (S_ISFIFO(about.st_mode)) {
        if (descriptor >= 0) {
            return take_pipe(descriptor, size);
        }
        /* It has no descriptor that could be made one of what was read: it is left to the program. */
        print_line(stderr, "pdl-ptxas: warning: %s is a named pipe and is not instrumented", path);
    }
    return S_ISREG(about.st_mode) ? file_read(path, size) : NULL;
}

const char *step_replace(struct step *step, const char *path, bool raise)
{
    size_t size;
    char *const text = step_read(path, &size);
    struct swap swap = {.given = path};
    if (text != NULL) {
        /* In nvcc, the step of cicc has logged each kernel. */
        swap.made = instrument_text(step->settings, path, text, size, raise,
                                    !step->settings->is_step, NULL);
        free(text);
    }
    if (swap.made.text != NULL) {
        const int file = keep_in_memory(swap.made.text, swap.made.size);
        if (file >= 0) {
            swap.path = format_text("/proc/self/fd/%d", file);
            APPEND(&step->swaps, swap);
            return swap.path;
        }
        log_failure(step->settings, path, "no memory file for the instrumented text");
    }
    instrumented_free(&swap.made);
    return NULL;
}

/* ---- running it --------------------------------------------------------------------------------------- */

/* Returns where it could not be run. */
static void run_program(const struct step *step, char **arguments)
{
    if (input_was_taken) {
        (void)lseek(STDIN_FILENO, 0, SEEK_SET);
    }
    (void)setenv("PDL_PTXAS_RUNS", step->program, 1); /* it must not lead back here */
    (void)execv(step->program, arguments);
}

int step_untouched(const struct step *step)
{
    run_program(step, step->given);
    print_line(stderr, "pdl-ptxas: error: cannot run %s: %s", step->program, strerror(errno));
    return EXIT_NO_PROGRAM;
}

static volatile sig_atomic_t running; /* the child */

static void pass_on(int signal_number)
{
    (void)kill((pid_t)running, signal_number);
}

int step_wait(pid_t child, bool crashes)
{
    static const int passed[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    struct sigaction action = {.sa_handler = pass_on};
    struct sigaction before[sizeof(passed) / sizeof(passed[0])];
    int status = 0;
    running = (sig_atomic_t)child;
    for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++) {
        (void)sigaction(passed[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN) {
            (void)sigaction(passed[i], &action, NULL);
        }
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++) {
        (void)sigaction(passed[i], &before[i], NULL);
    }
    if (!WIFSIGNALED(status)) {
        return WEXITSTATUS(status);
    }
    const int number = WTERMSIG(status);
    if (crashes && (number == SIGSEGV || number == SIGABRT || number == SIGBUS ||
                    number == SIGFPE || number == SIGILL)) {
        return -1;
    }
    (void)signal(number, SIG_DFL);
    (void)raise(number);
    return 128 + number; /* as a shell has it, for a signal that did not end this process */
}

static const struct swap *find_swap(const struct step *step, const char *at)
{
    for (size_t i = 0; i < step->swaps.count; i++) {
        const struct swap *const swap = &step->swaps.items[i];
        const size_t length = strlen(swap->path);
        if (strncmp(at, swap->path, length) == 0 && strspn(at + length, "0123456789") == 0) {
            return swap;
        }
    }
    return NULL;
}

/* The line of the file as it was, which has no lines of this program. */
static unsigned long line_before(const struct swap *swap, unsigned long line)
{
    unsigned long added = 0;
    for (size_t i = 0; i < swap->made.lines.count; i++) {
        added += swap->made.lines.items[i] < line;
    }
    return line - added;
}

/* Writes what the program printed, with the names and lines that the user knows. */
static void replay(const struct step *step, FILE *from, int to)
{
    static const char before_line[] = ", line ";
    FILE *const stream = fdopen(dup(to), "w");
    size_t size;
    rewind(from);
    char *const text = file_read_stream(from, FILE_LONGEST, &size);
    for (char *at = text; stream != NULL && at != NULL && at < text + size;) {
        const struct swap *const swap = find_swap(step, at);
        if (swap == NULL) {
            (void)putc(*at++, stream);
            continue;
        }
        (void)fputs(swap->given, stream);
        at += strlen(swap->path);
        if (strncmp(at, before_line, strlen(before_line)) == 0) {
            const unsigned long line = strtoul(at + strlen(before_line), &at, 10);
            (void)fprintf(stream, "%s%lu", before_line, line_before(swap, line));
        }
    }
    if (stream != NULL) {
        (void)fclose(stream);
    }
    free(text);
}

/* The exit status with the texts; -1 if it could not be run, or crashed. */
static int try_texts(struct step *step, FILE *output, FILE *errors)
{
    APPEND(&step->arguments, NULL);
    const pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG,
                    SIGTERM); /* it must not write its output after this process has ended */
        (void)dup2(fileno(output), STDOUT_FILENO);
        (void)dup2(fileno(errors), STDERR_FILENO);
        run_program(step, step->arguments.items);
        _exit(EXIT_NO_PROGRAM);
    }
    return child > 0 ? step_wait(child, true) : -1;
}

static FILE *open_stream(void)
{
    const int file = open_in_memory();
    return file >= 0 ? fdopen(file, "w+") : NULL;
}

int step_run(struct step *step)
{
    FILE *const output = open_stream();
    FILE *const errors = output != NULL ? open_stream() : NULL;
    if (errors == NULL) {
        return step_untouched(step);
    }
    const int status = try_texts(step, output, errors);
    if (status != 0) {
        for (size_t i = 0; i < step->swaps.count; i++) {
            log_failure(step->settings, step->swaps.items[i].given,
                        "the program failed with the instrumented text");
        }
        return step_untouched(step);
    }
    replay(step, output, STDOUT_FILENO);
    replay(step, errors, STDERR_FILENO);
    (void)fclose(output);
    (void)fclose(errors);
    return status;
}
