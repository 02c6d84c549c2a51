/* SPDX-License-Identifier: MIT */
/* The reader of tuned files, and what is looked up in them. The first line is also made right, so that those
 * behind it are reached. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "launch/tuned.h"

static void look_up(const struct pdl_tuned_file *tuned, const char *name)
{
    const struct pdl_tuned_line *const lines = pdl_tuned_lines(tuned, name);
    char room[PDL_PLAIN_NAME];
    fuzz_expect(fuzz_read(pdl_name_plain(name, room)) <= strlen(name));
    for (uint32_t extent = 0; extent < 300; extent += 37) {
        const uint32_t shape[3] = {extent, 1, 0};
        const struct pdl_tuned_line *const found = pdl_tuned_match(lines, shape, shape);
        fuzz_expect(found == NULL || (lines != NULL && strcmp(found->name, lines->name) == 0));
    }
}

static void read_file(const char *path)
{
    struct pdl_tuned_file tuned = {0};
    if (pdl_tuned_read(path, &tuned) != PDL_SUCCESS) {
        fuzz_expect(tuned.lines == NULL && fuzz_read(pdl_last_error()->message) > 0);
        return;
    }
    for (size_t i = 0; i < tuned.count; i++) {
        const struct pdl_tuned_line *const line = &tuned.lines[i];
        fuzz_expect(line->is.overlap == PDL_NO || line->is.overlap == PDL_YES);
        fuzz_expect(line->is.line > 1 && line->is.trigger >= -1 && line->is.gain >= 0);
        for (int j = 0; j < 6; j++) {
            fuzz_expect(line->least[j] >= 1 && line->least[j] <= line->most[j]);
        }
        fuzz_expect(pdl_tuned_lines(&tuned, line->name) <= line);
        look_up(&tuned, line->name);
    }
    look_up(&tuned, "_ZN2nn3fc2IfEEvPKT_");
    free(tuned.lines);
    free(tuned.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char head[] = "pdl-tuned 1\n";
    char path[32];
    const int file = memfd_create("tuned", MFD_CLOEXEC);
    fuzz_expect(file >= 0 && write(file, data, size) == (ssize_t)size);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    read_file(path);
    fuzz_expect(ftruncate(file, 0) == 0 && lseek(file, 0, SEEK_SET) == 0 &&
                write(file, head, strlen(head)) > 0 && write(file, data, size) == (ssize_t)size);
    read_file(path);
    (void)close(file);
    return 0;
}
