/* SPDX-License-Identifier: MIT */
/* Compilers' commands, as pdltool lint reads them: splitting, response files, and what becomes of the options. */
#include "fuzz.h"

#include <stdbool.h>

#include "common/file.h"
#include "common/memory.h"
#include "lint/command.h"
#include "lint/paths.h"

/* What every response file says; the input's second line. */
static const char *response;

/* In place of that of pdltool: a name in an input is no file to open. */
char *file_read(const char *path, size_t *size)
{
    if (fuzz_read(path) % 4 == 3) {
        return NULL;
    }
    *size = strlen(response);
    return copy_text(response);
}

static void read_all(const struct argv *arguments)
{
    for (size_t i = 0; i < arguments->count; i++) {
        fuzz_expect(arguments->items[i] != NULL);
        (void)fuzz_read(arguments->items[i]);
    }
}

static void try_compiler(enum compiler_kind kind, const char *text)
{
    struct argv arguments = {0};
    struct argv made = {0};
    struct command command;
    argv_add(&arguments, "nvcc");
    argv_split(&arguments, text);
    command_drop_launchers(&arguments);
    fuzz_expect(arguments.count > 0);
    (void)command_is_cuda(&arguments, "a.cpp");
    const struct foreign_words foreign = {.before = 1, .behind = strlen(text) % 3};
    command_read(&command, kind, &arguments, "/folder", "a.cu", &foreign);
    fuzz_expect(arguments.count == 0 && command.arguments.count > 0);
    fuzz_expect(command.newest.number >= ARCHITECTURE_LEAST);
    command_make(&command, command.newest, "a.cu", "a.ptx", &made);
    read_all(&made);
    fuzz_expect(argv_vector(&made)[made.count] == NULL);
    fuzz_expect(strcmp(made.items[made.count - 1], "a.cu") == 0);
    argv_free(&made);
    command_free(&command);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *const text = allocate(size + 1, 1);
    memcpy(text, data, size);
    char *const end = strchr(text, '\n');
    response = end != NULL ? end + 1 : "";
    if (end != NULL) {
        *end = '\0';
    }
    try_compiler(COMPILER_NVCC, text);
    try_compiler(COMPILER_CLANG, text);
    free(path_absolute("/folder", text));
    size_t length = strlen(response);
    char *const ptx = path_show_in_ptx(copy_text(response), &length, "/folder");
    fuzz_expect(strlen(ptx) == length);
    free(ptx);
    free(text);
    return 0;
}
